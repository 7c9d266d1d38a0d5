/**
 * Logins at identity providers: from the button to the person with a role. What a login needs until the issuer sends
 * the person back is in an encrypted cookie of the browser: nothing is stored for people who are not known yet.
 *
 * @module
 */
import { hash } from "node:crypto";
import { getLogger } from "@logtape/logtape";
import { isAnyOf, resolveSecret } from "../conditions/secret.ts";
import type { Clock } from "../platform/clock.ts";
import { messageOf } from "../platform/errors.ts";
import {
  type LoginProvider,
  loginProviders,
  providerKey,
  providerRevision,
} from "../store/records/login_providers.ts";
import { type Person, personKey, putPerson, removePerson } from "../store/records/people.ts";
import type { Store } from "../store/store.ts";
import type { SecretBox } from "../triggers/secrets.ts";
import { LoginError } from "./failure.ts";
import { githubAddress, githubClaims } from "./github.ts";
import { redirectUri } from "./issuer_url.ts";
import { issuerRequests } from "./issuer_requests.ts";
import {
  type LoginSecrets,
  logoutAddress,
  newLoginSecrets,
  oidcAddress,
  oidcClaims,
  type ProviderParts,
} from "./oidc.ts";
import { type Claims, roleOf } from "./roles.ts";
import { openTimed, sealTimed } from "./sealed.ts";

/** The time after which roles are looked at again: a login at the issuer counts no longer. */
const ACCESS_MS = 24 * 60 * 60_000;
const NAME_LENGTH_MAX = 200;
const SUBJECT_LENGTH_MAX = 255;
/** The purpose of the cookie. */
const PURPOSE = "a login at an identity provider";

const log = getLogger(["hooklaunch", "logins"]);

/** The parts of the service that logins use. */
interface LoginParts {
  store: Store;
  clock: Pick<Clock, "now">;
  box: SecretBox;
  env(name: string): string | undefined;
  baseUrl(): string;
  /** Plain HTTP to this machine is allowed. */
  dev: boolean;
}

/** A login that has begun. */
interface Begun extends LoginSecrets {
  /** The key of the provider. */
  provider: string;
  /** The address in the console to go to afterwards. */
  to: string;
}

/** A login that is complete. */
interface LoggedIn {
  person: Person;
  to: string;
  id_token?: string;
}

/**
 * Begins a login.
 *
 * @param key the key of the provider
 * @param to the address in the console to go to afterwards
 * @returns the address at the issuer, and the value of the cookie
 * @throws {LoginError} when the issuer cannot be used
 */
export async function beginLogin(
  parts: LoginParts,
  key: string,
  to: string,
): Promise<{ address: string; cookie: string }> {
  const provider = await providerOf(parts, key);
  const secrets = newLoginSecrets();
  const begun: Begun = { ...secrets, provider: key, to };
  const way = partsOf(provider, parts);
  const begin = provider.type === "github" ? githubAddress : oidcAddress;
  const { box, clock } = parts;
  const cookie = sealTimed(begun, { box, purpose: PURPOSE, now_ms: clock.now() });
  return { address: await begin(way, secrets), cookie };
}

/**
 * Completes a login: the issuer has sent the person back.
 *
 * @throws {LoginError} for each way in which it fails
 */
export async function completeLogin(
  parts: LoginParts,
  answer: URLSearchParams,
  cookie: string | undefined,
): Promise<LoggedIn> {
  const begun = openCookie(cookie, parts);
  const provider = await providerOf(parts, begun.provider);
  if (!isSame(answer.get("state") ?? "", begun.state)) {
    throw new LoginError(
      "state_mismatch",
      `This answer of ${provider.name} does not belong to the login that this browser has begun last`,
      "Log in again, in one window. If you followed a link to come here, do not trust who gave it to you.",
    );
  }
  const claim = provider.type === "github" ? githubClaims : oidcClaims;
  const { claims, id_token } = await claim(partsOf(provider, parts), answer, begun);
  const person = await admitted(provider, claims, parts);
  return { person, to: begun.to, ...(id_token !== undefined && { id_token }) };
}

/** Returns the address at which the issuer of a person ends its own session; undefined where there is none. */
export async function issuerLogout(
  parts: LoginParts,
  { provider: key }: Person,
  id_token: string | undefined,
): Promise<{ name: string; address: string } | undefined> {
  const provider = (await loginProviders(parts.store)).find((each) => providerKey(each) === key);
  if (provider === undefined || provider.type !== "oidc") return undefined;
  const back = `${parts.baseUrl()}/login`;
  try {
    const address = await logoutAddress(partsOf(provider, parts), { id_token, back });
    return address === undefined ? undefined : { name: provider.name, address };
  } catch (error) {
    log.warn("Cannot learn how to log out at {name}: {error}", {
      name: provider.name,
      error: messageOf(error),
    });
    return undefined;
  }
}

