/**
 * ECDSA signatures over P-256 in their two forms: ASN.1 DER (RFC 3279 section 2.2.3) and r and s
 * side by side, 32 bytes each (IEEE P1363).
 *
 * @module
 */
const NUMBER_BYTES = 32;
const SEQUENCE = 0x30;
const INTEGER = 0x02;

/**
 * From DER to r and s. Answers undefined for what is not exactly DER: another length, a number that
 * is negative, too large or longer than it must be, or bytes behind the end.
 */
export function derToRaw(der: Uint8Array): Uint8Array | undefined {
  if (der[0] !== SEQUENCE || der[1] !== der.length - 2) return undefined;
  const r = readInteger(der, 2);
  const s = r && readInteger(der, r.end);
  if (r === undefined || s === undefined || s.end !== der.length) return undefined;
  const raw = new Uint8Array(2 * NUMBER_BYTES);
  raw.set(r.bytes, NUMBER_BYTES - r.bytes.length);
  raw.set(s.bytes, 2 * NUMBER_BYTES - s.bytes.length);
  return raw;
}

/** From r and s to DER. */
export function rawToDer(raw: Uint8Array): Uint8Array {
  const numbers = [raw.subarray(0, NUMBER_BYTES), raw.subarray(NUMBER_BYTES)].flatMap((number) => {
    const first = number.findIndex((byte) => byte !== 0);
    const bytes = first === -1 ? [0] : [...number.subarray(first)];
    const positive = (bytes[0] ?? 0) >= 0x80 ? [0, ...bytes] : bytes;
    return [INTEGER, positive.length, ...positive];
  });
  return Uint8Array.from([SEQUENCE, numbers.length, ...numbers]);
}

/** Reads a positive integer in its shortest form, without the zero that keeps it positive. */
function readInteger(
  der: Uint8Array,
  at: number,
): { bytes: Uint8Array; end: number } | undefined {
  const length = der[at + 1] ?? 0;
  const end = at + 2 + length;
  const bytes = der.subarray(at + 2, end);
  const [first = 0, second = 0] = bytes;
  if (der[at] !== INTEGER || length === 0 || bytes.length !== length) return undefined;
  if (first >= 0x80 || (first === 0 && length > 1 && second < 0x80)) return undefined;
  const significant = first === 0 ? bytes.subarray(1) : bytes;
  return significant.length > NUMBER_BYTES ? undefined : { bytes: significant, end };
}
