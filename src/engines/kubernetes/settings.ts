/**
 * The settings of the Kubernetes engine in a project.
 *
 * @module
 */
import { isAbsolute } from "node:path";
import { z } from "zod";
import { isBaseUrl } from "../../platform/network/urls.ts";
import { credentialSchema } from "../shared/credential_schema.ts";
import { inputsSchema } from "../shared/inputs/settings.ts";
import { podTemplateSchema } from "./pod_template_schema.ts";

/** Has `curl` and the small programs that the agent needs. */
const AGENT_IMAGE = "docker.io/curlimages/curl:8.11.1";

/** RFC 1123, as names of namespaces and other objects are. */
const name = z.string().max(253).regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/, {
  error: "Expected lower case letters, digits, - and .",
});
const pem = z.string().max(100_000).startsWith("-----BEGIN CERTIFICATE-----");

/** The settings of the Kubernetes engine. Without `server` and `kubeconfig` the service's own cluster is meant. */
export const kubernetesSettingsSchema = z.strictObject({
  type: z.literal("kubernetes"),
  namespace: name.describe("The namespace of the jobs"),
  server: z.string().max(2_048).refine((url) => isBaseUrl(url) && url.startsWith("https:"), {
    error: "Expected a URL such as https://kubernetes.example.com:6443",
  }).optional().describe(
    "The address of the API server; without it and kubeconfig that of the cluster that the service runs in",
  ),
  ca: pem.optional().describe("Certificates that the server is trusted by, PEM"),
  token: credentialSchema.optional(),
  client_cert: credentialSchema.optional(),
  client_key: credentialSchema.optional(),
  kubeconfig: z.string().max(2_048).refine(isAbsolute, { error: "Expected an absolute path" })
    .optional().describe("A file with the server and the credentials, read anew when it changes"),
  context: z.string().min(1).max(256).optional().describe(
    "The context of the kubeconfig; its current one when absent",
  ),
  service_account: name.optional().describe(
    "The service account of the commands; none when absent",
  ),
  image_pull_secrets: z.array(name).max(20).optional(),
  node_selector: z.record(z.string().min(1).max(317), z.string().max(63)).optional(),
  tolerations: z.array(z.record(z.string(), z.json())).max(50).optional(),
  queue: name.optional().describe(
    "The queue of Kueue that admits the jobs: they are suspended until then",
  ),
  cpus: z.number().positive().max(10_000).optional().describe(
    "Processors of a step that asks for none",
  ),
  memory: z.int().min(1).max(100_000_000).optional().describe("MiB of a step that asks for none"),
  deadline: z.int().min(1).max(366 * 24 * 60 * 60).optional().describe(
    "Seconds after which Kubernetes ends a job, also one that has not started; none when absent",
  ),
  agent_image: z.string().min(1).max(1_024).default(AGENT_IMAGE).describe(
    "The image of the agent, with curl, tar, setsid, mkfifo, and coreutils or busybox",
  ),
  pod_template: podTemplateSchema.optional(),
  inputs: inputsSchema.optional(),
  disk_mb: z.int().min(1).max(10_000_000).optional().describe(
    "MiB that the outputs of an execution may have together. The mirror of the project's repository may take " +
      "as much. 20480 when absent",
  ),
}).check(({ value, issues }) => {
  const wrong = wrongAccess(value);
  if (wrong !== undefined) {
    issues.push({ code: "custom", input: value, path: [wrong[0]], message: wrong[1] });
  }
});

/** The settings of the Kubernetes engine, as a project has them. */
export type KubernetesSettings = z.infer<typeof kubernetesSettingsSchema>;

type AccessSettings = Partial<
  Record<
    "server" | "ca" | "token" | "client_cert" | "client_key" | "kubeconfig" | "context",
    unknown
  >
>;

/** Returns the setting that does not fit to the others, and a sentence about it. */
function wrongAccess(settings: AccessSettings): [setting: string, sentence: string] | undefined {
  const { server, token, client_cert, client_key, kubeconfig, context } = settings;
  const ofServer = (["ca", "token", "client_cert", "client_key"] as const)
    .find((setting) => settings[setting] !== undefined);
  if (server !== undefined && kubeconfig !== undefined) {
    return ["kubeconfig", "Expected either server or kubeconfig, found both"];
  }
  if (server === undefined && ofServer !== undefined) {
    return [
      ofServer,
      "Expected it together with server: a cluster's own pods and a kubeconfig need none",
    ];
  }
  if ((client_cert === undefined) !== (client_key === undefined)) {
    return ["client_cert", "Expected both client_cert and client_key, or neither"];
  }
  if (server !== undefined && token === undefined && client_cert === undefined) {
    return ["server", "Expected a token, or client_cert and client_key, beside it"];
  }
  if (context !== undefined && kubeconfig === undefined) {
    return ["context", "Expected it together with kubeconfig"];
  }
  return undefined;
}
