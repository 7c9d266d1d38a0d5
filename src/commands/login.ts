/**
 * `hooklaunch login` and `hooklaunch logout`: a token of one's own, confirmed in the console (RFC 8628).
 *
 * @module
 */
import { readFileSync } from "node:fs";
import { type Command, Option } from "commander";
import { delay } from "@std/async/delay";
import { SCOPES } from "../store/records/tokens.ts";
import { addressOf } from "./api/address.ts";
import { ApiError, unreachable } from "./api/client.ts";
import { type ApiOptions, apiOptions } from "./api/options.ts";
import { harmless, printJson } from "./console/table.ts";
import { environment } from "./input/environment.ts";
import { loginKey, loginsPath, readLogins, writeLogins } from "./input/logins.ts";

const TIMEOUT_MS = 30_000;
const GRANT_TYPE = "urn:ietf:params:oauth:grant-type:device_code";
const VARIABLE = "HOOKLAUNCH_ADMIN_TOKEN";

interface LoginOptions extends ApiOptions {
  scope?: string;
}

/** Defines `hooklaunch login`. */
export function defineLogin(command: Command): void {
  apiOptions(command)
    .addOption(
      new Option("--scope <scope>", "ask for no more than this; yours in the console when left out")
        .choices(SCOPES),
    )
    .option("--json", "print JSON, without the token")
    .addHelpText(
      "after",
      "\nYou confirm it in the console. The token is in hooklaunch/logins.json in XDG_CONFIG_HOME, or else in\n" +
        `~/.config, for its owner alone. ${VARIABLE} and the token of a context come before it.`,
    )
    .action(logIn);
}

/** Defines `hooklaunch logout`. */
export function defineLogout(command: Command): void {
  apiOptions(command).option("--json", "print JSON").action(logOut);
}

async function logIn({ url, scope, json = false }: LoginOptions): Promise<void> {
  const begun = await post(url, "device", { device: deviceName(), ...(scope && { scope }) });
  const code = harmless(String(begun.user_code));
  // Words for people are no part of the output.
  console.error(`Open ${harmless(String(begun.verification_uri))}`);
  console.error(`and enter the code ${code}, or open`);
  console.error(harmless(String(begun.verification_uri_complete)));
  const granted = await tokenOf(url, begun);
  const expires_at = new Date(Date.now() + Number(granted.expires_in) * 1_000).toISOString();
  const login = { token: String(granted.access_token), expires_at };
  await writeLogins({ ...readLogins(), [loginKey(url)]: login });
  const shown = { url, name: String(granted.name), scope: String(granted.scope), expires_at };
  if (json) return printJson(shown);
  console.log(
    harmless(`Logged in as ${shown.name} with the scope ${shown.scope}, until ${expires_at}`),
  );
  if (environment(VARIABLE) !== undefined) {
    console.error(`${VARIABLE} is set, and comes first: unset it to use this login`);
  }
}

/** Asks for the token until the login is decided. */
async function tokenOf(
  url: string,
  begun: Record<string, unknown>,
): Promise<Record<string, unknown>> {
  const interval_ms = 1_000 * Math.max(1, Number(begun.interval) || 5);
  for (;;) {
    await delay(interval_ms);
    const fields = { grant_type: GRANT_TYPE, device_code: String(begun.device_code) };
    const answer = await post(url, "token", fields);
    if (answer.error === undefined) return answer;
    if (answer.error === "authorization_pending") continue;
    const why = answer.error === "access_denied"
      ? "it was refused in the console"
      : "its code was not confirmed in time: try again";
    throw new ApiError(`Not logged in: ${why}`);
  }
}

async function logOut({ url, json = false }: ApiOptions): Promise<void> {
  const { [loginKey(url)]: login, ...others } = readLogins();
  if (login === undefined) {
    if (json) return printJson(null);
    return console.log("There is no login at this service");
  }
  // Here it ends in any case: a service that is away must keep nobody logged in.
  await writeLogins(others);
  await post(url, "revoke", { token: login.token });
  if (json) return printJson({ url });
  console.log("Logged out: the token is revoked, and removed from " + loginsPath());
}

/**
 * Sends a form to the routes of logins.
 *
 * @returns the JSON of the answer, that of an error of OAuth too
 */
async function post(
  url: string,
  path: string,
  fields: Record<string, string>,
): Promise<Record<string, unknown>> {
  const address = addressOf(url);
  const answer = await fetch(`${address.base}/api/v0/login/${path}/`, {
    method: "POST",
    body: new URLSearchParams(fields),
    redirect: "error",
    signal: AbortSignal.timeout(TIMEOUT_MS),
    ...address.init,
  }).catch((error) => {
    throw unreachable(address, error);
  });
  const value: unknown = await answer.json().catch(() => undefined);
  const read: Record<string, unknown> = { ...Object(value) };
  if (answer.ok || typeof read.error === "string" && path === "token") return read;
  const said = read.detail ?? read.error_description ?? read.error;
  throw new ApiError(
    `The service answered ${[answer.status, said].filter(Boolean).join(": ")}`,
    answer.status,
  );
}

/** The name of this computer. */
function deviceName(): string {
  try {
    return environment("HOSTNAME") ?? readFileSync("/etc/hostname", "utf8").trim();
  } catch {
    return environment("COMPUTERNAME") ?? "";
  }
}
