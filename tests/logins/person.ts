/** People who have logged in at an identity provider, for tests in which it does not matter how. */
import {
  providerKey,
  providerRevision,
  putLoginProviders,
} from "../../src/store/records/login_providers.ts";
import { type Person, personKey, putPerson } from "../../src/store/records/people.ts";
import { createSession } from "../../src/store/records/sessions.ts";
import type { TestService } from "../data.ts";
import { Browser } from "../http/console/fixture.ts";

const DAY_MS = 24 * 60 * 60_000;

/** The identity provider of these people. */
export const PROVIDER = {
  type: "oidc" as const,
  // Nobody listens there.
  issuer: "https://localhost:1",
  client_id: "hooklaunch",
  client_secret: "{env:OIDC_SECRET}",
  scopes: ["openid"],
  name: "Example",
  roles: [{ when: "true", scope: "admin" as const, triggers: ["mine"], projects: ["mine"] }],
};

/** Stores a person of a provider, and returns the key. */
export async function storePerson(
  { service: { parts: { store } } }: TestService,
  person: Partial<Person> = {},
): Promise<string> {
  await putLoginProviders(store, [PROVIDER]);
  const whole: Person = {
    issuer: PROVIDER.issuer,
    subject: "ada",
    name: "ada@example.com",
    scope: "admin",
    provider: providerKey(PROVIDER),
    revision: providerRevision(PROVIDER),
    expires_at: new Date(Date.now() + DAY_MS).toISOString(),
    ...person,
  };
  await putPerson(store, whole);
  return personKey(whole);
}

/** Opens a session for a person, and returns its browser. */
export async function browserOf(service: TestService, person: string): Promise<Browser> {
  const secret = await createSession(service.service.parts.store, {
    person,
    created_at: new Date().toISOString(),
    expires_at: new Date(Date.now() + DAY_MS).toISOString(),
    remote_ip: "127.0.0.1",
    user_agent: "a test",
  });
  const browser = new Browser(service.url);
  browser.cookies.set(`hooklaunch_session_${new URL(service.url).port}`, secret);
  return browser;
}
