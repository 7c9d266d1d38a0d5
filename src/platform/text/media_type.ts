/**
 * Media types, as Content-Type headers have them.
 *
 * @module
 */

/** A type and a subtype (RFC 9110 section 8.3.1); what stands behind a semicolon are parameters. */
const MEDIA_TYPE = /^[ \t]*([\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+)[ \t]*(?:;|$)/;

/**
 * The media type of a Content-Type header without its parameters, right or wrong; empty when there is
 * none.
 */
export function mediaType(contentType: string): string {
  return MEDIA_TYPE.exec(contentType)?.[1]?.toLowerCase() ?? "";
}
