/**
 * The objects that an execution becomes in a cluster: a Job with one pod, and a Secret with its agent.
 *
 * @module
 */
import { mapValues } from "../../platform/objects.ts";
import type { Execution } from "../../store/records/executions.ts";
import type { JobRef, JobSpec } from "../remote/backend.ts";
import main from "./main.sh" with { type: "text" };
import sidecar from "./sidecar.sh" with { type: "text" };
import { AGENT, type Json, type JsonObject, MAIN, merge } from "./pod_template.ts";
import type { KubernetesSettings } from "./settings.ts";

/** Selects the objects of Hooklaunch. */
const MANAGED_LABEL = "app.kubernetes.io/managed-by";
/** The name of the Job, in its pods. */
export const JOB_LABEL = "hooklaunch/job";
const MANAGER = "hooklaunch";
/** Selects the objects of Hooklaunch, as a query says it. */
export const SELECTOR = `${MANAGED_LABEL}=${MANAGER}`;
const QUEUE_LABEL = "kueue.x-k8s.io/queue-name";

const FOLDER = "/hooklaunch";
const AGENT_FOLDER = "/hooklaunch-agent";
const AGENT_VOLUME = "hooklaunch-agent";
/** Seconds between SIGTERM and SIGKILL of a pod: the command ends and what it has left is uploaded. */
const GRACE_S = 60;
/** Seconds after which Kubernetes removes a Job that has ended, and that the service has not removed. */
const TTL_S = 24 * 60 * 60;
const ANNOTATION_LENGTH_MAX = 256;

/** Returns the Secret that holds a job's agent, and the token in it. */
export function secretObject({ name, script }: JobSpec): JsonObject {
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, labels: labelsOf(name) },
    immutable: true,
    stringData: { agent: script },
  };
}

/** Returns the Job of an execution. */
export function jobObject({ name, execution }: JobRef, settings: KubernetesSettings): JsonObject {
  const { queue, deadline } = settings;
  const labels = labelsOf(name);
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: {
      name,
      labels: { ...labels, ...(queue === undefined ? {} : { [QUEUE_LABEL]: queue }) },
      annotations: annotationsOf(execution),
    },
    spec: {
      // A job whose pod is lost is run again by the service, if its step says so.
      backoffLimit: 0,
      completions: 1,
      parallelism: 1,
      ttlSecondsAfterFinished: TTL_S,
      ...(deadline === undefined ? {} : { activeDeadlineSeconds: deadline }),
      ...(queue === undefined ? {} : { suspend: true }),
      template: merge(podOf(name, execution, settings), templateOf(settings)),
    },
  };
}

function labelsOf(name: string): JsonObject {
  return { [MANAGED_LABEL]: MANAGER, [JOB_LABEL]: name };
}

function annotationsOf({ project, step }: Execution): JsonObject {
  return {
    "hooklaunch/project": project.slice(0, ANNOTATION_LENGTH_MAX),
    "hooklaunch/step": step.slice(0, ANNOTATION_LENGTH_MAX),
  };
}

/** Returns the template of a project; zod knows it is JSON. */
function templateOf({ pod_template = {} }: KubernetesSettings): JsonObject {
  return pod_template as JsonObject;
}

function podOf(name: string, execution: Execution, settings: KubernetesSettings): JsonObject {
  const { service_account, image_pull_secrets, node_selector, tolerations } = settings;
  return {
    metadata: { labels: labelsOf(name), annotations: annotationsOf(execution) },
    spec: {
      restartPolicy: "Never",
      terminationGracePeriodSeconds: GRACE_S,
      enableServiceLinks: false,
      ...(service_account === undefined
        ? { automountServiceAccountToken: false }
        : { serviceAccountName: service_account }),
      ...(node_selector === undefined ? {} : { nodeSelector: node_selector }),
      ...(tolerations === undefined ? {} : { tolerations: tolerations as Json[] }),
      ...(image_pull_secrets === undefined
        ? {}
        : { imagePullSecrets: image_pull_secrets.map((name) => ({ name })) }),
      initContainers: [agentContainer(settings)],
      containers: [{
        name: MAIN,
        image: execution.image,
        command: shellCommand(main),
        resources: { limits: limitsOf(execution, settings) },
        volumeMounts: [{ name: AGENT, mountPath: FOLDER }],
      }],
      volumes: [
        { name: AGENT, emptyDir: {} },
        { name: AGENT_VOLUME, secret: { secretName: name, defaultMode: 0o444 } },
      ],
    },
  };
}

/** Returns the agent's container: an init container that goes on beside the others, a native sidecar. */
function agentContainer({ agent_image, pod_template }: KubernetesSettings): JsonObject {
  const context = pod_template?.spec?.securityContext as { runAsUser?: number } | undefined;
  return {
    name: AGENT,
    image: agent_image,
    restartPolicy: "Always",
    command: shellCommand(sidecar),
    env: [
      { name: "HOOKLAUNCH_HOST", valueFrom: { fieldRef: { fieldPath: "spec.nodeName" } } },
    ],
    resources: { requests: { cpu: "10m", memory: "32Mi" } },
    securityContext: {
      allowPrivilegeEscalation: false,
      // It reads what the step's image writes as any user. Where all have one user, it is that.
      ...(context?.runAsUser === undefined
        ? { runAsUser: 0, runAsNonRoot: false }
        : { capabilities: { drop: ["ALL"] } }),
    },
    volumeMounts: [
      { name: AGENT, mountPath: FOLDER },
      { name: AGENT_VOLUME, mountPath: AGENT_FOLDER, readOnly: true },
    ],
  };
}

/** Returns the command of a container that runs a script. Kubernetes reads two dollars as one. */
function shellCommand(script: string): string[] {
  return ["/bin/sh", "-c", script.replaceAll("$", () => "$$")];
}

function limitsOf({ resources = {} }: Execution, settings: KubernetesSettings): JsonObject {
  const { cpu = settings.cpus, memory = settings.memory, devices = {} } = resources;
  return {
    ...(cpu === undefined ? {} : { cpu: String(cpu) }),
    ...(memory === undefined ? {} : { memory: `${memory}Mi` }),
    ...mapValues(devices, String),
  };
}
