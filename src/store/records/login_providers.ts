/**
 * The identity providers at which people log in, as the configuration file names them. No secret is among them:
 * their secrets are in variables or files of the service.
 *
 * @module
 */
import { hash } from "node:crypto";
import { keys } from "../keys.ts";
import { readValue } from "../read/scan.ts";
import type { Store } from "../store.ts";
import type { Scope } from "./tokens.ts";

/** The access of the people whom a condition finds. */
export interface Role {
  /** An expression of CEL over `claims`. */
  when: string;
  scope: Scope;
  /** The triggers that they are limited to, by name or id. */
  triggers?: string[];
  /** The projects that they are limited to. */
  projects?: string[];
}

/** An identity provider. */
export interface LoginProvider {
  type: "oidc" | "github";
  issuer: string;
  client_id: string;
  /** `{env:NAME}` or `{file:PATH}`; absent for a public client. */
  client_secret?: string;
  scopes: string[];
  /** The name on its button. */
  name: string;
  roles: Role[];
}

const KEY_LENGTH = 16;

/** Returns the providers; none where the configuration file names none. */
export async function loginProviders(store: Store): Promise<LoginProvider[]> {
  const value = await readValue(store.kv, keys.loginProviders());
  return Array.isArray(value) ? value : [];
}

/** Stores the providers in place of all that were there. */
export async function putLoginProviders(
  store: Store,
  providers: readonly LoginProvider[],
): Promise<void> {
  const key = keys.loginProviders();
  await store.committer.write([providers.length === 0 ? { key } : { key, value: providers }]);
}

/** Returns the key of a provider in addresses: it tells two registrations at one issuer apart. */
export function providerKey(
  { issuer, client_id }: Pick<LoginProvider, "issuer" | "client_id">,
): string {
  return hash("sha256", `${issuer}\0${client_id}`).slice(0, KEY_LENGTH);
}

/** Identifies what decides on access: a login ends when any of it changes. */
export function providerRevision({ type, issuer, client_id, roles }: LoginProvider): string {
  return hash("sha256", JSON.stringify([type, issuer, client_id, roles]));
}
