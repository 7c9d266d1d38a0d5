/**
 * Texts that people take for each other.
 *
 * @module
 */

/** Letters of Cyrillic and Greek, in lower case, that look like Latin ones in lower or upper case. */
const LATIN: ReadonlyMap<string, string> = new Map(
  Array.from(
    "аaвbеeкkмmнhоoрpсcтtуyхxіiјjѕsһhӏlԁdԛqԝwαaβbεeζzηhιiκkμmνnοoρpςστtυyχxϳj".matchAll(
      /(.)(.)/gu,
    ),
    ([, letter = "", latin = ""]) => [letter, latin],
  ),
);

/** Returns a text that is the same for names that differ in case, in form, or in letters that look alike alone. */
export function likenessOf(name: string): string {
  // German's ß has no other upper case than SS.
  const folded = name.normalize("NFKC").toUpperCase().toLowerCase().normalize("NFKC");
  return Array.from(folded, (letter) => LATIN.get(letter) ?? letter).join("");
}
