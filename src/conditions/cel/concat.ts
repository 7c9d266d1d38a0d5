/**
 * Adding lists in CEL. The macros `map` and `filter` make their result by adding an element at a
 * time; the package nests such a list as deep as it is long, which takes the square of its length to
 * read and overflows the stack at some thousand elements.
 *
 * @module
 */
import { type CelList, celList, celListConcat } from "@bufbuild/cel";

/** What goes through a list makes all of its elements at once, and `a + a` doubles for nothing. */
const ELEMENTS_MAX = 1_000_000;
/** Longer chunks are never copied: `a + a` of something large costs nothing. */
const CHUNK_ELEMENTS_MAX = 65_536;

const chunksOf = new WeakMap<CelList, readonly CelList[]>();

/**
 * `list + list`. Keeps a list as chunks of which each is longer than the next, so that there are
 * few, and an element is copied only as often as its chunk doubles.
 */
export function concatLists(left: CelList, right: CelList): CelList {
  if (left.size + right.size > ELEMENTS_MAX) {
    throw new Error(`a list of more than ${ELEMENTS_MAX} elements`);
  }
  const chunks = [...chunksOf.get(left) ?? [left], ...chunksOf.get(right) ?? [right]];
  for (;;) {
    const [before, last] = chunks.slice(-2);
    if (!before || !last || before.size > last.size) break;
    if (before.size + last.size > CHUNK_ELEMENTS_MAX) break;
    chunks.splice(-2, 2, celList([...before, ...last]));
  }
  const list = celListConcat(...chunks);
  chunksOf.set(list, chunks);
  return list;
}
