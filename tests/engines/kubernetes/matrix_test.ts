/**
 * A whole service on a real Kubernetes.
 *
 * @module
 */
import { KubernetesBackend } from "../../../src/engines/kubernetes/mod.ts";
import { has } from "../../needs.ts";
import { isLong } from "../../surroundings.ts";
import { engineMatrix } from "../matrix.ts";
import { KubernetesCluster, NODE_ADDRESS } from "./fixture.ts";

const cluster = isLong && has("kubelet") ? await KubernetesCluster.start() : undefined;

engineMatrix(
  "Kubernetes",
  cluster && {
    host: NODE_ADDRESS,
    kind: { type: "kubernetes", backendOf: (settings) => new KubernetesBackend(settings) },
    fields: { engine: cluster.settings(), image: "docker.io/test/tools:1" },
    engine: (folder) =>
      cluster.settings({
        pod_template: {
          spec: {
            hostNetwork: true,
            containers: [{ name: "main", volumeMounts: [{ name: "here", mountPath: folder }] }],
            volumes: [{ name: "here", hostPath: { path: folder } }],
          },
        },
      }),
  },
);

Deno.test.afterAll(() => cluster?.stop());
