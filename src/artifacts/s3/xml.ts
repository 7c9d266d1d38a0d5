/**
 * Reading the XML of S3: flat answers, of which a few elements are needed.
 *
 * @module
 */

const ENTITIES: Readonly<Record<string, string>> = {
  amp: "&",
  apos: "'",
  gt: ">",
  lt: "<",
  quot: '"',
};

/** Returns the text of the first element of a name; undefined when there is none. */
export function valueOf(xml: string, name: string): string | undefined {
  return valuesOf(xml, name).next().value ?? undefined;
}

/** Yields the texts of all elements of a name. */
export function* valuesOf(xml: string, name: string): Generator<string, undefined> {
  for (const [, text = ""] of xml.matchAll(new RegExp(`<${name}>([^<]*)</${name}>`, "g"))) {
    yield text.replaceAll(/&(?:#(\d+)|#x([\da-f]+)|(\w+));/gi, decoded);
  }
}

/** Escapes a text for an element. */
export function escaped(text: string): string {
  return text.replaceAll(/[&<>]/g, (mark) => `&#${mark.charCodeAt(0)};`);
}

function decoded(written: string, decimal?: string, hex?: string, name?: string): string {
  if (decimal !== undefined) return String.fromCodePoint(Number(decimal));
  if (hex !== undefined) return String.fromCodePoint(parseInt(hex, 16));
  return ENTITIES[name ?? ""] ?? written;
}
