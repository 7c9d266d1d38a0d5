/**
 * What a signing scheme is: everything that verifying a provider's signature needs to know, as one
 * row of data. The verifier and the signer both read it.
 *
 * @module
 */
import { z } from "zod";
import type { Encoding } from "./encoding.ts";
import type { Field } from "../field.ts";
import { TIMESTAMP_FORMATS, type TimestampFormat } from "../freshness.ts";
import { checkTemplate } from "./template.ts";
import { checkField, fieldInSchema, fieldNameSchema, headerNameSchema } from "../settings.ts";

/** How many bytes an HMAC (RFC 2104) of each hash has. */
export const MAC_BYTES = { sha1: 20, sha256: 32, sha384: 48, sha512: 64 } as const;

/** The hash of an HMAC. */
export type MacAlgorithm = keyof typeof MAC_BYTES;

/** The algorithms that sign with a private key: RFC 8032, FIPS 186-5 with SHA-256, RFC 8017. */
export const SIGNATURE_ALGORITHMS = ["ed25519", "ecdsa_p256", "rsa_sha256"] as const;

/** An algorithm that signs with a private key. */
export type SignatureAlgorithm = typeof SIGNATURE_ALGORITHMS[number];

/** Where the time of signing is, and how it is written. */
export interface TimestampSource {
  /** `signature` is a field of the signature's header, as `t` in `t=…,v1=…`. */
  in: Field["in"] | "signature";
  name: string;
  other_name?: string;
  format: TimestampFormat;
}

/** How a provider signs. The names are those of the settings, so that each can be overridden. */
export interface Scheme {
  algorithm: MacAlgorithm | SignatureAlgorithm;
  encoding: Encoding;
  /** ECDSA alone: ASN.1 DER (RFC 3279 section 2.2.3), or r and s as they are. */
  signature_format: "der" | "raw";
  /** The header that carries the signature; of several, any one may match. */
  header?: string | readonly string[] | undefined;
  /** The field of the body that carries the signature, where no header does. */
  body_field?: string | undefined;
  /** What stands before each signature, exactly. */
  prefix: string;
  /** What stands between several signatures or fields. */
  list_separator?: string | undefined;
  /** What stands between a field's name and its value. */
  field_separator?: string | undefined;
  /** The name of the fields that hold signatures; any other name is left alone. */
  field?: string | undefined;
  /** The bytes that are signed, as a template; of several, any one may match. */
  signed_content: string | readonly string[];
  key_encoding: "utf8" | "base64" | "hex";
  /** What the key as the provider shows it begins with, and what is no part of it. */
  key_prefix: string;
  timestamp?: TimestampSource | undefined;
  /** How far the timestamp may lie from the time of receipt, in seconds, to either side. */
  tolerance: number;
  /** Where `{id}` is. */
  id?: Field | undefined;
  /** What is the same when a delivery is repeated. */
  delivery_id?: Field | undefined;
  /** The public URL as the provider calls it, where the request's own is another. */
  url?: string | undefined;
}

/** The fields of a scheme that have a value when nobody names one. */
const SCHEME_DEFAULTS = {
  encoding: "hex",
  signature_format: "der",
  prefix: "",
  signed_content: "{body}",
  key_encoding: "utf8",
  key_prefix: "",
  tolerance: 300,
} as const satisfies Partial<Scheme>;

const HEADERS_MAX = 16;
const ALTERNATIVES_MAX = 4;
const URL_CHARACTERS_MAX = 2048;

const separatorSchema = z.string().min(1).max(16);
const fieldSchema = z.strictObject({ in: fieldInSchema, name: fieldNameSchema })
  .superRefine(checkField);
const templateSchema = z.string().max(1024).superRefine(checkTemplate);
const timestampSourceSchema = z.strictObject({
  in: z.enum(["header", "query", "body", "signature"]).describe(
    "The part of the request that carries it; 'signature' is a field of the signature's header",
  ),
  name: fieldNameSchema,
  format: z.enum(TIMESTAMP_FORMATS).describe("How it is written"),
}).superRefine((source, context) => {
  if (source.in !== "signature") checkField({ in: source.in, name: source.name }, context);
});

