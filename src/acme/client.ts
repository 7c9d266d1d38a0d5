/**
 * A client of one ACME server (RFC 8555): it signs requests, and brings each its nonce.
 *
 * @module
 */
import { FlattenedSign, type JWK } from "@panva/jose";
import { messageOf } from "../platform/errors.ts";
import { parseJson } from "../platform/text/parse_json.ts";
import { AcmeError, readProblem, retryAfter_ms } from "./error.ts";
import { type ExternalAccount, hmacKey } from "./settings.ts";

/** An answer of the server. */
export interface Answer {
  headers: Headers;
  text: string;
  /** The parsed text; undefined where it is no JSON. */
  json: Record<string, unknown> | undefined;
}

/** Key of an account: an EC key of the curve P-256. */
export type AccountKey = JWK & { kty: "EC"; crv: "P-256"; x: string; y: string; d: string };

/** The parts of a client. */
interface ClientOptions {
  /** The URL of the server's directory. */
  directory: string;
  key: AccountKey;
  /** Certificates that sign that of the server, PEM. Default: those that the machine trusts. */
  ca?: string | undefined;
  signal: AbortSignal;
}

const TIMEOUT_MS = 30_000;
const BYTES_MAX = 1024 * 1024;
/** A server may refuse any nonce, and then gives another one. */
const NONCE_TRIES = 10;

/** A client of an ACME server. */
export class AcmeClient implements Disposable {
  readonly #key: AccountKey;
  readonly #signal: AbortSignal;
  readonly #http: Deno.HttpClient | undefined;
  readonly #nonces: string[] = [];
  #directory: Record<string, unknown> = {};
  /** The URL of the account; set by {@linkcode signUp}. */
  #account: string | undefined;

  private constructor({ key, ca, signal }: ClientOptions) {
    this.#key = key;
    this.#signal = signal;
    this.#http = ca === undefined ? undefined : Deno.createHttpClient({ caCerts: [ca] });
  }

  /**
   * Reads the directory of a server.
   *
   * @throws {AcmeError} when it cannot be used
   */
  static async open(options: ClientOptions): Promise<AcmeClient> {
    const client = new AcmeClient(options);
    try {
      const { json } = await client.#fetch(options.directory, { method: "GET" });
      if (typeof json?.newOrder !== "string") {
        throw new AcmeError(`Expected the directory of an ACME server at ${options.directory}`, {
          advice: "Look at --acme-directory",
        });
      }
      client.#directory = json;
      return client;
    } catch (error) {
      client[Symbol.dispose]();
      throw error;
    }
  }

  [Symbol.dispose](): void {
    this.#http?.close();
  }

