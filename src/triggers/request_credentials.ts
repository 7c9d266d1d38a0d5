/**
 * The credentials of one request, by which the places that repeat them are found: proxies copy the URL of a
 * request into headers.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { withoutPrefix } from "../conditions/authorization.ts";
import { headerText } from "../platform/network/header_text.ts";
import { hidePassword, percentDecode } from "../platform/network/urls.ts";

/** A scheme and the credentials after it (RFC 9110 section 11.4). */
const SCHEME = /^([a-z]+) +(\S.*)$/i;
const NOT_ASCII = /[^\0-\x7f]/;
/** Characters that are in no URL. */
const NOT_IN_URL = /[\s"{}]/;
/** The most values of a request that may be a secret at a wrong place. */
const VALUES_MAX = 512;
/** A shorter text is no secret. */
const SECRET_LENGTH_MIN = 8;
/** The most texts that are looked for. With more, any text may hold one. */
const TEXTS_MAX = 64;

/** The texts that are credentials of one request, as they came and decoded. */
export class RequestCredentials {
  readonly #texts = new Set<string>();
  /** Length of the shortest one. */
  #length_min = Infinity;

  /**
   * Adds the value of a header that carries a credential.
   *
   * @param prefixes the texts before the credential that conditions expect
   */
  addHeader(value: string, prefixes: readonly string[]): void {
    this.#add(value);
    for (const prefix of prefixes) this.#add(withoutPrefix(value, prefix));
    const [, scheme, rest] = SCHEME.exec(value) ?? [];
    this.#add(rest);
    if (scheme?.toLowerCase() === "basic" && rest !== undefined) this.#addBasic(rest);
  }

  /** Adds the values of parameters that carry credentials. */
  addQuery(query: string, names: ReadonlySet<string>): void {
    for (const part of query.split("&")) {
      const [name = ""] = part.split("=", 1);
      if (!names.has(formDecode(name))) continue;
      const value = part.slice(name.length + 1);
      this.#add(value);
      this.#add(formDecode(value));
    }
  }

  /**
   * Adds the values of a request that are secrets, wherever they stand.
   *
   * @param isSecret tells whether a text is one
   */
  addSecrets(
    { headers, queryText }: {
      headers: readonly (readonly [name: string, value: string])[];
      queryText: string;
    },
    isSecret: (text: string) => boolean,
  ): void {
    const parts = queryText.split("&", VALUES_MAX).flatMap((part) => {
      const [name = ""] = part.split("=", 1);
      return [name, part.slice(name.length + 1)].map(formDecode);
    });
    const texts = [...headers.slice(0, VALUES_MAX).map(([, value]) => headerText(value)), ...parts];
    for (const text of texts) {
      for (const each of [text, SCHEME.exec(text)?.[2] ?? ""]) {
        if (each.length >= SECRET_LENGTH_MIN && isSecret(each)) this.#add(each);
      }
    }
  }

  /** Returns true when a text holds a credential, as it came or percent-encoded. */
  isIn(text: string): boolean {
    // Decoding makes no text longer.
    if (text.length < this.#length_min) return false;
    if (this.#texts.size > TEXTS_MAX || this.#isPartOf(text)) return true;
    return /[%+]/.test(text) &&
      (this.#isPartOf(percentDecode(text)) || this.#isPartOf(formDecode(text)));
  }

  #isPartOf(text: string): boolean {
    for (const credential of this.#texts) if (text.includes(credential)) return true;
    return false;
  }

  #addBasic(encoded: string): void {
    const decoded = Buffer.from(encoded, "base64").toString("utf8");
    this.#add(decoded);
    this.#add(decoded.slice(decoded.indexOf(":") + 1));
  }

  #add(text: string | undefined): void {
    if (text === undefined || text === "") return;
    this.#texts.add(text);
    this.#length_min = Math.min(this.#length_min, text.length);
    // Each character of a header stands for one byte.
    if (NOT_ASCII.test(text)) this.#texts.add(Buffer.from(text, "utf8").toString("latin1"));
  }
}

/** Returns a header's value without the query and the password of the URL that it is. */
export function shownUrl(sent: string): string {
  const value = sent.includes("@") ? hidePassword(sent) : sent;
  const question = value.indexOf("?");
  if (question === -1) return value;
  const path = value.slice(0, question);
  return path.includes("/") && !NOT_IN_URL.test(path) ? path : value;
}

/** Decodes a name or a value of a query as conditions read it. */
export function formDecode(text: string): string {
  if (!/[%+]/.test(text)) return text;
  // A parameter's name may begin with a question mark.
  return new URLSearchParams(`?=${text.replaceAll("&", "%26")}`).get("") ?? text;
}
