/**
 * A signing scheme: all facts about a provider's signature, as one row of data. The verifier and the signer
 * both read it.
 *
 * @module
 */
import { z } from "zod";
import type { Encoding } from "./encoding.ts";
import type { Field } from "../field.ts";
import { TIMESTAMP_FORMATS, type TimestampFormat } from "../freshness.ts";
import { checkTemplate } from "./template.ts";
import { checkField, fieldInSchema, fieldNameSchema, headerNameSchema } from "../settings.ts";

/** The bytes of an HMAC (RFC 2104) by each hash. */
export const MAC_BYTES = { sha1: 20, sha256: 32, sha384: 48, sha512: 64 } as const;

/** The hash of an HMAC. */
export type MacAlgorithm = keyof typeof MAC_BYTES;

/** The algorithms that sign with a private key: RFC 8032, FIPS 186-5 with SHA-256, RFC 8017. */
export const SIGNATURE_ALGORITHMS = ["ed25519", "ecdsa_p256", "rsa_sha256"] as const;

/** The algorithms of rows: SHA-1 is the older one of a provider, and no setting of an owner. */
type RowAlgorithm = typeof SIGNATURE_ALGORITHMS[number] | "rsa_sha1";

/** An algorithm that signs with a private key. */
export type SignatureAlgorithm = RowAlgorithm;

/** The place and the format of the time of signing. */
export interface TimestampSource {
  /** `signature` is a field of the signature's header, as `t` in `t=…,v1=…`. */
  in: Field["in"] | "signature";
  name: string;
  other_name?: string;
  format: TimestampFormat;
}

/** The place of the URL of the certificate whose key has signed a request. */
export interface CertificateSource extends Field {
  /** The URLs of the provider's certificates, whole. */
  readonly url: RegExp;
  /** Another algorithm, which a value of the request stands for. */
  readonly other?: {
    readonly where: Field;
    readonly equals: string;
    readonly algorithm: SignatureAlgorithm;
  };
}

/** The scheme of a provider. Its fields have the names of the settings, which can override each. */
export interface Scheme {
  algorithm: MacAlgorithm | SignatureAlgorithm;
  encoding: Encoding;
  /** ECDSA alone: ASN.1 DER (RFC 3279 section 2.2.3), or r and s as they are. */
  signature_format: "der" | "raw";
  /** The header that carries the signature; of several, any one may match. */
  header?: string | readonly string[] | undefined;
  /** The field of the body that carries the signature, where no header does. */
  body_field?: string | undefined;
  /** The text before each signature. */
  prefix: string;
  /** The text between several signatures or fields. */
  list_separator?: string | undefined;
  /** A row alone: the text between lists, each of which has a time and a signature. */
  set_separator?: string | undefined;
  /** The text between a field's name and its value. */
  field_separator?: string | undefined;
  /** The name of the fields that hold signatures; other fields are ignored. */
  field?: string | undefined;
  /** The bytes that are signed, as a template; of several, any one may match. */
  signed_content: string | readonly string[];
  key_encoding: "utf8" | "base64" | "hex";
  /** The text before a key as the provider shows it, which is not part of the key. */
  key_prefix: string;
  timestamp?: TimestampSource | undefined;
  /** The greatest distance of the timestamp from the time of receipt, in seconds, to either side. */
  tolerance: number;
  /** The place of `{id}`. */
  id?: Field | undefined;
  /** The field that stays the same when a delivery is repeated. */
  delivery_id?: Field | undefined;
  /** The public URL that the provider calls, where the request's own differs. */
  url?: string | undefined;
  /** A row alone: no key is set, since requests name a certificate of the provider. */
  certificate?: CertificateSource | undefined;
  /** The provider's name for what sends, such as a topic's ARN, where its key signs for everyone. */
  identity?: string | undefined;
}

/** The defaults of a scheme. */
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
  format: z.enum(TIMESTAMP_FORMATS).describe("Its format"),
}).superRefine((source, context) => {
  if (source.in !== "signature") checkField({ in: source.in, name: source.name }, context);
});

