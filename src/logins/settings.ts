/**
 * The settings of identity providers in the configuration file: `oidc`, one or a list.
 *
 * @module
 */
import { z } from "zod";
import { ExpressionError } from "../conditions/cel/expression.ts";
import { SECRET_FILE, VARIABLE } from "../conditions/secret.ts";
import { isLoopbackHost, isOrigin } from "./issuer_url.ts";
import { parseInput } from "../platform/schema/nulls.ts";
import { type LoginProvider, providerKey } from "../store/records/login_providers.ts";
import { SCOPES } from "../store/records/tokens.ts";
import { InvalidInputError, prefixed, type Problem } from "../platform/errors.ts";
import { checkRole } from "./roles.ts";

const PROVIDERS_MAX = 10;
const ROLES_MAX = 100;
const TEXT_LENGTH_MAX = 512;
const GITHUB = "https://github.com";
const SCOPES_OF: Readonly<Record<LoginProvider["type"], string[]>> = {
  oidc: ["openid", "profile", "email"],
  github: ["read:user", "user:email", "read:org"],
};
const ISSUER =
  "Expected an https URL without a query or a fragment, such as https://login.example.com/realms/main " +
  "(http on this machine, with --dev, to try things out)";
const SECRET =
  "Expected {env:NAME} or {file:/path}: a client secret is in a variable or a file of the service, not in this file";

const limits = z.array(z.string().normalize("NFC").min(1).max(64)).min(1).max(100).exactOptional();
const text = z.string().min(1).max(TEXT_LENGTH_MAX).regex(/^[\x21-\x7e]+$/, {
  error: "Expected printable ASCII without blanks",
});

const roleSchema = z.strictObject({
  when: z.string().superRefine((when, context) => {
    try {
      checkRole(when);
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error;
      context.addIssue({ code: "custom", message: error.message });
    }
  }).describe("An expression of CEL over claims, such as 'ops' in claims.groups"),
  scope: z.enum(SCOPES),
  triggers: limits.describe("Limits the person to these triggers, by name or id"),
  projects: limits.describe("Limits the person to these projects"),
});

const providerSchema = z.strictObject({
  type: z.enum(["oidc", "github"]).exactOptional()
    .describe("github for GitHub, which has no OpenID Connect for logins; oidc by default"),
  issuer: z.string().max(TEXT_LENGTH_MAX).refine(isIssuer, { error: ISSUER })
    .describe(
      "The issuer, exactly as its discovery document names it; https://github.com for GitHub",
    ),
  client_id: text,
  client_secret: z.string().refine(
    (written) => VARIABLE.test(written) || SECRET_FILE.test(written),
    {
      // Zod would show what was found.
      error: () => SECRET,
    },
  ).describe("{env:NAME} or {file:/path}; absent for a public client").exactOptional(),
  scopes: z.array(text).min(1).max(50).describe(
    "The scopes that are asked for; openid, profile and email by default, read:user, user:email and read:org at GitHub",
  ).exactOptional(),
  name: z.string().trim().min(1).max(40).regex(/^[^\p{C}]*$/u)
    .describe("The name on its button; the issuer's host by default").exactOptional(),
  roles: z.array(roleSchema).min(1).max(ROLES_MAX)
    .describe(
      "The access of people. The first role whose condition is true counts; without one, no access",
    ),
}).superRefine(({ type, issuer, scopes }, context) => {
  if (type !== "github" && issuer === GITHUB && context.issues.length === 0) {
    const message = "Expected github, as GitHub has no OpenID Connect for logins";
    context.addIssue({ code: "custom", path: ["type"], message });
  }
  if (type !== "github" && scopes !== undefined && !scopes.includes("openid")) {
    const message = "Expected openid among them: without it the issuer sends no ID token";
    context.addIssue({ code: "custom", path: ["scopes"], message });
  }
});

/** The providers of a configuration file: one, or a list. */
export const loginProvidersSchema = z.union([
  providerSchema,
  z.array(providerSchema).max(PROVIDERS_MAX),
]);

/**
 * Reads the providers of a configuration file.
 *
 * @throws {InvalidInputError} with everything that is wrong with them
 */
export function parseLoginProviders(value: unknown): LoginProvider[] {
  const list = Array.isArray(value) ? value : [value];
  const problems: Problem[] = [];
  const at = (index: number) => Array.isArray(value) ? `/${index}` : "";
  const providers = list.flatMap((each, index) => {
    try {
      return [completed(parseInput(providerSchema, each, "a login"))];
    } catch (error) {
      if (!(error instanceof InvalidInputError)) throw error;
      problems.push(...prefixed(at(index), error.problems));
      return [];
    }
  });
  if (list.length > PROVIDERS_MAX) {
    problems.push({
      pointer: "",
      detail: `Expected at most ${PROVIDERS_MAX}, found ${list.length}`,
    });
  }
  const known = new Set<string>();
  for (const [index, provider] of problems.length > 0 ? [] : providers.entries()) {
    const key = providerKey(provider);
    if (known.has(key)) {
      const detail =
        "Expected another issuer or client_id than those before, found both a second time";
      problems.push({ pointer: `${at(index)}/client_id`, detail });
    }
    known.add(key);
  }
  if (problems.length > 0) throw new InvalidInputError("oidc", problems);
  return providers;
}

function completed(
  { type = "oidc", issuer, name, scopes, ...others }: z.output<typeof providerSchema>,
): LoginProvider {
  return {
    type,
    issuer,
    name: name ?? (issuer === GITHUB ? "GitHub" : new URL(issuer).host),
    scopes: scopes ?? SCOPES_OF[type],
    ...others,
  };
}

function isIssuer(written: string): boolean {
  const url = URL.parse(written);
  if (url === null || !isOrigin(url)) return false;
  return url.protocol === "https:" || isLoopbackHost(url.hostname);
}
