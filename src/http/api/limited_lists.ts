/**
 * Lists for tokens that are limited to triggers or projects: without the records that they may not see, and with
 * cursors that tell nothing of these.
 *
 * @module
 */
import { InvalidInputError } from "../../platform/errors.ts";
import { type Access, refused, type TargetParts, visible } from "./access.ts";
import type { Api } from "./api.ts";

/** Time for which one request reads on, past records that the token may not see. */
const READ_ON_MS = 200;

/** A list that a limited token asks for. */
interface LimitedList {
  access: Access;
  /** The path of the operation. */
  path: string;
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
  { access, path }: LimitedList,
  { first, limit, read }: UnlimitedPages,
  parts: TargetParts & Pick<Api, "clock" | "cursors">,
): Promise<Response> {
  const [, kind = ""] = path.split("/");
  const see = (records: readonly object[]) => visible(access, { kind, records }, parts);
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
    next?.searchParams.set("cursor", parts.cursors.seal(cursor, ownerOf({ access, path })));
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

function ownerOf({ access: { id, name }, path }: LimitedList): string {
  return `${id ?? name} ${path}`;
}
