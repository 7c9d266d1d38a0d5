/**
 * Handshakes as data: a provider checks that a URL is listening, and expects a certain answer. Such a
 * request launches nothing.
 *
 * @module
 */

/** The methods by which providers check a URL. */
export const HANDSHAKE_METHODS = ["GET", "HEAD", "OPTIONS", "POST"] as const;

/** The longest body of a handshake. */
export const HANDSHAKE_BODY_BYTES_MAX = 8 * 1024;
/** The texts that a handshake signs. A condition beside it takes no signature of one. */
export const SIGNED_TOKEN = /^[A-Za-z0-9+/_-]{1,128}={0,2}$/;
/** The length of the longest one. */
export const SIGNED_TOKEN_BYTES_MAX = 130;

/** The answer to a handshake. `{…}` in a string holds an expression of CEL. */
export type HandshakeResponse =
  & {
    /** Default: 200. */
    readonly status?: number | undefined;
    /** Its values may hold `{…}`, too. */
    readonly headers?: Readonly<Record<string, string>> | undefined;
    readonly content_type?: string | undefined;
  }
  & (
    | { readonly type: "text"; readonly text: string }
    | { readonly type: "json"; readonly json: unknown }
  );

/**
 * One handshake. Expressions are over `method`, `query`, `headers`, `body` and the other variables of payload
 * filters. A request of which a `{…}` is missing, empty, longer than 512 characters or no single line is none.
 */
export interface HandshakeRow {
  readonly method: typeof HANDSHAKE_METHODS[number];
  /**
   * An expression that is true for such a request; default: every request of the method. It may compare a value
   * with `secret` by `==` and `!=`, in constant time. In a preset that means that the owner sets the secret:
   * `handshakes: [{ preset: meta, secret: "…" }]`. The preset of a condition alone leaves such a row out.
   */
  readonly when?: string | undefined;
  /** The request must have passed the authentication conditions; default: false. */
  readonly verified?: boolean | undefined;
  /**
   * `hmac_sha256_hex(secret, text)` and `hmac_sha256_base64(secret, text)` sign a text of letters, digits and
   * `+/_-=`. In the preset of a condition, `secret` is then the secret of the condition that signed the request.
   */
  readonly response: HandshakeResponse;
  /**
   * A text with `{…}` that the trigger log tells admins: a secret that the provider makes and sends here, for the
   * owner to copy.
   */
  readonly tells?: string | undefined;
  /** A URL that is fetched before the answer, of a verified request: https, a host of the pattern, no redirect. */
  readonly confirm?: { readonly url: string; readonly host: RegExp } | undefined;
}
