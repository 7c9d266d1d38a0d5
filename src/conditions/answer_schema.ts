/**
 * The schemas that the answers which owners write share.
 *
 * @module
 */
import { z } from "zod";
import { headerNameSchema } from "./settings.ts";

/** The longest body of an answer that owners write. */
export const ANSWER_BYTES_MAX = 16 * 1024;
const HEADERS_MAX = 16;
const HEADER_CHARACTERS_MAX = 1_024;
/** The HTTP server sets these (RFC 9110 section 7.6.1), or they would reach other pages of the host. */
const OWN_HEADERS = new Set([
  "accept-ch",
  "alt-svc",
  "clear-site-data",
  "connection",
  "content-encoding",
  "content-length",
  "content-security-policy",
  "content-type",
  "date",
  "expect-ct",
  "keep-alive",
  "nel",
  "proxy-authenticate",
  "proxy-connection",
  "public-key-pins",
  "report-to",
  "reporting-endpoints",
  "service-worker-allowed",
  "set-cookie",
  "set-cookie2",
  "strict-transport-security",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "x-content-type-options",
]);

/** The schema of an answer's status. */
export const answerStatusSchema = z.int().min(200).max(299).optional();

/** The schema of a JSON body. */
export const answerJsonSchema = z.json().refine(
  (value) => JSON.stringify(value).length <= ANSWER_BYTES_MAX,
  { error: `Expected at most ${ANSWER_BYTES_MAX} bytes of JSON` },
);

const headerValueSchema = z.string().max(HEADER_CHARACTERS_MAX).regex(/^[\x20-\x7e]*$/, {
  error: "Must be one line of printable ASCII",
});

/** The schema of an answer's headers. */
export const answerHeadersSchema = z.record(
  headerNameSchema.refine((name) => !OWN_HEADERS.has(name.toLowerCase()), {
    error: ({ input }) =>
      String(input).toLowerCase() === "content-type"
        ? "Must be set by `content_type`"
        : "Must be a header that the service does not set itself",
  }),
  headerValueSchema,
).refine((headers) => Object.keys(headers).length <= HEADERS_MAX, {
  error: `Expected at most ${HEADERS_MAX} headers`,
}).optional().describe("Headers of the answer");

/** The schema of an answer's Content-Type. */
export const contentTypeSchema = z.string().max(255).regex(
  /^[!#$%&'*+.^_`|~0-9A-Za-z-]+\/[!#$%&'*+.^_`|~0-9A-Za-z-]+(?:\s*;[\x20-\x7e]*)?$/,
  { error: "Must be a media type, such as application/xml" },
).optional().describe("The Content-Type of the answer, where it is not that of its type");
