/**
 * Masks secrets in what a command prints: as they are, and in the usual encodings. It keeps a secret out of a log by
 * mistake, and is no protection from a step that means to tell it.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { secretForms } from "./secret_forms.ts";

const MASK = Buffer.from("********");
/** Two bytes find the forms that may begin at a place. */
const PAIRS = 65_536;

/** Masks the secrets of one execution. */
export class SecretMasker {
  /** By their first two bytes, the longest first. */
  readonly #forms = new Map<number, Buffer[]>();
  readonly #isStart = new Uint8Array(PAIRS);

  /** @param secrets texts, which may have several lines */
  constructor(secrets: readonly string[]) {
    const forms = new Map(
      secrets.flatMap(secretForms).map((form) => [form.toString("latin1"), form]),
    );
    for (const form of [...forms.values()].sort((one, other) => other.length - one.length)) {
      const pair = pairAt(form, 0);
      this.#isStart[pair] = 1;
      this.#forms.getOrInsertComputed(pair, () => []).push(form);
    }
  }

  /**
   * Returns some lines with a mask in place of each secret. What is next to each other gets one mask.
   *
   * @param isCut true when the end of the last line was cut off: the start of a secret there is masked, too
   * @returns the same bytes where there is nothing to mask. Never more bytes
   */
  mask(content: Uint8Array, { isCut = false } = {}): Uint8Array {
    const found = this.#find(content);
    if (isCut) {
      const start = this.#startedAtEnd(content, found.at(-1)?.end ?? 0);
      if (start !== undefined) add(found, { start, end: endOfText(content) });
    }
    return found.length === 0 ? content : masked(content, found);
  }

  #find(content: Uint8Array): Range[] {
    const found: Range[] = [];
    const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
    for (let at = 0; at + 1 < bytes.length;) {
      const pair = pairAt(bytes, at);
      const form = this.#isStart[pair] === 1 ? this.#formAt(bytes, at, pair) : undefined;
      if (form === undefined) at++;
      else {
        add(found, { start: at, end: at + form.length });
        at += form.length;
      }
    }
    return found;
  }

  #formAt(bytes: Buffer, at: number, pair: number): Buffer | undefined {
    return this.#forms.get(pair)?.find((form) =>
      at + form.length <= bytes.length &&
      bytes.compare(form, 0, form.length, at, at + form.length) === 0
    );
  }

  /** Returns where a secret begins whose rest was cut off, behind what was found. */
  #startedAtEnd(content: Uint8Array, after: number): number | undefined {
    const end = endOfText(content);
    const bytes = Buffer.from(content.buffer, content.byteOffset, end);
    const forms = [...this.#forms.values()].flat();
    const longest = Math.max(0, ...forms.map(({ length }) => length - 1));
    for (let at = Math.max(after, end - longest); at < end; at++) {
      const rest = bytes.subarray(at);
      const isStart = forms.some((form) =>
        form.length > rest.length && form.compare(rest, 0, rest.length, 0, rest.length) === 0
      );
      if (isStart) return at;
    }
    return undefined;
  }
}

/** A part of some bytes. */
interface Range {
  start: number;
  end: number;
}

/** Adds a range. One that begins where the last ends makes that longer. */
function add(ranges: Range[], range: Range): void {
  const last = ranges.at(-1);
  if (last?.end === range.start) last.end = range.end;
  else ranges.push(range);
}

function masked(content: Uint8Array, found: readonly Range[]): Uint8Array {
  const parts: Uint8Array[] = [];
  let at = 0;
  for (const { start, end } of found) {
    // The start of a secret may be shorter than the mask.
    parts.push(content.subarray(at, start), MASK.subarray(0, end - start));
    at = end;
  }
  return Buffer.concat([...parts, content.subarray(at)]);
}

/** Returns the place of the line break at the end, or the length where there is none. */
function endOfText(content: Uint8Array): number {
  return content.at(-1) === 0x0a ? content.length - 1 : content.length;
}

function pairAt(bytes: Uint8Array, at: number): number {
  return (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8);
}
