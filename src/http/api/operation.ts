/**
 * Operations of the API. Each is declared in one place, beside the code that performs it: the routes, the
 * OpenAPI document and the reference in `src/docs` are made from these declarations.
 *
 * @module
 */
import { type Context, Hono } from "@hono/hono";
import { z } from "zod";
import { isLimited, requireScope } from "./access.ts";
import { audited } from "./audit_trail.ts";
import type { Authenticated } from "./auth.ts";
import type { Declaration } from "./declaration.ts";
import { STREAM_HEADERS } from "./event_stream.ts";
import { readJson, readOptionalJson } from "./input.ts";
import { limitedList, openCursor, visiblePage } from "./limited_lists.ts";
import type { Api } from "./api.ts";
import { Records } from "./records.ts";
import { parseWith } from "../../platform/schema/schema.ts";
import { readQuery } from "./queries.ts";

/** The names of the parameters of a path. */
type Parameter<Path> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | Parameter<Rest>
  : never;

/** A request for an operation. */
interface Call<Path extends string, Query> {
  api: Api;
  /** The records that the operator may see. */
  records: Records;
  context: Context;
  /** The parameters of the path. */
  params: Record<Parameter<Path>, string>;
  /** The query, by the operation's schema. */
  query: Query;
  /** The JSON that was sent; undefined when there was none. It is not checked against the schema yet. */
  body: unknown;
}

/** An operation, and the code that performs it. */
export interface Operation<Path extends string = string, Query extends z.ZodObject = z.ZodObject>
  extends Declaration {
  path: Path;
  query?: Query;
  /** Returns what the audit log tells of the JSON that was sent, beside the id of the record that it makes. */
  told?(sent: unknown): object;
  perform(call: Call<Path, z.output<Query>>): Response | Promise<Response>;
}

/** Declares an operation: gives `perform` the types of the path's parameters and of the query. */
export function operation<const Path extends string, Query extends z.ZodObject>(
  declared: Operation<Path, Query>,
): Operation {
  // A method's parameters are bivariant; what it is called with comes from its own declaration, below.
  return declared;
}

/** The query and the body of operations that have none: what is unknown is refused, not ignored. */
const nothing = z.strictObject({});

/** Makes the routes of operations. Each checks what the token allows, and writes changes into the audit log. */
export function routesOf(operations: readonly Operation[], api: Api): Hono {
  const app = new Hono({ strict: false });
  for (const each of operations) {
    app.on(each.method.toUpperCase(), honoPath(each.path), async (context: Context) => {
      // The caller has put it there.
      const authenticated: Authenticated = context.env;
      const params: Record<string, string> = context.req.param();
      const { access } = authenticated;
      requireScope(access, each);
      const answered = isOfLeader(each) && api.elsewhere?.askLeader(context, authenticated);
      if (answered) return await answered;
      // What this instance keeps of triggers is as they are now.
      await api.store.shared?.triggers.sync();
      const records = new Records(api, access);
      await records.requireTarget(each, params);
      const name = params.id ?? params.name;
      const list = isLimited(access) ? limitedList(each, { access, records, params }) : undefined;
      const opened = list && openCursor(context.req.query("cursor"), list, api);
      const query = readQuery(context, each.query ?? nothing, list && { cursor: opened });
      if (list) await records.requireFilters(query);
      checkHeaders(each, context);
      const body = await bodyOf(each, context, api);
      const perform = async (page = {}) =>
        await each.perform({ api, records, context, params, query: { ...query, ...page }, body });
      const isTrial = each.isTrial || [query, body].some((sent) => Object(sent).dry_run === true);
      if (each.method !== "get" && !isTrial) {
        // Hono has removed the slash from its end.
        const path = `${context.req.path.replace(/^\/api\/v0/, "")}/`;
        const told = each.told?.(body);
        const change = { operation: each.id, path, name, told, perform };
        return await audited(change, authenticated, api);
      }
      const answer = await perform();
      if (list === undefined || isStream(answer)) return answer;
      const limit = Number(query.limit);
      return await visiblePage(list, { first: answer, limit, read: perform }, api);
    });
  }
  return app;
}

/** Tells whether the leader alone performs an operation. */
export function isOfLeader({ method, answeredBy }: Declaration): boolean {
  return (answeredBy ?? (method === "get" ? "any" : "leader")) === "leader";
}

/** Tells whether an answer is a stream of events. Its operation leaves out what a limited token may not see. */
function isStream({ headers }: Response): boolean {
  return headers.get("content-type") === STREAM_HEADERS["content-type"];
}

/** @throws {InvalidInputError} when a header has a schema and another value */
function checkHeaders({ headers = {} }: Operation, context: Context): void {
  for (const [name, schema] of Object.entries(headers)) {
    const value = context.req.header(name);
    if (typeof schema === "string" || value === undefined) continue;
    parseWith(schema, value, `the header ${name}`);
  }
}

/** @throws {InvalidInputError} when a POST has fields that its operation would not heed */
async function bodyOf(
  { body, method }: Operation,
  context: Context,
  { bodies }: Api,
): Promise<unknown> {
  if (body === undefined) {
    if (method !== "post") return undefined;
    return parseWith(nothing, await readOptionalJson(context, bodies) ?? {}, "the request");
  }
  const read = body.isOptional ? readOptionalJson : readJson;
  return await read(context, bodies, body.limit_bytes);
}

/** A path as Hono writes it, without a slash at its end. A parameter at the very end takes the rest of the path. */
function honoPath(path: string): string {
  return path.replace(/\{(\w+)\}$/, ":$1{[^]+}").replace(/\{(\w+)\}/g, ":$1").replace(/\/$/, "");
}