/** Gives a person the access of their role, and stores it. Without a role, what they had before ends. */
async function admitted(
  provider: LoginProvider,
  claims: Claims,
  { store, clock }: LoginParts,
): Promise<Person> {
  const { issuer, name, roles } = provider;
  const subject = String(claims.sub ?? "");
  if (subject === "" || subject.length > SUBJECT_LENGTH_MAX) {
    throw new LoginError("answer_wrong", `${name} names no person`, "Look at the service's log.");
  }
  const role = roleOf(roles, claims);
  if (role === undefined) {
    await removePerson(store, personKey({ issuer, subject }));
    throw noRole(provider, claims);
  }
  const { scope, triggers, projects } = role;
  const now_ms = clock.now();
  const person: Person = {
    issuer,
    subject,
    name: nameIn(claims, subject),
    scope,
    ...(triggers && { triggers }),
    ...(projects && { projects }),
    provider: providerKey(provider),
    revision: providerRevision(provider),
    expires_at: new Date(now_ms + ACCESS_MS).toISOString(),
  };
  await putPerson(store, person);
  return person;
}

/** Returns the name of a person: the verified address, else what the issuer calls them. */
function nameIn({ email, email_verified, ...claims }: Claims, subject: string): string {
  const names = [
    email_verified === true ? email : undefined,
    claims.preferred_username,
    claims.login,
    claims.name,
    subject,
  ];
  const [name = subject] = names.filter((each) => typeof each === "string" && each.trim() !== "");
  return String(name).replaceAll(/\p{C}/gu, "").slice(0, NAME_LENGTH_MAX);
}

/** Says that no role fits: the names of the claims help whoever writes roles, and tell no value. */
function noRole({ name }: LoginProvider, claims: Claims): LoginError {
  const names = Object.keys(claims).filter((each) => !each.startsWith("_")).sort();
  // Entra ID leaves out the groups of people who are in many.
  const isLeftOut = Object.hasOwn(Object(claims._claim_names), "groups") ||
    claims.hasgroups === true;
  const overage = isLeftOut
    ? ` ${name} has left out the groups, as the person is in too many: let it send those of the application ` +
      "alone, or use app roles."
    : "";
  return new LoginError(
    "no_role",
    `You are known at ${name}, and no role of this service is for you`,
    `An administrator gives access by a role in hooklaunch.yaml. The login has these claims: ${
      names.join(", ")
    }.${overage}`,
    `subject ${claims.sub}`,
  );
}

async function providerOf({ store }: LoginParts, key: string): Promise<LoginProvider> {
  const found = (await loginProviders(store)).find((each) => providerKey(each) === key);
  if (found !== undefined) return found;
  throw new LoginError(
    "state_expired",
    "This service has no such login any more: its settings have changed",
    "Log in again.",
  );
}

function partsOf(provider: LoginProvider, parts: LoginParts): ProviderParts {
  const { client_secret, name } = provider;
  const secret = client_secret === undefined ? undefined : resolveSecret(client_secret, parts.env);
  if (client_secret !== undefined && !secret) {
    throw new LoginError(
      "client_secret_missing",
      `The client secret for ${name} is not there: ${client_secret} is not set, or is empty`,
      "Set it in the surroundings of the service, and start or reload the service.",
    );
  }
  const now = () => parts.clock.now();
  return {
    provider,
    secret: secret?.trim(),
    requests: issuerRequests({ name, http: parts.dev, now }),
    redirect_uri: redirectUri(parts.baseUrl()),
    now,
  };
}

/** @throws {LoginError} when the cookie is missing, not of this service, or too old */
function openCookie(cookie: string | undefined, { box, clock }: LoginParts): Begun {
  const now_ms = clock.now();
  const begun = cookie && openTimed(cookie, { box, purpose: PURPOSE, now_ms });
  // This service has sealed it.
  if (begun) return begun as Begun;
  throw new LoginError(
    "state_expired",
    "This browser has begun no login in the last 10 minutes",
    "Log in again. The browser must keep cookies of this service, and open the same address of it.",
  );
}

/** Compares two secrets in a time that tells nothing of them. */
function isSame(one: string, other: string): boolean {
  return isAnyOf(hash("sha256", one, "buffer"), [hash("sha256", other, "buffer")]);
}