/** The settings of a scheme, without the algorithm and the keys. */
export const schemeShape = {
  encoding: z.enum(["hex", "base64", "base64url"]).optional().describe(
    "The encoding of the signature; hex in either case and base64 without padding are accepted",
  ),
  header: z.union([headerNameSchema, z.array(headerNameSchema).min(1).max(HEADERS_MAX)]).optional()
    .describe("The header that carries the signature; of several, any one may match"),
  body_field: fieldNameSchema.optional().describe(
    "The field of the body that carries the signature, instead of a header",
  ),
  prefix: z.string().max(256).optional().describe("The text before the signature, exactly"),
  list_separator: separatorSchema.optional().describe(
    "The text between several signatures, of which any one may match",
  ),
  field_separator: separatorSchema.optional().describe(
    "The text between a field's name and its value",
  ),
  field: z.string().min(1).max(64).optional().describe(
    "The name of the fields that hold signatures; other fields are ignored",
  ),
  signed_content: z.union([
    templateSchema,
    z.array(templateSchema).min(1).max(ALTERNATIVES_MAX),
  ]).optional().describe(
    "The signed content: text with {body}, {timestamp}, {id}, {method}, {url}, {path}, " +
      "{header:NAME}, {query:NAME} and {body:NAME}; of several, any one may match",
  ),
  key_encoding: z.enum(["utf8", "base64", "hex"]).optional().describe("The encoding of keys"),
  key_prefix: z.string().max(64).optional().describe(
    "The text before a key, which is not part of it",
  ),
  timestamp: timestampSourceSchema.optional().describe(
    "The place of the time of signing; without it, that of a timestamp condition",
  ),
  tolerance: z.int().min(1).max(86_400).optional().describe(
    "The greatest distance of 'timestamp' from the time of receipt, in seconds, to either side; " +
      "the preset's, or else 300, when absent",
  ),
  id: fieldSchema.optional().describe("The place of {id}"),
  delivery_id: fieldSchema.optional().describe(
    "The field that stays the same when the sender repeats a delivery",
  ),
  url: z.url({ protocol: /^https?$/ }).max(URL_CHARACTERS_MAX).optional().describe(
    "The URL that the sender calls, for {url} and {path}; the request's query is added when it has none",
  ),
} as const;

/** Settings that define a scheme, or override the fields of a preset's. */
export type SchemeSettings = { [Name in keyof Scheme]?: Scheme[Name] | undefined };

/** Resolves settings to a whole scheme: defaults, then the preset's row, then the settings themselves. */
export function resolveScheme(row: SchemeSettings | undefined, settings: SchemeSettings): Scheme {
  const own = Object.fromEntries(
    Object.entries(settings).filter(([name, value]) => isSchemeField(name) && value !== undefined),
  );
  // A place of the signature in the settings replaces the row's.
  if (own.header !== undefined) own.body_field = undefined;
  else if (own.body_field !== undefined) own.header = undefined;
  // The schema of a condition makes sure that the row or the settings name an algorithm.
  return { ...SCHEME_DEFAULTS, ...row, ...own } as Scheme;
}

/** Lists the headers that may carry the signature. */
export function signatureHeaders({ header }: Scheme): readonly string[] {
  if (header === undefined) return [];
  return typeof header === "string" ? [header] : header;
}

/** Lists the fields that may carry the signature. */
export function signatureFields(scheme: Scheme): Field[] {
  if (scheme.body_field !== undefined) return [{ in: "body", name: scheme.body_field }];
  return signatureHeaders(scheme).map((name) => ({ in: "header", name }));
}

/** Lists the templates of the signed content, of which any one may match. */
export function signedContents(
  { signed_content }: Pick<Scheme, "signed_content">,
): readonly string[] {
  return typeof signed_content === "string" ? [signed_content] : signed_content;
}

function isSchemeField(name: string): boolean {
  return name === "algorithm" || name === "signature_format" || name === "identity" ||
    name in schemeShape;
}
