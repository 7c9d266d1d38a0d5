/**
 * An answer to a sender.
 *
 * @module
 */

/** An answer, ready to send. It goes with `X-Content-Type-Options: nosniff`. */
export interface Answer {
  status: number;
  contentType: string;
  body: string;
  /** Other headers. */
  headers?: Readonly<Record<string, string>>;
}

const CONTENT_TYPES = {
  text: "text/plain; charset=utf-8",
  json: "application/json; charset=utf-8",
  xml: "application/xml; charset=utf-8",
} as const;

/** The type of a body that owners write. */
type BodyType = keyof typeof CONTENT_TYPES;

/** Returns the Content-Type of an answer, where its owner sets none. */
export function contentTypeOf(type: BodyType): string {
  return CONTENT_TYPES[type];
}
