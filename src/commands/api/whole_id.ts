/**
 * Ids on the command line, of which a unique beginning suffices.
 *
 * @module
 */
import { InvalidArgumentError } from "commander";
import { InvalidInputError, NotFoundError } from "../../platform/errors.ts";
import { isId } from "../../platform/ids.ts";
import type { ApiClient } from "./client.ts";
import { clientOf } from "./options.ts";

const BEGINNING_MIN = 4;
/** The greatest id. */
const LAST = "ffffffff-ffff-ffff-ffff-ffffffffffff";
/** The names of what lists hold. */
const NOUNS = {
  executions: "execution",
  pipelines: "pipeline",
  runs: "run",
  deliveries: "delivery",
  replays: "replay",
  notifications: "notification",
} as const;

/** A list of the API whose elements are sorted by their ids, newest first. */
type List = keyof typeof NOUNS;

/** Reads an id or its beginning. */
export function idBeginning(text: string): string {
  if (text.length >= BEGINNING_MIN && isId(padded(text))) return text;
  throw new InvalidArgumentError(
    `Expected an id, such as 01900000-0000-7000-8000-000000000000, or the first ${BEGINNING_MIN} or ` +
      "more characters of one; the lists show them.",
  );
}

/** Makes the action of a command for the one element whose id begins with its first argument. */
export function withId<Options extends { url: string }>(
  list: List,
  action: (id: string, options: Options) => Promise<void>,
): (text: string, options: Options) => Promise<void> {
  return async (text, options) => {
    // What needs no search needs no token: the command itself says that it has none.
    await action(isId(text) ? text : await wholeId(clientOf(options.url), list, text), options);
  };
}

/**
 * Finds the one id with a beginning.
 *
 * @throws {NotFoundError} when there is none
 * @throws {InvalidInputError} when there are several
 */
export async function wholeId(api: ApiClient, list: List, text: string): Promise<string> {
  if (isId(text)) return text;
  const found: string[] = [];
  // They come newest first, so those with the beginning come first, and together.
  for await (
    const { id } of api.each<{ id: string }>(`${list}/`, { query: { cursor: padded(text) } })
  ) {
    if (!id.startsWith(text)) break;
    found.push(id);
    if (found.length > 1) break;
  }
  const [only, other] = found;
  if (only === undefined) {
    throw new NotFoundError(`There is no ${NOUNS[list]} whose id begins with ${text}`);
  }
  if (other === undefined) return only;
  throw new InvalidInputError(
    `the id of the ${NOUNS[list]}`,
    `Expected the beginning of one id, found several with ${text}, such as ${only} and ${other}`,
  );
}

/** Returns the greatest id with a beginning. */
function padded(text: string): string {
  return text + LAST.slice(text.length);
}
