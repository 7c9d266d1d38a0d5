/**
 * Kubeconfig files, as `kubectl` uses them.
 * https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/
 *
 * @module
 */
import { dirname, resolve } from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import { ActionError, messageOf } from "../../platform/errors.ts";
import { isBaseUrl } from "../../platform/network/urls.ts";
import type { Access } from "./access.ts";

const listOf = <T extends z.ZodRawShape>(shape: T) =>
  z.array(z.looseObject({ name: z.string(), ...shape })).nullish().transform((list) => list ?? []);

const kubeconfigSchema = z.looseObject({
  "current-context": z.string().optional(),
  contexts: listOf({ context: z.looseObject({ cluster: z.string(), user: z.string() }) }),
  clusters: listOf({
    cluster: z.looseObject({
      server: z.string().refine(isBaseUrl),
      "certificate-authority": z.string().optional(),
      "certificate-authority-data": z.base64().optional(),
      "insecure-skip-tls-verify": z.boolean().optional(),
    }),
  }),
  users: listOf({
    user: z.looseObject({
      token: z.string().optional(),
      tokenFile: z.string().optional(),
      "client-certificate": z.string().optional(),
      "client-certificate-data": z.base64().optional(),
      "client-key": z.string().optional(),
      "client-key-data": z.base64().optional(),
    }),
  }),
});

/** Ways to authenticate that need another program, or a password. */
const UNSUPPORTED = ["exec", "auth-provider", "username"];

/**
 * Reads the access that a kubeconfig describes.
 *
 * @param context the name of its context; the current one when undefined
 * @throws {ActionError} when it cannot be read, or describes none that is supported
 */
export async function kubeconfigAccess(path: string, context?: string): Promise<Access> {
  const refuse = (why: string) => new ActionError(`Cannot use the kubeconfig ${path}: ${why}`);
  const config = await readConfig(path).catch((error) => {
    throw refuse(messageOf(error));
  });
  const name = context ?? config["current-context"];
  const chosen = config.contexts.find((each) => each.name === name)?.context;
  if (chosen === undefined) {
    const names = config.contexts.map((each) => each.name).join(", ") || "none";
    throw refuse(
      name === undefined
        ? "it has no current context"
        : `it has no context "${name}", only ${names}`,
    );
  }
  const cluster = config.clusters.find((each) => each.name === chosen.cluster)?.cluster;
  const user = config.users.find((each) => each.name === chosen.user)?.user;
  if (cluster === undefined) throw refuse(`it has no cluster "${chosen.cluster}"`);
  if (user === undefined) throw refuse(`it has no user "${chosen.user}"`);
  if (cluster["insecure-skip-tls-verify"]) {
    throw refuse("it says insecure-skip-tls-verify: give the cluster's certificate-authority");
  }
  const unsupported = UNSUPPORTED.find((field) => user[field] !== undefined);
  if (unsupported !== undefined) {
    throw refuse(`its user has "${unsupported}": expected a token, or a client certificate`);
  }
  const text = async (data: string | undefined, file: string | undefined) => {
    if (data !== undefined) return new TextDecoder().decode(Uint8Array.fromBase64(data));
    if (file === undefined) return undefined;
    return await Deno.readTextFile(resolve(dirname(path), file)).catch((error) => {
      throw refuse(messageOf(error));
    });
  };
  const [ca, tokenText, cert, key] = await Promise.all([
    text(cluster["certificate-authority-data"], cluster["certificate-authority"]),
    text(undefined, user.tokenFile),
    text(user["client-certificate-data"], user["client-certificate"]),
    text(user["client-key-data"], user["client-key"]),
  ]);
  const client = cert === undefined || key === undefined ? undefined : { cert, key };
  return { server: cluster.server, ca, token: tokenText?.trim() ?? user.token, client };
}

async function readConfig(path: string): Promise<z.infer<typeof kubeconfigSchema>> {
  const found = kubeconfigSchema.safeParse(parse(await Deno.readTextFile(path)));
  if (found.success) return found.data;
  const [issue] = found.error.issues;
  throw new ActionError(`${issue?.path.join(".")}: ${issue?.message}`);
}
