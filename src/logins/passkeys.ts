/**
 * Passkeys (WebAuthn): adding one, and logging in with one, by @simplewebauthn/server. The browser must have checked
 * who uses it, by a fingerprint, a face or a PIN.
 *
 * @module
 */
import { hash } from "node:crypto";
import {
  type AuthenticationResponseJSON,
  generateRegistrationOptions,
  getDefaultSupportedAlgorithmIDs,
  type PublicKeyCredentialCreationOptionsJSON,
  type RegistrationResponseJSON,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
} from "@simplewebauthn/server";
import type { Clock } from "../platform/clock.ts";
import { ConflictError, messageOf } from "../platform/errors.ts";
import {
  betweenPasskeys,
  getPasskey,
  type Grant,
  listPasskeys,
  type Passkey,
  passkeyKey,
  putPasskey,
} from "../store/records/passkeys.ts";
import type { Store } from "../store/store.ts";
import type { SecretBox } from "../triggers/secrets.ts";
import {
  CopiedPasskeyError,
  grantOfPasskey,
  hasSameGrounds,
  PasskeyError,
  relyingParty,
} from "./passkey.ts";
import { BEHIND_MS, openTimed, SEALED_MS, sealTimed } from "./sealed.ts";

const RP_NAME = "Hooklaunch";
const CEREMONY_MS = 5 * 60_000;
/** The most passkeys on the same grounds, and of the service. */
const OWN_MAX = 20;
const ALL_MAX = 1_000;
const CREDENTIAL_LENGTH_MAX = 1_400;
/** The public key of ML-DSA-44 has 1,322 bytes. */
const KEY_LENGTH_MAX = 4_096;
const JSON_LENGTH_MAX = 64 * 1024;
const TRANSPORTS_MAX = 10;
const ADDING = "a new passkey";
const LOGIN = "a login with a passkey";

/** The parts of the service that passkeys use. */
export interface PasskeyParts {
  store: Store;
  clock: Pick<Clock, "now">;
  box: SecretBox;
  /** The address of the service as seen from outside, without a slash at the end. */
  baseUrl(): string;
}

/** The options of a browser's ceremony, and what is sent back with its result. */
interface Ceremony<Options> {
  options: Options;
  challenge: string;
}

/** Returns the options with which a browser makes a passkey for somebody. */
export async function beginAdding(
  { store, clock, box, baseUrl }: PasskeyParts,
  { grant, name }: { grant: Grant; name: string },
): Promise<Ceremony<PublicKeyCredentialCreationOptionsJSON>> {
  const rp = expectParty(baseUrl());
  const own = (await listPasskeys(store)).filter((each) => hasSameGrounds(each, grant));
  const options = await generateRegistrationOptions({
    rpName: RP_NAME,
    rpID: rp.id,
    userName: name,
    userDisplayName: name,
    userID: new Uint8Array(hash("sha256", groundsOf(grant), "buffer")),
    timeout: CEREMONY_MS,
    excludeCredentials: own.map(({ credential: id }) => ({ id })),
    authenticatorSelection: { residentKey: "required", userVerification: "required" },
  });
  const sealed = { challenge: options.challenge, grounds: groundsOf(grant) };
  return { options, challenge: sealTimed(sealed, { box, purpose: ADDING, now_ms: clock.now() }) };
}

/** A new passkey, as a browser has made it. */
interface NewPasskey {
  grant: Grant;
  /** The name of the device or the key. */
  name: string;
  owner: string;
  /** The JSON of the credential. */
  credential: string;
  /** The sealed challenge. */
  challenge: string;
}

/**
 * Adds a passkey on the grounds of a session.
 *
 * @throws {PasskeyError} when the browser's answer is not right, or too late
 * @throws {ConflictError} when there are too many, or there is this one already
 */
export async function addPasskey(parts: PasskeyParts, made: NewPasskey): Promise<Passkey> {
  const { store, clock, box, baseUrl } = parts;
  const rp = expectParty(baseUrl());
  const sealed = openTimed(made.challenge, { box, purpose: ADDING, now_ms: clock.now() });
  const { challenge, grounds } = Object(sealed);
  if (typeof challenge !== "string" || grounds !== groundsOf(made.grant)) {
    throw new PasskeyError("The passkey was made too late, or in another session: try again");
  }
  const response: RegistrationResponseJSON = read(made.credential);
  const verified = await verifyRegistrationResponse({
    response,
    expectedChallenge: challenge,
    expectedOrigin: rp.origin,
    expectedRPID: rp.id,
    requireUserVerification: true,
    supportedAlgorithmIDs: getDefaultSupportedAlgorithmIDs(),
  }).catch((error) => {
    throw wrong(error);
  });
  if (!verified.verified) throw wrong("it is not verified");
  const { id, publicKey, counter, transports = [] } = verified.registrationInfo.credential;
  if (id.length > CREDENTIAL_LENGTH_MAX || publicKey.length > KEY_LENGTH_MAX) {
    throw wrong("its key is too long");
  }
  const { token_hash, person } = made.grant;
  const passkey: Passkey = {
    credential: id,
    name: made.name,
    owner: made.owner,
    public_key: publicKey.toBase64({ alphabet: "base64url", omitPadding: true }),
    counter,
    transports: transports.slice(0, TRANSPORTS_MAX).map(String),
    created_at: new Date(clock.now()).toISOString(),
    used: [],
    ...(token_hash === undefined ? { person: person ?? "" } : { token_hash }),
  };
  return await betweenPasskeys(async () => {
    const all = await listPasskeys(store);
    if (all.some(({ credential }) => credential === id)) {
      throw new ConflictError("Cannot add the passkey: it is there already");
    }
    if (all.filter((each) => hasSameGrounds(each, passkey)).length >= OWN_MAX) {
      throw new ConflictError(
        `Cannot add the passkey: there are ${OWN_MAX} already. Remove one first`,
      );
    }
    if (all.length >= ALL_MAX) {
      throw new ConflictError(
        `Cannot add the passkey: the service has ${ALL_MAX} already. An administrator removes some at /access`,
      );
    }
    await putPasskey(store, passkey);
    return passkey;
  });
}

