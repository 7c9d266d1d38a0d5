/**
 * The settings of JWT conditions.
 *
 * @module
 */
import { z } from "zod";
import { hasPublicHost } from "../../platform/network/public_addresses.ts";
import { refuseField } from "../../platform/schema/schema.ts";
import { isSameField } from "../field.ts";
import {
  checkField,
  fieldInSchema,
  fieldNameSchema,
  publicKeySchema,
  secretsSchema,
  settingsObject,
} from "../settings.ts";
import { fits, isSymmetric, JWT_ALGORITHMS, readJwk } from "./algorithms.ts";
import { isJwksUrl } from "./jwks.ts";

const textOrTextsSchema = z.union([
  z.string().min(1).max(1024),
  z.array(z.string().min(1).max(1024)).min(1).max(16),
]);
const jwkSchema = publicKeySchema.superRefine((setting, context) => {
  const key = readJwk(setting);
  if (typeof key === "string") context.addIssue({ code: "custom", message: key });
});

const fields = settingsObject({
  type: z.literal("jwt"),
  in: fieldInSchema.default("header"),
  name: fieldNameSchema.default("Authorization"),
  prefix: z.string().max(256).optional().describe(
    "The text before the token, exactly; 'Basic ', 'Bearer ' and 'Token ' match in any case; by " +
      "default 'Bearer ' in the header Authorization, and nothing elsewhere",
  ),
  algorithms: z.array(z.enum(JWT_ALGORITHMS)).min(1).max(JWT_ALGORITHMS.length).describe(
    "The accepted signature algorithms",
  ),
  secrets: secretsSchema.optional(),
  public_keys: z.array(jwkSchema).min(1).max(16).optional().describe(
    "Public keys of which any one may match: PEM or JWK",
  ),
  jwks_url: z.string().max(2048).refine(isJwksUrl, {
    error: "Must be an https: URL without credentials, or http: on a loopback host",
  }).optional().describe("The URL at which the issuer publishes its keys"),
  private_networks: z.boolean().optional().describe(
    "Whether 'jwks_url' may lead to loopback, link-local and private addresses; only a token without limits may " +
      "set it; false when absent",
  ),
  issuer: textOrTextsSchema.optional().describe("The accepted 'iss', or several"),
  audience: textOrTextsSchema.optional().describe("The accepted 'aud', or several"),
  claims: z.record(z.string().min(1).max(256), z.json()).optional().describe(
    "Claims that the token must have, each with exactly this value, or with any value where it is null",
  ),
  body_hash: z.union([
    z.string().min(1).max(256),
    z.literal(false, { error: "Expected the name of a claim, or false" }),
  ]).optional().describe(
    "The claim with the SHA-256 of the body, such as request_body_sha256 of Plaid; false says that the issuer has none",
  ),
  max_age: z.int().min(1).max(86_400).optional().describe(
    "The greatest age of the token by its 'iat', in seconds; then it need not have 'exp'",
  ),
  without_exp: z.boolean().optional().describe(
    "Whether a token may lack 'exp'; it then needs body_hash, and matches its body for ever",
  ),
  leeway: z.int().min(0).max(300).default(30).describe(
    "The tolerated error of the sender's clock for 'exp' and 'nbf', in seconds",
  ),
}).superRefine(checkField).superRefine(checkKeySource);

/** The schema of the settings of a JWT condition. */
export const jwtSchema = fields.overwrite((settings) => {
  const isAuthorization = isSameField(settings, { in: "header", name: "Authorization" });
  return { ...settings, prefix: settings.prefix ?? (isAuthorization ? "Bearer " : "") };
});

/** The settings of a JWT condition. */
export type JwtSettings = z.infer<typeof jwtSchema>;

/** A token without an end must at least belong to one body. */
function checkExpiry(
  { without_exp, body_hash, max_age }: Pick<JwtSettings, "without_exp" | "body_hash" | "max_age">,
  refuse: (path: PropertyKey[], message: string) => void,
): void {
  if (without_exp !== true) return;
  if (!body_hash) {
    refuse(["without_exp"], "Expected body_hash beside it, or a token with 'exp'");
  } else if (max_age !== undefined) {
    refuse(["without_exp"], "Expected one of max_age and without_exp, found both");
  }
}

/**
 * Demands one source of keys, and algorithms of its kind alone: with a public key for an HMAC secret, anyone
 * could sign (RFC 8725 section 2.1).
 */
function checkKeySource(settings: z.infer<typeof fields>, context: z.RefinementCtx): void {
  const refuse = (path: PropertyKey[], message: string) => refuseField(context, path, message);
  checkExpiry(settings, refuse);
  const sources = (["secrets", "public_keys", "jwks_url"] as const).filter((source) =>
    settings[source] !== undefined
  );
  if (sources.length !== 1) {
    refuse(
      [],
      `Must have exactly one of secrets, public_keys and jwks_url: current value is ${
        sources.join(" and ") || "none"
      }`,
    );
    return;
  }
  const { jwks_url, private_networks } = settings;
  if (private_networks !== undefined && jwks_url === undefined) {
    refuse(["private_networks"], "Must only stand beside 'jwks_url'");
  }
  if (jwks_url !== undefined && !hasPublicHost(jwks_url) && private_networks !== true) {
    refuse(["jwks_url"], "Must have a public address, or stand beside 'private_networks: true'");
  }
  settings.algorithms.forEach((algorithm, index) => {
    if (isSymmetric(algorithm) === (settings.secrets !== undefined)) return;
    refuse(
      ["algorithms", index],
      isSymmetric(algorithm)
        ? `${algorithm} signs with a secret: it goes with secrets, not with ${sources[0]}`
        : `${algorithm} signs with a private key: it goes with public_keys or jwks_url, not with secrets`,
    );
  });
  settings.public_keys?.forEach((setting, index) => {
    const key = readJwk(setting);
    if (typeof key === "string" || settings.algorithms.some((algorithm) => fits(key, algorithm))) {
      return;
    }
    refuse(["public_keys", index], "Must be a key for one of the algorithms listed");
  });
}
