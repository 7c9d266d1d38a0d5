/**
 * Metadata: a line of stdout that is a JSON object is an event, and of each key the latest value
 * counts.
 *
 * @module
 */
import { Buffer } from "node:buffer";

const KEYS_MAX = 500;
const BYTES_MAX = 16 * 1024;
const EVENTS_BYTES_MAX = 16 * 1024 * 1024;
/** To store a value takes stack for each level. */
const DEPTH_MAX = 64;

/** A text, which stays as it is, or what Python writes for a number that JSON does not have. */
const TEXT_OR_NO_NUMBER = /"(?:[^"\\]|\\.)*"?|-?\bInfinity\b|\bNaN\b/g;

const TOO_MUCH = "There is too much metadata: some of it is left out";
const TOO_DEEP = `Metadata is left out that is nested deeper than ${DEPTH_MAX} levels`;
const NO_KEY = 'Metadata with the key "__proto__" is left out: expected another key';

/** The metadata of one execution. */
export class Metadata {
  readonly #latest = new Map<string, { value: unknown; bytes: number }>();
  #bytes = 0;
  #eventBytes = 0;
  /** Why something was left out: sentences without a full stop. */
  readonly leftOut = new Set<string>();
  /** How many values were taken in. */
  changes = 0;

  /**
   * Takes a line in.
   *
   * @param time when it was read, RFC 3339
   * @returns the event as a JSON line to be stored; undefined when the line is none, or there are too many
   */
  take(text: string, time: string): string | undefined {
    const event = parseObject(text);
    if (event === undefined) return undefined;
    if (!isWithin(event, DEPTH_MAX)) {
      this.leftOut.add(TOO_DEEP);
      return undefined;
    }
    for (const [key, value] of Object.entries(event)) this.#set(key, value);
    const line = `${JSON.stringify({ _time: time, ...event })}\n`;
    const bytes = Buffer.byteLength(line);
    if (this.#eventBytes + bytes > EVENTS_BYTES_MAX) {
      this.leftOut.add(TOO_MUCH);
      return undefined;
    }
    this.#eventBytes += bytes;
    return line;
  }

  /** The latest value of each key. */
  get latest(): Record<string, unknown> {
    return Object.fromEntries(Array.from(this.#latest, ([key, { value }]) => [key, value]));
  }

  #set(key: string, value: unknown): void {
    // To an object it is the name of something else.
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

/** Whether a line may be a JSON object. */
export function isObjectText(text: string): boolean {
  return /^\s*\{.*\}\s*$/s.test(text);
}

function parseObject(text: string): Record<string, unknown> | undefined {
  if (!isObjectText(text)) return undefined;
  return parse(text) ??
    parse(text.replace(TEXT_OR_NO_NUMBER, (found) => found.startsWith('"') ? found : "null"));
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether a value is nested no deeper than so many levels. */
function isWithin(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return levels > 0 && Object.values(value).every((inner) => isWithin(inner, levels - 1));
}
