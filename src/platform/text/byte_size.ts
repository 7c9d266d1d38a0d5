/**
 * Sizes as text, such as `16MiB`.
 *
 * @module
 */

const FACTORS: Readonly<Record<string, number>> = { k: 2 ** 10, m: 2 ** 20, g: 2 ** 30 };

/** Reads a size such as `16MiB`, `500k` or `1048576`, in bytes; NaN for another text. */
export function parseByteSize(text: string): number {
  const match = /^(\d{1,12})\s*(k|m|g)?(i?b)?$/i.exec(text.trim());
  return match ? Number(match[1]) * (FACTORS[match[2]?.toLowerCase() ?? ""] ?? 1) : NaN;
}
