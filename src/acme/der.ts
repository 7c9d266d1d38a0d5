/**
 * Writes DER (ITU-T X.690), as much of it as requests for certificates need.
 *
 * @module
 */
import { joinedBytes } from "../platform/joined_bytes.ts";

const encoder = new TextEncoder();

/** Writes a value with its tag and length. */
export function der(tag: number, ...content: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const length = content.reduce((sum, part) => sum + part.length, 0);
  return joinedBytes([Uint8Array.of(tag, ...lengthBytes(length)), ...content]);
}

/** Writes a SEQUENCE. */
export function sequence(...content: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  return der(0x30, ...content);
}

/** Writes an OCTET STRING. */
export function octets(content: Uint8Array): Uint8Array<ArrayBuffer> {
  return der(0x04, content);
}

/** Writes a BIT STRING of whole bytes. */
export function bits(content: Uint8Array): Uint8Array<ArrayBuffer> {
  return der(0x03, Uint8Array.of(0), content);
}

/** Writes an INTEGER that is not negative. */
export function integer(content: Uint8Array): Uint8Array<ArrayBuffer> {
  const isNegative = (content[0] ?? 0) >= 0x80;
  return isNegative ? der(0x02, Uint8Array.of(0), content) : der(0x02, content);
}

/** Writes an OBJECT IDENTIFIER such as `2.5.29.17`. */
export function objectId(dotted: string): Uint8Array<ArrayBuffer> {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  return der(0x06, Uint8Array.from([40 * first + second, ...rest.flatMap(base128)]));
}

/** Writes a UTCTime, for years until 2049. */
export function utcTime(time_ms: number): Uint8Array<ArrayBuffer> {
  const digits = new Date(time_ms).toISOString().replaceAll(/[-:T]/g, "").slice(2, 14);
  return der(0x17, encoder.encode(`${digits}Z`));
}

function lengthBytes(length: number): number[] {
  if (length < 0x80) return [length];
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest >>>= 8) bytes.unshift(rest & 0xff);
  return [0x80 | bytes.length, ...bytes];
}

function base128(number: number): number[] {
  const bytes = [number & 0x7f];
  for (let rest = number >>> 7; rest > 0; rest >>>= 7) bytes.unshift(0x80 | (rest & 0x7f));
  return bytes;
}
