/**
 * Applying the identity providers of a configuration file to the database of a service that is starting. The file
 * says all of them: one that it does not name any more is removed, and the logins there end.
 *
 * @module
 */
import { isDeepStrictEqual } from "node:util";
import { resolveSecret } from "../conditions/secret.ts";
import type { Problem } from "../platform/errors.ts";
import type { AuditedChange } from "../store/records/audit.ts";
import { changesBetween } from "../store/records/audit_changes.ts";
import {
  type LoginProvider,
  loginProviders,
  providerKey,
  putLoginProviders,
} from "../store/records/login_providers.ts";
import type { Store } from "../store/store.ts";
import type { Applied } from "./apply.ts";

/** The parts of a service that applying providers needs. */
interface LoginTarget {
  store: Store;
  env(name: string): string | undefined;
  /** Writes the change into the audit log. */
  audit(changes: AuditedChange[]): Promise<void>;
}

/** Stores the providers of a file, and yields the outcome for each. */
export async function* applyLogins(
  providers: readonly LoginProvider[],
  { store, env, audit }: LoginTarget,
): AsyncGenerator<Applied> {
  const before = await loginProviders(store);
  if (!isDeepStrictEqual(before, providers)) {
    await putLoginProviders(store, providers);
    await audit(changesBetween({ oidc: before }, { oidc: providers }));
  }
  const known = new Map(before.map((each) => [providerKey(each), each]));
  for (const provider of providers) {
    const earlier = known.get(providerKey(provider));
    const outcome = earlier === undefined
      ? "created"
      : isDeepStrictEqual(earlier, provider)
      ? "unchanged"
      : "updated";
    yield { kind: "login", name: provider.name, outcome, warnings: loginWarnings(provider, env) };
  }
}

/** Returns remarks about a provider: its secret may be missing where the service looks for it. */
export function loginWarnings(
  { client_secret }: LoginProvider,
  env: (name: string) => string | undefined,
): Problem[] {
  if (client_secret === undefined || resolveSecret(client_secret, env)) return [];
  const detail = `${client_secret} is not set here, or is empty: nobody can log in without it`;
  return [{ pointer: "/client_secret", detail }];
}
