/**
 * Finding the word that somebody meant.
 *
 * @module
 */

/** Longer words are not compared. */
const LENGTH_MAX = 64;
const BEGINNING_MIN = 3;

/** Returns the word that a misspelt one most likely stands for; undefined when none is near. */
function nearest(word: string, known: Iterable<string>): string | undefined {
  if (word.length > LENGTH_MAX) return undefined;
  const wanted = word.toLowerCase();
  let best: string | undefined;
  // A third of the letters may be wrong, and one of a short word.
  let best_distance = Math.max(1, Math.floor(word.length / 3)) + 1;
  for (const each of known) {
    if (Math.abs(each.length - word.length) >= best_distance) continue;
    const distance = distanceOf(wanted, each.toLowerCase());
    // A word of other letters altogether is not near, however short it is.
    if (distance >= Math.min(best_distance, each.length)) continue;
    best = each;
    best_distance = distance;
  }
  return best ?? onlyBeginning(wanted, known);
}

/** Returns the question after the word that somebody meant, as ` (did you mean port?)`; nothing where none is near. */
export function didYouMean(
  word: string,
  known: Iterable<string>,
  show = (meant: string): string => meant,
): string {
  const meant = nearest(word, known);
  return meant === undefined ? "" : ` (did you mean ${show(meant)}?)`;
}

/** Returns the only word that begins with a text. */
function onlyBeginning(text: string, known: Iterable<string>): string | undefined {
  if (text.length < BEGINNING_MIN) return undefined;
  const all = [...known].filter((each) => each.toLowerCase().startsWith(text));
  return all.length === 1 ? all[0] : undefined;
}

/** Returns the changes between two words: letters that are added, left out, replaced, or swapped with the next. */
function distanceOf(one: string, other: string): number {
  let before: number[] = [];
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let j = 1; j <= other.length; j++) {
      const isSame = one[i - 1] === other[j - 1];
      let least = Math.min(
        (row[j] ?? 0) + 1,
        (next[j - 1] ?? 0) + 1,
        (row[j - 1] ?? 0) + (isSame ? 0 : 1),
      );
      const isSwapped = i > 1 && j > 1 && one[i - 1] === other[j - 2] &&
        one[i - 2] === other[j - 1];
      if (isSwapped) least = Math.min(least, (before[j - 2] ?? 0) + 1);
      next.push(least);
    }
    [before, row] = [row, next];
  }
  return row[other.length] ?? 0;
}
