/**
 * Lists for tokens that are limited to triggers or projects: without the records that they may not see, and with
 * cursors that tell nothing of these.
 *
 * @module
 */
import { InvalidInputError } from "../../platform/errors.ts";
import { type Access, refused } from "./access.ts";
import type { Api } from "./api.ts";
import type { Declaration } from "./declaration.ts";
import { kindOf, type RecordKind, type Records } from "./records.ts";

/** Time for which one request reads on, past records that the token may not see. */
const READ_ON_MS = 200;

/** A list that a limited token asks for. */
interface LimitedList {
  access: Access;
  records: Pick<Records, "visible" | "visibleOfTrigger">;
  /** The path of the operation. */
  path: string;
  /** The kind of its records. */
  kind: RecordKind;
  /** The trigger whose records it lists; undefined when they name theirs. */
  triggerId?: string | undefined;
}

/**
 * Returns the list that an operation reads: of records of a kind, or of one trigger. Undefined for what is no list
 * of records, such as a log, which belongs to its execution.
 */
export function limitedList(
  { method, path, query }: Pick<Declaration, "method" | "path" | "query">,
  { access, records, params }: Pick<LimitedList, "access" | "records"> & {
    params: Readonly<Record<string, string>>;
  },
): LimitedList | undefined {
  const kind = kindOf(path);
  if (method !== "get" || kind === undefined) return undefined;
  if (!path.includes("{")) return { access, records, path, kind };
  const isBelowTrigger = kind === "triggers" && Object.hasOwn(query?.shape ?? {}, "cursor");
  if (!isBelowTrigger) return undefined;
  return { access, records, path, kind: "runs", triggerId: params.id };
}

/** A page of all records, and the reader of what follows. */
interface UnlimitedPages {
  first: Response;
  /** The most records of a page. */
  limit: number;
  read(page: { cursor: string; limit: number }): Promise<Response>;
}

/**
 * Makes a page of the records that a token may see. It holds fewer than the limit, or none, where they are far
 * between: then `next` goes on.
 *
 * @throws {ForbiddenError} when the answer is no list of records that could be checked
 */
export async function visiblePage(
  list: LimitedList,
  { first, limit, read }: UnlimitedPages,
  parts: Pick<Api, "clock" | "cursors">,
): Promise<Response> {
  const { access, records, kind, triggerId } = list;
  const see = (found: readonly object[]) =>
    triggerId === undefined
      ? records.visible(kind, found)
      : records.visibleOfTrigger(triggerId, found);
  const until_ms = parts.clock.steady() + READ_ON_MS;
  const results: object[] = [];
  const omitted: object[] = [];
  for (let answer = first;;) {
    const isJson = answer.headers.get("content-type")?.startsWith("application/json") ?? false;
    const page = isJson ? await answer.json() : {};
    if (!Array.isArray(page.results)) throw refused(access);
    results.push(...await see(page.results));
    omitted.push(...await see(page.omitted ?? []));
    const next = page.next === null ? undefined : new URL(page.next);
    const cursor = next?.searchParams.get("cursor") ?? "";
    if (cursor !== "" && results.length < limit && parts.clock.steady() < until_ms) {
      answer = await read({ cursor, limit: limit - results.length });
      continue;
    }
    next?.searchParams.set("cursor", parts.cursors.seal(cursor, ownerOf(list)));
    return Response.json({
      ...page,
      results,
      next: next?.href ?? null,
      ...("omitted" in page && { omitted }),
    });
  }
}

/**
 * Opens the cursor that a limited token has sent; undefined for the first page.
 *
 * @throws {InvalidInputError} when the token did not get it with this list
 */
export function openCursor(
  sent: string | undefined,
  list: LimitedList,
  { cursors }: Pick<Api, "cursors">,
): string | undefined {
  if (sent === undefined || sent === "") return undefined;
  const cursor = cursors.open(sent, ownerOf(list));
  if (cursor !== undefined) return cursor;
  const detail = "Expected the cursor of a next page that came since the service has started";
  throw new InvalidInputError("the query", [{ pointer: "/cursor", detail }]);
}

function ownerOf({ access: { id, name }, path, triggerId = "" }: LimitedList): string {
  return `${id ?? name} ${path} ${triggerId}`;
}
