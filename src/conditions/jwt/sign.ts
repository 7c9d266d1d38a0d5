/**
 * Signing a JWT as its issuer would.
 *
 * @module
 */
import { hash } from "node:crypto";
import { importJWK, importPKCS8, SignJWT } from "@panva/jose";
import { describeField, type Field } from "../field.ts";
import { resolveSecrets, type SecretSetting } from "../secret.ts";
import { CannotSignError, type SigningContext } from "../signing/draft.ts";
import { isSymmetric, type JwtAlgorithm } from "./algorithms.ts";

const LIFETIME_S = 300;

/** The content of a token, its place, and the secrets that may sign it. */
interface TokenSettings extends Field {
  algorithms: readonly JwtAlgorithm[];
  prefix?: string | undefined;
  issuer?: string | string[] | undefined;
  audience?: string | string[] | undefined;
  claims?: Record<string, unknown> | undefined;
  secrets?: readonly SecretSetting[] | undefined;
  body_hash?: string | false | undefined;
}

/**
 * Puts a token into a request that has what the settings ask for.
 *
 * @returns a sentence that says so
 * @throws {CannotSignError} when no key can sign it
 */
export async function putJwt(settings: TokenSettings, context: SigningContext): Promise<string> {
  const { algorithms, prefix = "", issuer, audience, claims = {}, body_hash } = settings;
  const { draft } = context;
  const [algorithm = "HS256"] = algorithms;
  const key = await signingKey(settings, algorithm, context);
  const payload = Object.entries(claims).map(([name, value]) => [name, value ?? "hooklaunch"]);
  if (body_hash) payload.push([body_hash, hash("sha256", draft.body)]);
  const now_s = Math.floor(draft.now_ms / 1000);
  const token = new SignJWT(Object.fromEntries(payload))
    .setProtectedHeader({ alg: algorithm, typ: "JWT" })
    .setIssuedAt(now_s)
    .setExpirationTime(now_s + LIFETIME_S);
  const [firstIssuer] = [issuer].flat();
  const [firstAudience] = [audience].flat();
  if (firstIssuer !== undefined) token.setIssuer(firstIssuer);
  if (firstAudience !== undefined) token.setAudience(firstAudience);
  draft.put(settings, prefix + await token.sign(key));
  return `${describeField(settings)} holds a JWT signed with ${algorithm}`;
}

async function signingKey(
  settings: TokenSettings,
  algorithm: string,
  { env, privateKeys }: SigningContext,
): Promise<Uint8Array | Awaited<ReturnType<typeof importJWK>>> {
  const [secret] = resolveSecrets(settings.secrets ?? [], env).usable;
  if (secret !== undefined) return secret.bytes;
  for (const key of privateKeys) {
    try {
      if (typeof key === "object") return await importJWK({ ...key }, algorithm);
      return await importPKCS8(key, algorithm);
    } catch {
      // Another key may be of the algorithm.
    }
  }
  throw new CannotSignError(
    isSymmetric(settings.algorithms[0] ?? "HS256")
      ? "No secret can be used"
      : `Cannot sign a JWT with ${algorithm}: the trigger knows the issuer's public keys, and signing takes a private one`,
  );
}
