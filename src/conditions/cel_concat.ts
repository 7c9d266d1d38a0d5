/**
 * Adding lists in CEL. The macros `map` and `filter` make their result by adding an element at a
 * time; the package nests such a list as deep as it is long, which takes the square of its length to
 * read and overflows the stack at some thousand elements.
 *
 * @module
 */
import {
  type CelFunc,
  celFunc,
  type CelList,
  celList,
  celListConcat,
  CelScalar,
  listType,
} from "@bufbuild/cel";

/** Longer chunks are never copied: `a + a` of something large costs nothing. */
const CHUNK_ELEMENTS_MAX = 65_536;
const LIST = listType(CelScalar.DYN);

const chunksOf = new WeakMap<CelList, readonly CelList[]>();

/** `list + list`, for the environment of an evaluation. */
export const concatLists: CelFunc = celFunc("_+_", [LIST, LIST], LIST, concat);

/**
 * Keeps a list as chunks of which each is longer than the next, so that there are few, and an
 * element is copied only as often as its chunk doubles.
 */
function concat(left: CelList, right: CelList): CelList {
  const chunks = [...chunksOf.get(left) ?? [left], right];
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
