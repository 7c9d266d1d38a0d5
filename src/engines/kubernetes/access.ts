/**
 * Access to a cluster: where its API server is, what it is trusted by, and the credentials of a request. All of
 * it is read anew for each request, since tokens and certificates are replaced while the service runs.
 *
 * @module
 */
import { ActionError, messageOf } from "../../platform/errors.ts";
import { readCredential } from "../shared/credential.ts";
import type { KubernetesSettings } from "./settings.ts";

/** The access to a cluster at one moment. */
export interface Access {
  /** The base URL of the API server. */
  server: string;
  /** Certificates in place of those of the system, PEM. */
  ca?: string | undefined;
  token?: string | undefined;
  /** A client certificate and its key, PEM. */
  client?: { cert: string; key: string } | undefined;
}

/** The service account that Kubernetes gives to a pod. */
const MOUNTED = "/var/run/secrets/kubernetes.io/serviceaccount";

/**
 * Reads the access that a project's settings describe without a kubeconfig.
 *
 * @throws {ActionError} when a part of it is missing
 */
export async function readAccess(settings: KubernetesSettings): Promise<Access> {
  const { server, ca, token, client_cert, client_key } = settings;
  if (server === undefined) return await mountedAccess();
  return {
    server,
    ca,
    token: token === undefined ? undefined : readCredential(token),
    client: client_cert === undefined || client_key === undefined ? undefined : {
      cert: readCredential(client_cert),
      key: readCredential(client_key),
    },
  };
}

/** Reads the access of a pod to its own cluster. */
async function mountedAccess(): Promise<Access> {
  const host = Deno.env.get("KUBERNETES_SERVICE_HOST");
  const port = Deno.env.get("KUBERNETES_SERVICE_PORT") ?? "443";
  if (!host) {
    throw new ActionError(
      "Cannot find Kubernetes: the service does not run in a pod (KUBERNETES_SERVICE_HOST is not set): " +
        "set server or kubeconfig of the project's engine",
    );
  }
  const address = host.includes(":") ? `[${host}]` : host;
  const [token, ca] = await Promise.all(
    ["token", "ca.crt"].map(async (name) => (await readText(`${MOUNTED}/${name}`)).trim()),
  );
  return { server: `https://${address}:${port}`, ca, token };
}

/**
 * Reads a file of an access.
 *
 * @throws {ActionError} when it cannot be read
 */
async function readText(path: string): Promise<string> {
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    throw new ActionError(`Cannot read ${path}, which opens Kubernetes: ${messageOf(error)}`);
  }
}