/** The settings that say or override how a sender signs, all but the algorithm and the keys. */
export const schemeShape = {
  encoding: z.enum(["hex", "base64", "base64url"]).optional().describe(
    "How the signature is written; hex in either case and base64 without padding are read too",
  ),
  header: z.union([headerNameSchema, z.array(headerNameSchema).min(1).max(HEADERS_MAX)]).optional()
    .describe("The header that carries the signature; of several, any one may match"),
  body_field: fieldNameSchema.optional().describe(
    "The field of the body that carries the signature, instead of a header",
  ),
  prefix: z.string().max(256).optional().describe("What stands before the signature, exactly"),
  list_separator: separatorSchema.optional().describe(
    "What stands between several signatures of which any one may match",
  ),
  field_separator: separatorSchema.optional().describe(
    "What stands between a field's name and its value",
  ),
  field: z.string().min(1).max(64).optional().describe(
    "The name of the fields that hold signatures; other fields are left alone",
  ),
  signed_content: z.union([
    templateSchema,
    z.array(templateSchema).min(1).max(ALTERNATIVES_MAX),
  ]).optional().describe(
    "What is signed: text with {body}, {timestamp}, {id}, {method}, {url}, {path}, " +
      "{header:NAME}, {query:NAME} and {body:NAME}; of several, any one may match",
  ),
  key_encoding: z.enum(["utf8", "base64", "hex"]).optional().describe("How keys are written"),
  key_prefix: z.string().max(64).optional().describe(
    "What a key begins with, and what is no part of it",
  ),
  timestamp: timestampSourceSchema.optional().describe(
    "Where the time of signing is; without it a timestamp condition says so",
  ),
  tolerance: z.int().min(1).max(86_400).optional().describe(
    "How far 'timestamp' may lie from the time of receipt, in seconds, to either side; " +
      "the preset's, or else 300, when absent",
  ),
  id: fieldSchema.optional().describe("Where {id} is"),
  delivery_id: fieldSchema.optional().describe(
    "What is the same when the sender repeats a delivery",
  ),
  url: z.url({ protocol: /^https?$/ }).max(URL_CHARACTERS_MAX).optional().describe(
    "The URL as the sender calls it, for {url} and {path}; the request's query is added when it has none",
  ),
} as const;

/** Settings that name a scheme, or say one, or both. */
export type SchemeSettings = { [Name in keyof Scheme]?: Scheme[Name] | undefined };

/** A scheme of the general form, or a preset's with what the settings say in its place. */
export function resolveScheme(row: SchemeSettings | undefined, settings: SchemeSettings): Scheme {
  const own = Object.fromEntries(
    Object.entries(settings).filter(([name, value]) => isSchemeField(name) && value !== undefined),
  );
  // A place for the signature takes the other one's place.
  if (own.header !== undefined) own.body_field = undefined;
  else if (own.body_field !== undefined) own.header = undefined;
  // The algorithm comes from the row or, as the schema of a condition sees to, from the settings.
  return { ...SCHEME_DEFAULTS, ...row, ...own } as Scheme;
}

/** The headers that may carry the signature. */
export function signatureHeaders({ header }: Scheme): readonly string[] {
  if (header === undefined) return [];
  return typeof header === "string" ? [header] : header;
}

/** Where a request carries signatures. */
export function signatureFields(scheme: Scheme): Field[] {
  if (scheme.body_field !== undefined) return [{ in: "body", name: scheme.body_field }];
  return signatureHeaders(scheme).map((name) => ({ in: "header", name }));
}

/** The templates of what is signed, of which any one may hold. */
export function signedContents(
  { signed_content }: Pick<Scheme, "signed_content">,
): readonly string[] {
  return typeof signed_content === "string" ? [signed_content] : signed_content;
}

function isSchemeField(name: string): boolean {
  return name === "algorithm" || name === "signature_format" || name in schemeShape;
}
