/** Public keys are read from every common form; what is private, weak or of no use is refused. */
import { assertEquals, assertMatch } from "@std/assert";
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import type { JWK } from "@panva/jose";
import { rsaPairs, weakRsaPair } from "../../rsa_keys.ts";
import {
  fits,
  isSymmetric,
  JWT_ALGORITHMS,
  type JwtAlgorithm,
  readJwk,
} from "../../../src/conditions/jwt/algorithms.ts";

const [rsa] = rsaPairs;
const p256 = generateKeyPairSync("ec", { namedCurve: "P-256" });
const p384 = generateKeyPairSync("ec", { namedCurve: "P-384" });
const p521 = generateKeyPairSync("ec", { namedCurve: "P-521" });
const k256 = generateKeyPairSync("ec", { namedCurve: "secp256k1" });
const ed25519 = generateKeyPairSync("ed25519");
const x25519 = generateKeyPairSync("x25519");

const pem = (key: KeyObject, type: "spki" | "pkcs1" | "pkcs8" = "spki") =>
  String(key.export({ format: "pem", type }));
const jwk = (key: KeyObject) => ({ ...key.export({ format: "jwk" }) });

/** Made with `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -days 36500`. */
const certificate = `-----BEGIN CERTIFICATE-----
MIIBiTCCAS+gAwIBAgIUAm1nD6VixUjUZfEajOSqHJQYUJ4wCgYIKoZIzj0EAwIw
GTEXMBUGA1UEAwwOaXNzdWVyLmV4YW1wbGUwIBcNMjYxMTIxMDgzNTQ2WhgPMjEy
NjEwMjgwODM1NDZaMBkxFzAVBgNVBAMMDmlzc3Vlci5leGFtcGxlMFkwEwYHKoZI
zj0CAQYIKoZIzj0DAQcDQgAEP2A25gs9ngHklvuHK4lpOky5PYPbvG8hpImWKWrN
mv334aooXfjXSgkBFs2IuG9YZAsQJThenNkMDiEB6vicJ6NTMFEwHQYDVR0OBBYE
FLj3UIw6/b7/R797rAM7kLUqeTPBMB8GA1UdIwQYMBaAFLj3UIw6/b7/R797rAM7
kLUqeTPBMA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDSAAwRQIgSC6Tda6T
rhL4H33ppgwM9rxFS7VEas1xRl90yx1lS5wCIQCy0wD9SInd/26WuRAIqfBPWnol
/WmYfyq/7IkhexzbZA==
-----END CERTIFICATE-----`;

const readable: { name: string; key: string | object; algorithms: JwtAlgorithm[] }[] = [
  {
    name: "RSA as SPKI",
    key: pem(rsa.publicKey),
    algorithms: ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  },
  {
    name: "RSA as PKCS #1",
    key: pem(rsa.publicKey, "pkcs1"),
    algorithms: ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  },
  { name: "P-256 with white space", key: `\n${pem(p256.publicKey)}\n\n`, algorithms: ["ES256"] },
  { name: "P-256 in a certificate", key: certificate, algorithms: ["ES256"] },
  { name: "P-384 as a JWK", key: jwk(p384.publicKey), algorithms: ["ES384"] },
  { name: "P-521 as JSON", key: JSON.stringify(jwk(p521.publicKey)), algorithms: ["ES512"] },
  { name: "Ed25519", key: pem(ed25519.publicKey), algorithms: ["EdDSA", "Ed25519"] },
  {
    name: "RSA for one algorithm",
    key: { ...jwk(rsa.publicKey), alg: "PS384", use: "sig", key_ops: ["verify"] },
    algorithms: ["PS384"],
  },
];

for (const { name, key, algorithms } of readable) {
  Deno.test(`readJwk: ${name} fits ${algorithms.join(", ")}`, () => {
    const read = readJwk(key);
    if (typeof read === "string") throw new Error(read);
    assertEquals(JWT_ALGORITHMS.filter((algorithm) => fits(read, algorithm)), algorithms);
  });
}

const refused: { name: string; key: string | object; problem: RegExp }[] = [
  { name: "no key", key: "hello", problem: /^Must be a public key as PEM or JWK: / },
  { name: "JSON that is none", key: "{", problem: /^Must be a public key as PEM or JWK: / },
  { name: "an empty object", key: {}, problem: /^Must be a public key as PEM or JWK: / },
  {
    name: "a PEM without content",
    key: "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----",
    problem: /^Must be a public key as PEM or JWK: /,
  },
  {
    name: "a private PEM",
    key: pem(p256.privateKey, "pkcs8"),
    problem: /^Must be a public key: this is a private one$/,
  },
  {
    name: "a private JWK",
    key: jwk(ed25519.privateKey),
    problem: /^Must be a public key: this is a private one$/,
  },
  {
    name: "a secret",
    key: { kty: "oct", k: "c2VjcmV0" },
    problem: /^Must be a public key: a secret belongs into 'secrets'$/,
  },
  {
    name: "a weak RSA key",
    key: pem(weakRsaPair.publicKey),
    problem: /^Must have at least 2048 bits: current value is 1024$/,
  },
  {
    name: "an RSA key that is a bit short",
    key: { ...jwk(rsa.publicKey), n: `P${jwk(rsa.publicKey).n?.slice(1)}` },
    problem: /^Must have at least 2048 bits: current value is 2046$/,
  },
  { name: "another curve", key: pem(k256.publicKey), problem: /this is EC secp256k1$/ },
  { name: "a key for agreement", key: pem(x25519.publicKey), problem: /this is OKP X25519$/ },
  {
    name: "a key for encryption",
    key: { ...jwk(p256.publicKey), use: "enc" },
    problem: /this is EC P-256 enc$/,
  },
  {
    name: "a key that signs alone",
    key: { ...jwk(p256.publicKey), key_ops: ["sign"] },
    problem: /this is EC P-256$/,
  },
  {
    name: "a key of another algorithm than its own",
    key: { ...jwk(p256.publicKey), alg: "ES512" },
    problem: /this is EC P-256 ES512$/,
  },
  {
    name: "a point that is not on the curve",
    key: { ...jwk(p256.publicKey), y: jwk(p256.publicKey).x },
    problem: /^Must be a public key as PEM or JWK: /,
  },
];

for (const { name, key, problem } of refused) {
  Deno.test(`readJwk refuses ${name}`, () => {
    const read = readJwk(key);
    assertMatch(typeof read === "string" ? read : "was read", problem);
  });
}

Deno.test("fits takes no key for HMAC, and no key of an unknown type", () => {
  const secret: JWK = { kty: "oct", k: "c2VjcmV0" };
  assertEquals(JWT_ALGORITHMS.filter((algorithm) => fits(secret, algorithm)), []);
  assertEquals(JWT_ALGORITHMS.filter(isSymmetric), ["HS256", "HS384", "HS512"]);
});
