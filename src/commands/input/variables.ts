/**
 * The variables that set up Hooklaunch.
 *
 * @module
 */
import { didYouMean } from "../../platform/text/nearest.ts";

/** The variables that commands and the service read. */
export const VARIABLES: readonly string[] = [
  "HOOKLAUNCH_ACME",
  "HOOKLAUNCH_ACME_CA",
  "HOOKLAUNCH_ACME_DIRECTORY",
  "HOOKLAUNCH_ACME_DNS_HOOK",
  "HOOKLAUNCH_ACME_EAB_HMAC",
  "HOOKLAUNCH_ACME_EAB_KID",
  "HOOKLAUNCH_ACME_EMAIL",
  "HOOKLAUNCH_ACME_PORT",
  "HOOKLAUNCH_ADMIN_TOKEN",
  "HOOKLAUNCH_AGENT_CA",
  "HOOKLAUNCH_AGENT_HTTP",
  "HOOKLAUNCH_AGENT_URL",
  "HOOKLAUNCH_CONFIG",
  "HOOKLAUNCH_CONTEXT",
  "HOOKLAUNCH_DATA",
  "HOOKLAUNCH_DEV",
  "HOOKLAUNCH_ENGINE",
  "HOOKLAUNCH_ENGINE_SETTINGS",
  "HOOKLAUNCH_HOST",
  "HOOKLAUNCH_INSTANCE_URL",
  "HOOKLAUNCH_KV",
  "HOOKLAUNCH_LOG_FORMAT",
  "HOOKLAUNCH_LOG_LEVEL",
  "HOOKLAUNCH_MAX_EXECUTIONS",
  "HOOKLAUNCH_MAX_PAYLOAD",
  "HOOKLAUNCH_MCP",
  "HOOKLAUNCH_PORT",
  "HOOKLAUNCH_PUBLIC_URL",
  "HOOKLAUNCH_RETENTION_DAYS",
  "HOOKLAUNCH_SECRET_KEY",
  "HOOKLAUNCH_STOP_TIMEOUT",
  "HOOKLAUNCH_STORAGE",
  "HOOKLAUNCH_STRICT",
  "HOOKLAUNCH_TLS_CERT",
  "HOOKLAUNCH_TLS_KEY",
  "HOOKLAUNCH_TRUSTED_PROXY",
  "HOOKLAUNCH_URL",
  "HOOKLAUNCH_WAIT",
];

/** A variable that looks like a setting and is none. */
interface UnknownVariable {
  name: string;
  /** One sentence without a full stop. */
  detail: string;
}

/** Finds the variables whose names begin like those of settings, and that no command reads. */
export function unknownVariables(env: Readonly<Record<string, string>>): UnknownVariable[] {
  return Object.keys(env)
    .filter((name) => name.startsWith("HOOKLAUNCH_") && !VARIABLES.includes(name))
    .map((name) => {
      const question = didYouMean(name, VARIABLES);
      return { name, detail: `The variable ${name} is no setting of Hooklaunch${question}` };
    });
}

/** Returns all variables; none where the process may not read all of them. */
export function allVariables(): Record<string, string> {
  const { state } = Deno.permissions.querySync({ name: "env" });
  return state === "granted" ? Deno.env.toObject() : {};
}
