/**
 * `hooklaunch login` and `hooklaunch logout`: a token of one's own, confirmed in the console (RFC 8628).
 *
 * @module
 */
import { type Command, Option } from "commander";
import { delay } from "@std/async/delay";
import { STATUS_CODE } from "@std/http/status";
import { SCOPES } from "../store/records/tokens.ts";
import { addressOf } from "./api/address.ts";
import { ApiError, isPassing, unreachable } from "./api/client.ts";
import { type ApiOptions, apiOptions } from "./api/options.ts";
import { harmless, printJson } from "./console/table.ts";
import { environment } from "./input/environment.ts";
import { removeFromKeyring, storeInKeyring } from "./input/keyring.ts";
import { loginKey, loginsPath, loginToken, readLogins, writeLogins } from "./input/logins.ts";

const TIMEOUT_MS = 30_000;
const GRANT_TYPE = "urn:ietf:params:oauth:grant-type:device_code";
const VARIABLE = "HOOKLAUNCH_ADMIN_TOKEN";

/** The fields that the answers of routes have. */
const FIELDS = { device: "device_code", token: "access_token", revoke: undefined } as const;

interface LoginOptions extends ApiOptions {
  keyring: boolean;
  scope?: string;
}

/** Defines `hooklaunch login`. */
export function defineLogin(command: Command): void {
  apiOptions(command)
    .addOption(
      new Option("--scope <scope>", "ask for no more than this; yours in the console when left out")
        .choices(SCOPES),
    )
    .option("--no-keyring", "keep the token in the file, where the desktop has a keyring, too")
    .option("--json", "print JSON, without the token")
    .addHelpText(
      "after",
      "\nYou confirm it in the console. The token is in the keyring of the desktop, by secret-tool or macOS's\n" +
        "security, or else in hooklaunch/logins.json in XDG_CONFIG_HOME or ~/.config, for its owner alone.\n" +
        `${VARIABLE} and the token of a context come before it.`,
    )
    .action(logIn);
}

/** Defines `hooklaunch logout`. */
export function defineLogout(command: Command): void {
  apiOptions(command).option("--json", "print JSON").action(logOut);
}

async function logIn({ url, scope, keyring, json = false }: LoginOptions): Promise<void> {
  // Nobody confirms a login that cannot be kept.
  await writeLogins(readLogins());
  const begun = await post(url, "device", { device: deviceName(), ...(scope && { scope }) });
  const code = harmless(String(begun.user_code));
  // Words for people are no part of the output.
  console.error(`Open ${harmless(String(begun.verification_uri))}`);
  console.error(`and enter the code ${code}, or open`);
  console.error(harmless(String(begun.verification_uri_complete)));
  const granted = await tokenOf(url, begun);
  const expires_at = new Date(Date.now() + Number(granted.expires_in) * 1_000).toISOString();
  const isInKeyring = await keep(url, String(granted.access_token), { expires_at, keyring });
  const shown = { url, name: String(granted.name), scope: String(granted.scope), expires_at };
  if (json) return printJson({ ...shown, keyring: isInKeyring });
  const place = isInKeyring ? "the keyring" : loginsPath();
  console.log(
    harmless(
      `Logged in as ${shown.name} with the scope ${shown.scope}, until ${expires_at}. The token is in ${place}`,
    ),
  );
  if (environment(VARIABLE) !== undefined) {
    console.error(`${VARIABLE} is set, and comes first: unset it to use this login`);
  }
}

/** Keeps the token of a login; returns whether it is in the keyring. */
async function keep(
  url: string,
  token: string,
  { expires_at, keyring }: { expires_at: string; keyring: boolean },
): Promise<boolean> {
  const { [loginKey(url)]: earlier, ...others } = readLogins();
  // That of an earlier login must not stay there.
  if (!keyring && earlier !== undefined && earlier.token === undefined) {
    removeFromKeyring(loginKey(url));
  }
  const failed = keyring ? await storeInKeyring(loginKey(url), token) : { reason: "" };
  if (failed?.reason) {
    console.error(
      harmless(`The keyring did not take the token, so a file has it: ${failed.reason}`),
    );
  }
  const login = { ...(failed && { token }), expires_at };
  await writeLogins({ ...others, [loginKey(url)]: login });
  return failed === undefined;
}

/**
 * Asks for the token until the login is decided. A service that is away for a moment keeps the login, and so does one
 * that refuses all of a network in which somebody sends wrong tokens.
 */
async function tokenOf(
  url: string,
  begun: Record<string, unknown>,
): Promise<Record<string, unknown>> {
  const interval_ms = 1_000 * Math.max(1, Number(begun.interval) || 5);
  const until_ms = performance.now() + 1_000 * (Number(begun.expires_in) || 0);
  for (;;) {
    await delay(interval_ms);
    const fields = { grant_type: GRANT_TYPE, device_code: String(begun.device_code) };
    const answer = await post(url, "token", fields).catch((error) => {
      const isLimited = error instanceof ApiError && error.status === STATUS_CODE.TooManyRequests;
      if (!isPassing(error) && !isLimited || performance.now() > until_ms) throw error;
      return { error: "authorization_pending" };
    });
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
  const token = loginToken(url, login);
  // Here it ends in any case: a service that is away must keep nobody logged in.
  if (login.token === undefined) removeFromKeyring(loginKey(url));
  await writeLogins(others);
  if (token === undefined) {
    throw new ApiError(
      "Logged out here. The keyring did not give the token, so it is not revoked: find it with hooklaunch token list",
    );
  }
  await post(url, "revoke", { token });
  if (json) return printJson({ url });
  const place = login.token === undefined ? "the keyring" : loginsPath();
  console.log(`Logged out: the token is revoked, and removed from ${place}`);
}

/**
 * Sends a form to the routes of logins.
 *
 * @returns the JSON of the answer, that of an error of OAuth too
 */
async function post(
  url: string,
  path: keyof typeof FIELDS,
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
  const field = FIELDS[path];
  if (answer.ok && field !== undefined && typeof read[field] !== "string") {
    throw new ApiError(
      `The answer at ${address.shown} is not from Hooklaunch: check the URL`,
      answer.status,
    );
  }
  if (answer.ok || typeof read.error === "string" && path === "token") return read;
  const said = read.detail ?? read.error_description ?? read.error;
  throw new ApiError(
    `The service answered ${[answer.status, said].filter(Boolean).join(": ")}`,
    answer.status,
  );
}

/** The name of this computer. */
function deviceName(): string {
  const name = environment("HOSTNAME") ?? environment("COMPUTERNAME");
  if (name !== undefined) return name;
  try {
    // The shell of macOS hands no name on, and there is no file with one.
    const command = new Deno.Command("sh", { args: ["-c", "uname -n"], stderr: "null" });
    return new TextDecoder().decode(command.outputSync().stdout).trim();
  } catch {
    // Without the right to run a shell it stays unknown.
    return "";
  }
}