  /** Returns true when the server issues certificates of a profile. */
  hasProfile(name: string): boolean {
    return Object.hasOwn(Object(Object(this.#directory.meta).profiles), name);
  }

  /**
   * Makes the account of the key, or finds it.
   *
   * @throws {AcmeError} when the authority refuses it
   */
  async signUp(
    { email, eab }: { email?: string | undefined; eab?: ExternalAccount | undefined } = {},
  ): Promise<void> {
    const contact = email === undefined ? {} : { contact: [`mailto:${email}`] };
    const account = { termsOfServiceAgreed: true, ...contact };
    const answer = eab === undefined
      ? await this.post(this.url("newAccount"), account)
      : await this.#signUpWith(eab, account);
    this.#account = answer.headers.get("location") ?? undefined;
  }

  /** Makes an account that is bound to one at the authority. Its key may serve once, so the account is looked for first. */
  async #signUpWith(eab: ExternalAccount, account: object): Promise<Answer> {
    const url = this.url("newAccount");
    try {
      return await this.post(url, { onlyReturnExisting: true });
    } catch (error) {
      if (!isOfType(error, ["accountDoesNotExist"])) throw error;
    }
    try {
      const externalAccountBinding = await this.#binding(eab, url);
      return await this.post(url, { ...account, externalAccountBinding });
    } catch (error) {
      if (!isOfType(error, ["unauthorized", "malformed"])) throw error;
      throw new AcmeError(`The authority does not know this account${error.said}`, {
        advice:
          "Compare --acme-eab-kid and --acme-eab-hmac with what it shows, or let it make new ones",
      });
    }
  }

  /** Signs the public key of the account with that of the account at the authority (RFC 8555 section 7.3.4). */
  async #binding(eab: ExternalAccount, url: string) {
    const { kty, crv, x, y } = this.#key;
    return await new FlattenedSign(new TextEncoder().encode(JSON.stringify({ kty, crv, x, y })))
      .setProtectedHeader({ alg: "HS256", kid: eab.kid, url })
      .sign(hmacKey(eab) ?? new Uint8Array());
  }

  /** Returns an address of the directory. */
  url(name: string): string {
    const url = this.#directory[name];
    if (typeof url === "string") return url;
    throw new AcmeError(`The directory of the authority has no ${name}`);
  }

  /** Reads the suggested time of a renewal (RFC 9773); undefined where the server suggests none. */
  async renewalInfo(certificateId: string): Promise<Answer | undefined> {
    const url = this.#directory.renewalInfo;
    if (typeof url !== "string") return undefined;
    return await this.#fetch(`${url.replace(/\/$/, "")}/${certificateId}`, { method: "GET" });
  }

  /**
   * Sends a signed request. Without a payload it reads what is there.
   *
   * @throws {AcmeError} when the server refuses it, or does not answer
   */
  async post(url: string, payload?: unknown): Promise<Answer> {
    for (let tries = 1;; tries++) {
      try {
        return await this.#fetch(url, {
          method: "POST",
          headers: { "content-type": "application/jose+json" },
          body: await this.#sign(url, payload),
        });
      } catch (error) {
        const isNonce = error instanceof AcmeError && error.type === "badNonce";
        if (!isNonce || tries === NONCE_TRIES) throw error;
      }
    }
  }

  async #sign(url: string, payload: unknown): Promise<string> {
    const { kty, crv, x, y } = this.#key;
    const nonce = this.#nonces.pop() ?? await this.#newNonce();
    const text = payload === undefined ? "" : JSON.stringify(payload);
    const identity = this.#account === undefined
      ? { jwk: { kty, crv, x, y } }
      : { kid: this.#account };
    const signed = await new FlattenedSign(new TextEncoder().encode(text))
      .setProtectedHeader({ alg: "ES256", nonce, url, ...identity })
      .sign(this.#key);
    return JSON.stringify(signed);
  }

  async #newNonce(): Promise<string> {
    await this.#fetch(this.url("newNonce"), { method: "HEAD" });
    const nonce = this.#nonces.pop();
    if (nonce === undefined) throw new AcmeError("The authority gives no nonces");
    return nonce;
  }

  async #fetch(url: string, init: RequestInit): Promise<Answer> {
    const signal = AbortSignal.any([this.#signal, AbortSignal.timeout(TIMEOUT_MS)]);
    const client = this.#http && { client: this.#http };
    let answer: Response;
    let text: string;
    try {
      answer = await fetch(url, { ...init, signal, ...client });
      text = await answer.text();
    } catch (error) {
      throw unreachable(url, error);
    }
    if (text.length > BYTES_MAX) throw new AcmeError(`The answer of ${url} is too long`);
    const nonce = answer.headers.get("replay-nonce");
    if (nonce !== null) this.#nonces.push(nonce);
    const json = parsed(text);
    if (answer.ok) return { headers: answer.headers, text, json };
    throw new AcmeError(`The authority answers ${answer.status}`, {
      problem: json && readProblem(json),
      retryAfter_ms: retryAfter_ms(answer.headers),
    });
  }
}

function isOfType(error: unknown, types: readonly string[]): error is AcmeError {
  return error instanceof AcmeError && error.type !== undefined && types.includes(error.type);
}

function unreachable(url: string, error: unknown): AcmeError {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  return new AcmeError(`Cannot reach ${url}: ${messageOf(cause)}`, {
    advice:
      "Look at --acme-directory, the network, HTTPS_PROXY, and --acme-ca where the authority is one of your own",
  });
}

function parsed(text: string): Record<string, unknown> | undefined {
  const value = parseJson(text);
  return typeof value === "object" && value !== null ? { ...value } : undefined;
}