/** Returns the options with which a browser offers the passkeys that it has for the service. */
export function beginPasskeyLogin(
  { clock, box, baseUrl }: Omit<PasskeyParts, "store">,
): Ceremony<object> {
  const rp = expectParty(baseUrl());
  const challenge = crypto.getRandomValues(new Uint8Array(32))
    .toBase64({ alphabet: "base64url", omitPadding: true });
  const options = {
    challenge,
    rpId: rp.id,
    timeout: CEREMONY_MS,
    userVerification: "required",
    allowCredentials: [],
  };
  return {
    options,
    challenge: sealTimed({ challenge }, { box, purpose: LOGIN, now_ms: clock.now() }),
  };
}

/**
 * Checks a login with a passkey. Its challenge serves once.
 *
 * @returns the grounds of the access
 * @throws {CopiedPasskeyError} when the authenticator has counted no further use
 * @throws {PasskeyError} when there is no such passkey, or the answer is not right
 */
export async function completePasskeyLogin(
  { store, clock, box, baseUrl }: PasskeyParts,
  { credential, challenge: sealed }: { credential: string; challenge: string },
): Promise<{ grant: Grant; passkey: Passkey }> {
  const rp = expectParty(baseUrl());
  const { challenge } = Object(openTimed(sealed, { box, purpose: LOGIN, now_ms: clock.now() }));
  if (typeof challenge !== "string") {
    throw new PasskeyError("The passkey was used too late, or in another browser: try again");
  }
  const response: AuthenticationResponseJSON = read(credential);
  const key = passkeyKey(String(response.id));
  return await betweenPasskeys(async () => {
    const passkey = await getPasskey(store, key);
    if (passkey === undefined) {
      throw new PasskeyError(
        "This service does not know this passkey: it was removed, or is of another service",
      );
    }
    const now_ms = clock.now();
    const used = passkey.used.filter(([, until_ms]) => until_ms > now_ms);
    if (used.some(([each]) => each === challenge)) {
      throw new PasskeyError("This answer has served once already: try again");
    }
    const verified = await verifyAuthenticationResponse({
      response,
      expectedChallenge: challenge,
      expectedOrigin: rp.origin,
      expectedRPID: rp.id,
      credential: {
        id: passkey.credential,
        publicKey: Uint8Array.fromBase64(passkey.public_key, { alphabet: "base64url" }),
        // The library would look at the count before the signature: anybody could claim one.
        counter: 0,
      },
      requireUserVerification: true,
    }).catch((error) => {
      throw wrong(error);
    });
    if (!verified.verified) throw wrong("its signature does not fit");
    const { newCounter: counter } = verified.authenticationInfo;
    const isCopied = (counter > 0 || passkey.counter > 0) && counter <= passkey.counter;
    const next: Passkey = {
      ...passkey,
      ...(!isCopied && { counter, last_used_at: new Date(now_ms).toISOString() }),
      used: [...used, [challenge, now_ms + SEALED_MS + BEHIND_MS]],
    };
    await putPasskey(store, next);
    if (isCopied) throw new CopiedPasskeyError(next, counter);
    return { grant: grantOfPasskey(next), passkey: next };
  });
}

function expectParty(baseUrl: string): { id: string; origin: string } {
  const rp = relyingParty(baseUrl);
  if (rp !== undefined) return rp;
  throw new PasskeyError(
    "Passkeys need a host name: browsers make none for an IP address. Set --public-url to a URL with a name",
  );
}

/** The grounds as a text: the same for the same. */
function groundsOf({ token_hash, person }: Grant): string {
  return token_hash === undefined ? `person ${person}` : `token ${token_hash}`;
}

/** Reads the JSON of a credential. The library checks what is in it. */
function read<T>(json: string): T {
  try {
    if (json.length <= JSON_LENGTH_MAX) {
      const value = JSON.parse(json);
      if (typeof value?.id === "string" && typeof value.response === "object") return value;
    }
  } catch {
    // It is no JSON.
  }
  throw wrong("it is no credential");
}

function wrong(error: unknown): PasskeyError {
  return new PasskeyError("The browser's answer cannot be accepted: try again", messageOf(error));
}
