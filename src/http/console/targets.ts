/**
 * The addresses that the login leads to: pages and forms of the console, and nothing else.
 *
 * @module
 */
import type { Route } from "./route.ts";

/**
 * A path without an empty segment, a dot segment or an escape. A browser reads it as it is written, wherever it
 * stands.
 */
const PLAIN_PATH = /^(?:[A-Za-z0-9][A-Za-z0-9._-]*(?:\/(?!$)|$))*$/;

/** Finds the known addresses among those that a request names. */
export class Targets {
  readonly #pages: readonly RegExp[];
  readonly #forms: readonly RegExp[];

  constructor(routes: readonly Route[]) {
    this.#pages = routes.filter(({ show }) => show).map(patternOf);
    this.#forms = routes.filter(({ submit }) => submit).map(patternOf);
  }

  /** Returns the address of a page, relative to the console; empty, as that of the overview, for any other text. */
  page(address: string): string {
    return knownAddress(address, this.#pages);
  }

  /** Returns the address that takes a form, relative to the console; empty for any other text. */
  form(address: string): string {
    return knownAddress(address, this.#forms);
  }
}

function knownAddress(address: string, patterns: readonly RegExp[]): string {
  const [written = "", ...query] = address.split("?");
  const path = written.replace(/\/$/, "");
  if (!PLAIN_PATH.test(path) || !patterns.some((pattern) => pattern.test(path))) return "";
  const fields = new URLSearchParams(query.join("?"));
  return fields.size === 0 ? path : `${path}?${fields}`;
}

/** The form of a route's path without its first slash. Names in it stand for one segment. */
function patternOf({ path }: Route): RegExp {
  const segments = path.slice(1).split("/").map((segment) =>
    segment.startsWith(":") ? "[^/]+" : RegExp.escape(segment)
  );
  return new RegExp(`^${segments.join("/")}$`);
}
