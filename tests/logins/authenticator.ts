/**
 * An authenticator of passkeys in software: it makes a key pair, and signs what a browser would have it sign. A test
 * decides how often it has been used, and whether it has checked its user.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { createHash, generateKeyPairSync, sign } from "node:crypto";

/** The algorithms of keys (COSE), by their names. */
const ALGORITHMS = { "ES256": -7, "ML-DSA-44": -48 } as const;
const USER_PRESENT = 0x01;
const USER_VERIFIED = 0x04;
const HAS_CREDENTIAL = 0x40;

/** The name of an algorithm. */
export type AlgorithmName = keyof typeof ALGORITHMS;

/** A state of the authenticator. */
interface Use {
  /** The number of its uses, as it counts them. */
  counter?: number;
  /** False where it has not checked who uses it. */
  isVerified?: boolean;
}

/** The parts of the options of a ceremony that it looks at. */
export interface CeremonyOptions {
  challenge: string;
}

/** A passkey of one site. */
export interface Authenticator {
  /** The id of its credential, in base64url. */
  readonly id: string;
  /** The length of its public key in COSE. */
  readonly keyBytes: number;
  /** Answers `navigator.credentials.create()`, as JSON. */
  create(options: CeremonyOptions, use?: Use): string;
  /** Answers `navigator.credentials.get()`, as JSON. */
  get(options: CeremonyOptions, use?: Use): Promise<string>;
}

/**
 * Makes a passkey for a site.
 *
 * @param origin the origin of the pages that use it
 */
export async function newAuthenticator(
  origin: string,
  algorithm: AlgorithmName = "ES256",
): Promise<Authenticator> {
  const { cose, signed } = algorithm === "ES256" ? ofP256() : await ofMlDsa();
  const credential = crypto.getRandomValues(new Uint8Array(32));
  const id = base64url(credential);
  const rpIdHash = sha256(new TextEncoder().encode(new URL(origin).hostname));
  const clientData = (type: string, { challenge }: CeremonyOptions) =>
    new TextEncoder().encode(JSON.stringify({ type, challenge, origin, crossOrigin: false }));
  const authenticatorData = ({ counter = 0, isVerified = true }: Use, more = 0) => {
    const flags = USER_PRESENT | (isVerified ? USER_VERIFIED : 0) | more;
    const count = new Uint8Array(4);
    new DataView(count.buffer).setUint32(0, counter);
    return Buffer.concat([rpIdHash, new Uint8Array([flags]), count]);
  };
  const answer = (response: Record<string, unknown>) =>
    JSON.stringify({
      id,
      rawId: id,
      type: "public-key",
      clientExtensionResults: {},
      authenticatorAttachment: "platform",
      response,
    });
  return {
    id,
    keyBytes: cose.length,
    create(options, use = {}) {
      const length = new Uint8Array([0, credential.length]);
      const authData = Buffer.concat([
        authenticatorData(use, HAS_CREDENTIAL),
        new Uint8Array(16),
        length,
        credential,
        cose,
      ]);
      const attestation = cbor(
        new Map<string, Cbor>([["fmt", "none"], ["attStmt", new Map()], [
          "authData",
          authData,
        ]]),
      );
      return answer({
        clientDataJSON: base64url(clientData("webauthn.create", options)),
        attestationObject: base64url(attestation),
        transports: ["internal"],
      });
    },
    async get(options, use = {}) {
      const data = authenticatorData(use);
      const client = clientData("webauthn.get", options);
      return answer({
        clientDataJSON: base64url(client),
        authenticatorData: base64url(data),
        signature: base64url(await signed(Buffer.concat([data, sha256(client)]))),
      });
    },
  };
}

/** A key pair: the public key in COSE, and what signs with the other one. */
interface Pair {
  cose: Uint8Array;
  signed(data: Uint8Array<ArrayBuffer>): Promise<Uint8Array>;
}

function ofP256(): Pair {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const { x = "", y = "" } = publicKey.export({ format: "jwk" });
  const cose = cbor(
    new Map<number, Cbor>([[1, 2], [3, ALGORITHMS.ES256], [-1, 1], [-2, bytesOf(x)], [
      -3,
      bytesOf(y),
    ]]),
  );
  return { cose, signed: (data) => Promise.resolve(sign("sha256", data, privateKey)) };
}

async function ofMlDsa(): Promise<Pair> {
  const name = "ML-DSA-44";
  const pair = await crypto.subtle.generateKey({ name }, true, ["sign", "verify"]);
  // The type of the language knows single keys of other algorithms alone.
  const { publicKey, privateKey } = pair as CryptoKeyPair;
  // It is a key of the type AKP, which the type of the language does not know.
  const jwk: object = await crypto.subtle.exportKey("jwk", publicKey);
  const pub = "pub" in jwk ? String(jwk.pub) : "";
  const cose = cbor(
    new Map<number, Cbor>([[1, 7], [3, ALGORITHMS[name]], [-1, bytesOf(pub)]]),
  );
  return {
    cose,
    signed: async (data) => new Uint8Array(await crypto.subtle.sign({ name }, privateKey, data)),
  };
}

/** A value that is encoded as CBOR (RFC 8949). */
type Cbor = number | string | Uint8Array | Map<string | number, Cbor>;

function cbor(value: Cbor): Uint8Array<ArrayBuffer> {
  if (typeof value === "number") return value >= 0 ? head(0, value) : head(1, -1 - value);
  if (typeof value === "string") {
    const text = new TextEncoder().encode(value);
    return Buffer.concat([head(3, text.length), text]);
  }
  if (value instanceof Uint8Array) return Buffer.concat([head(2, value.length), value]);
  const pairs = [...value].flatMap(([key, each]) => [cbor(key), cbor(each)]);
  return Buffer.concat([head(5, value.size), ...pairs]);
}

function head(kind: number, length: number): Uint8Array<ArrayBuffer> {
  const first = kind << 5;
  if (length < 24) return new Uint8Array([first | length]);
  if (length < 256) return new Uint8Array([first | 24, length]);
  return new Uint8Array([first | 25, length >> 8, length & 0xff]);
}

function sha256(data: Uint8Array): Uint8Array {
  return new Uint8Array(createHash("sha256").update(data).digest());
}

function base64url(bytes: Uint8Array): string {
  return bytes.toBase64({ alphabet: "base64url", omitPadding: true });
}

function bytesOf(text: string): Uint8Array {
  return Uint8Array.fromBase64(text, { alphabet: "base64url" });
}
