/**
 * The integers of a body that JavaScript's numbers do not hold. The schema package takes numbers alone, so each such
 * integer gets another number in its place that the schema cannot tell from it.
 *
 * @module
 */
import { isObject, mapValues } from "../../platform/objects.ts";
import { pointer } from "../../platform/schema/pointer.ts";
import { isInt64 } from "../../platform/text/exact_json.ts";
import { schemasIn } from "./keywords.ts";

/** Stands for a number that no double holds, such as 1e400. */
const BEYOND = 2n ** 64n;
/** Every multiple of it within 64 bits is a double. */
const DOUBLES_STEP = 1024n;

/** The numbers of a schema that a value is compared with. */
interface SchemaNumbers {
  /** All numbers in it, in no order. */
  bounds: readonly number[];
  /** The least integer that every `multipleOf` divides. */
  cycle: bigint;
}

/** Collects the numbers of a schema. */
export function numbersOf(schema: unknown): SchemaNumbers {
  const bounds = new Set<number>();
  collectNumbers(schema, bounds);
  const cycle = factorsOf(schema).reduce((one, other) => one / divisor(one, other) * other, 1n);
  return { bounds: [...bounds], cycle };
}

/**
 * Returns a value with numbers in place of its integers beyond 2^53. A number stands for the same integer
 * everywhere, for no other, is on the same side of each number of the schema, and has the same divisors among them.
 * A number beyond 64 bits, or one without such a number, is a bigint: the package takes none.
 */
export function withStandIns(value: unknown, numbers: SchemaNumbers): unknown {
  const taken = new Set(numbers.bounds);
  const large = new Set<bigint>();
  collectNumbers(value, taken, large);
  if (large.size === 0 && !taken.has(Infinity) && !taken.has(-Infinity)) return value;
  const standIns = new Map<bigint, number>();
  const nextTries = new Map<string, bigint>();
  for (const integer of large) {
    const found = isInt64(integer) ? standInOf(integer, numbers, { taken, nextTries }) : undefined;
    if (found !== undefined) standIns.set(integer, found);
  }
  return replaced(value, standIns);
}

/** Lists the places of the bigints in a value. */
export function placesOfBigints(value: unknown, at = ""): string[] {
  if (typeof value === "bigint") return [at];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, each]) => placesOfBigints(each, at + pointer(name)));
}

/** Lists the numbers in a value of JSON, and its bigints apart. */
function collectNumbers(value: unknown, numbers: Set<number>, large?: Set<bigint>): void {
  if (typeof value === "number") numbers.add(value);
  else if (typeof value === "bigint") large?.add(value);
  else if (typeof value === "object" && value !== null) {
    for (const inner of Object.values(value)) collectNumbers(inner, numbers, large);
  }
}

/** Returns a number that stands for an integer; undefined where there is none. */
function standInOf(
  integer: bigint,
  { bounds, cycle }: SchemaNumbers,
  { taken, nextTries }: { taken: Set<number>; nextTries: Map<string, bigint> },
): number | undefined {
  const nearest = Number(integer);
  if (taken.has(nearest) && BigInt(nearest) === integer) return nearest;
  let below = -Infinity;
  let above = Infinity;
  // JavaScript compares the two exactly.
  for (const bound of bounds) {
    if (bound < integer) below = Math.max(below, bound);
    else above = Math.min(above, bound);
  }
  const isUp = Number.isFinite(below);
  const edge = isUp ? Math.floor(below) + 1 : Math.min(Math.ceil(above) - 1, 0);
  const isSafe = Number.isSafeInteger(edge);
  // Doubles beyond 2^53 are even.
  if (!isSafe && cycle !== 1n) return undefined;
  const step = (isSafe ? cycle : DOUBLES_STEP) * (isUp ? 1n : -1n);
  const first = isSafe
    ? BigInt(edge) + (integer - BigInt(edge)) % step
    : BigInt(isUp ? below : above) / DOUBLES_STEP * DOUBLES_STEP + step;
  const place = `${first} ${step}`;
  let candidate = nextTries.get(place) ?? first;
  while (taken.has(Number(candidate))) candidate += step;
  nextTries.set(place, candidate + step);
  const number = Number(candidate);
  taken.add(number);
  return number > below && number < above && BigInt(number) === candidate ? number : undefined;
}

function replaced(value: unknown, standIns: ReadonlyMap<bigint, number>): unknown {
  if (typeof value === "bigint") return standIns.get(value) ?? value;
  if (value === Infinity || value === -Infinity) return BEYOND;
  if (Array.isArray(value)) return value.map((each) => replaced(each, standIns));
  if (!isObject(value)) return value;
  return mapValues(value, (each) => replaced(each, standIns));
}

/** Lists the integers that divide exactly the integers that are multiples of a `multipleOf`. */
function factorsOf(schema: unknown): bigint[] {
  if (!isObject(schema)) return [];
  const own = typeof schema.multipleOf === "number" ? [numerator(schema.multipleOf)] : [];
  return [...own, ...schemasIn(schema).flatMap((place) => factorsOf(place.schema))];
}

/** Returns the numerator of a positive number as a fraction in lowest terms: of 2.5 it is 5. */
function numerator(number: number): bigint {
  const [digits = "", exponent = "0"] = String(number).split("e");
  const [whole = "", decimals = ""] = digits.split(".");
  const power = Number(exponent) - decimals.length;
  const scale = 10n ** BigInt(Math.abs(power));
  const top = BigInt(whole + decimals);
  return power < 0 ? top / divisor(top, scale) : top * scale;
}

/** Returns the greatest common divisor of two positive integers. */
function divisor(one: bigint, other: bigint): bigint {
  return other === 0n ? one : divisor(other, one % other);
}
