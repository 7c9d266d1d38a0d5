/**
 * The description of an operation: of what it takes, answers and needs.
 *
 * @module
 */
import type { z } from "zod";
import type { Scope } from "../../store/records/tokens.ts";

/** An answer to an operation. */
export interface Answer {
  /** When it is given; "Done" when absent. */
  description?: string;
  /** The schema of its JSON. Any JSON, when absent. */
  schema?: z.ZodType;
  /** The schemas of its other media types. JSON alone, when absent; none for an answer without a body. */
  media?: Readonly<Record<string, z.ZodType | undefined>>;
  /** Its headers, each with its meaning. */
  headers?: Readonly<Record<string, string>>;
}

/** The JSON that an operation takes. */
export interface RequestBody {
  /** Undefined where anything is taken. */
  schema?: z.ZodType;
  isOptional?: true;
  /** The media types; JSON alone when absent. */
  media?: readonly string[];
  /** The longest one that is read. */
  limit_bytes?: number;
  /** Bodies as a reader would send them, by what they do. */
  examples?: Readonly<Record<string, unknown>>;
}

/** The description of an operation in the OpenAPI document. */
export interface Declaration {
  /** The `operationId`. */
  id: string;
  method: "get" | "post" | "put" | "patch" | "delete";
  /** Relative to `/api/v0`, with parameters as in `/triggers/{id}/`. */
  path: string;
  summary: string;
  description?: string;
  query?: z.ZodObject;
  /** The request headers that it reads: the meaning of each, or the schema of its value. */
  headers?: Readonly<Record<string, string | z.ZodString>>;
  body?: RequestBody;
  /** By status, such as `200` or `2XX`. */
  answers: Readonly<Record<string, Answer>>;
  /** The scope that its token needs: `read` for a GET and `admin` for another method, when absent. */
  scope?: Scope;
  /**
   * The treatment of tokens that are limited to triggers or projects: they are refused, or the operation checks what
   * they may do. When absent, they reach a record that they may see, and make no new ones.
   */
  limitedTokens?: "refused" | "checked";
  /** It stores nothing, though it is no GET: it is not written into the audit log. */
  isTrial?: true;
  /**
   * The instance that answers it where several share the database: `leader` where its memory or its files are needed.
   * When absent, a GET is answered by any, and a change by the leader.
   */
  answeredBy?: "any" | "leader";
  /** It takes no operator's token. */
  isOpen?: true;
  /** Its path begins at the service's root, not below `/api/v0`. */
  isAtRoot?: true;
}
