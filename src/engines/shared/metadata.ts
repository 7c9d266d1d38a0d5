/**
 * Metadata: a line of stdout that is a JSON object is an event. The latest value of each key counts.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { parseJsonWithDigits } from "../../platform/text/exact_json.ts";
import { LINE_BYTES_MAX, shownPart, shownText } from "./log_format.ts";

const KEYS_MAX = 500;
const BYTES_MAX = 16 * 1024;
const EVENTS_BYTES_MAX = 16 * 1024 * 1024;
/** The most lines that are parsed. */
const LINES_MAX = 1_000_000;
/** Storing a value takes stack for each level. */
const DEPTH_MAX = 64;

const LINE_BREAK = 0x0a;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;

/** A string, which stays as it is, or a number of Python that JSON does not have. */
const TEXT_OR_NO_NUMBER = /"(?:[^"\\]|\\.)*"?|-?\bInfinity\b|\bNaN\b/g;

const TOO_MANY = `There is too much metadata: all after ${LINES_MAX} lines of it is left out`;
const TOO_MUCH = "There is too much metadata: some of it is left out";
const TOO_DEEP = `Metadata is left out that is nested deeper than ${DEPTH_MAX} levels`;
const NO_KEY = 'Metadata with the key "__proto__" is left out: expected another key';

/** The metadata of one execution. */
export class Metadata {
  readonly #latest = new Map<string, { value: unknown; bytes: number }>();
  #bytes = 0;
  #eventBytes = 0;
  /** The reasons why something was left out, as sentences without a full stop. */
  readonly leftOut = new Set<string>();
  /** The number of values that were taken in. */
  changes = 0;
  #lines = 0;

  /** @param given the metadata that the execution has at its start */
  constructor(given: Readonly<Record<string, unknown>> = {}) {
    for (const [key, value] of Object.entries(given)) {
      if (isWithin(value, DEPTH_MAX)) this.#set(key, value);
      else this.leftOut.add(TOO_DEEP);
    }
    this.changes = 0;
  }

  /**
   * Takes in a line.
   *
   * @param time the time at which it was read, RFC 3339
   * @returns the event as a JSON line to store; undefined when the line is no event, or there are too many
   */
  take(text: string, time: string): string | undefined {
    if (this.isFull || !isObjectText(text)) return undefined;
    if (++this.#lines >= LINES_MAX) this.leftOut.add(TOO_MANY);
    const event = parseObject(text);
    if (event === undefined) return undefined;
    if (!isWithin(event, DEPTH_MAX)) {
      this.leftOut.add(TOO_DEEP);
      return undefined;
    }
    for (const [key, value] of Object.entries(event)) this.#set(key, value);
    if (this.#eventBytes >= EVENTS_BYTES_MAX) return undefined;
    const line = `${JSON.stringify({ _time: time, ...event })}\n`;
    const bytes = Buffer.byteLength(line);
    if (this.#eventBytes + bytes > EVENTS_BYTES_MAX) {
      this.leftOut.add(TOO_MUCH);
      this.#eventBytes = EVENTS_BYTES_MAX;
      return undefined;
    }
    this.#eventBytes += bytes;
    return line;
  }

  /** True when further lines are ignored. */
  get isFull(): boolean {
    return this.#lines >= LINES_MAX;
  }

  /** Ignores all further lines, for a reason that is a sentence without a full stop. */
  end(reason: string): void {
    this.#lines = LINES_MAX;
    this.leftOut.add(reason);
  }

  /** The latest value of each key. */
  get latest(): Record<string, unknown> {
    return Object.fromEntries(Array.from(this.#latest, ([key, { value }]) => [key, value]));
  }

  #set(key: string, value: unknown): void {
    // In an object this key sets the prototype.
    if (key === "__proto__") return void this.leftOut.add(NO_KEY);
    const bytes = Buffer.byteLength(JSON.stringify([key, value]));
    const before = this.#latest.get(key);
    const total = this.#bytes - (before?.bytes ?? 0) + bytes;
    const isOneTooMany = before === undefined && this.#latest.size >= KEYS_MAX;
    if (isOneTooMany || total > BYTES_MAX) {
      this.leftOut.add(TOO_MUCH);
      return;
    }
    this.#latest.set(key, { value, bytes });
    this.#bytes = total;
    this.changes++;
  }
}

/**
 * Yields the texts of the lines in a chunk of stdout that may be JSON objects, and undefined for other lines
 * that have a brace: so a caller can pause however long the search takes.
 */
export function* objectLines(content: Uint8Array): Generator<string | undefined> {
  for (let start = 0; start < content.length;) {
    // A chunk without a brace, which most are, takes one native search.
    const brace = content.indexOf(OPENING_BRACE, start);
    if (brace === -1) return;
    const lineStart = content.lastIndexOf(LINE_BREAK, brace) + 1;
    const found = content.indexOf(LINE_BREAK, brace);
    const lineEnd = found === -1 ? content.length : found;
    const line = content.subarray(lineStart, lineEnd);
    yield mayBeObject(shownPart(line)) ? shownText(line) : undefined;
    start = lineEnd + 1;
  }
}

function mayBeObject(text: Uint8Array): boolean {
  if (text.length > LINE_BYTES_MAX) return false;
  let start = 0;
  let end = text.length;
  while (isSpace(text[start])) start++;
  while (end > start && isSpace(text[end - 1])) end--;
  return text[start] === OPENING_BRACE && text[end - 1] === CLOSING_BRACE;
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte !== undefined && byte >= 0x09 && byte <= 0x0d;
}

function isObjectText(text: string): boolean {
  return /^\s*\{.*\}\s*$/s.test(text);
}

function parseObject(text: string): Record<string, unknown> | undefined {
  return parse(text) ??
    parse(text.replace(TEXT_OR_NO_NUMBER, (found) => found.startsWith('"') ? found : "null"));
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const parsed = parseJsonWithDigits(text);
    // Each text that is parsed is one of an object.
    return parsed as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

/** Returns true if a value has at most a number of levels. */
function isWithin(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return levels > 0 && Object.values(value).every((inner) => isWithin(inner, levels - 1));
}
