/**
 * Media types, as Content-Type headers have them.
 *
 * @module
 */

/** A type and a subtype (RFC 9110 section 8.3.1); parameters follow a semicolon. */
const MEDIA_TYPE = /^[ \t]*([\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+)[ \t]*(?:;|$)/;

/**
 * Returns the media type of a Content-Type header in lower case, without parameters; "" if there is
 * none.
 */
export function mediaType(contentType: string): string {
  return MEDIA_TYPE.exec(contentType)?.[1]?.toLowerCase() ?? "";
}
