/**
 * Header names that are near to each other.
 *
 * @module
 */

/** More changes make another name. */
const CHANGES_MAX = 2;
/** Shorter names are near to too many others. */
const CHARACTERS_MIN = 6;

/** Finds the header of a request whose name is nearest to a name that is missing. */
export function nearHeader(headers: Headers, missing: string): string | undefined {
  let nearest: { name: string; distance: number } | undefined;
  for (const name of headers.keys()) {
    const distance = distanceOf(name, missing.toLowerCase());
    if (distance < (nearest?.distance ?? Infinity)) nearest = { name, distance };
  }
  return nearest?.name;
}

/** Returns the number of changes between two names; Infinity where they are not near. */
function distanceOf(a: string, b: string): number {
  if (Math.min(a.length, b.length) < CHARACTERS_MIN) return a === b ? 0 : Infinity;
  const [plainA, plainB] = [plain(a), plain(b)];
  if (plainA === plainB) return 0.5;
  const distance = editDistance(plainA, plainB);
  if (distance <= CHANGES_MAX) return distance;
  return plainA.startsWith(plainB) || plainB.startsWith(plainA) ? CHANGES_MAX + 1 : Infinity;
}

/** Senders and proxies change `-` and `_`, and drop `X-`. */
function plain(name: string): string {
  return name.replace(/^x-/, "").replaceAll(/[-_]/g, "");
}

/** Levenshtein distance. */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1];
      const replaced = (previous[j - 1] ?? Infinity) + (isSame ? 0 : 1);
      row.push(Math.min(replaced, (previous[j] ?? Infinity) + 1, (row[j - 1] ?? Infinity) + 1));
    }
    previous = row;
  }
  return previous[b.length] ?? Infinity;
}
