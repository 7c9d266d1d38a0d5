/**
 * Corrections of the CEL package where it differs from the language (cel-spec, doc/langdef.md): the texts
 * that its conversions accept, and the time zone of its getters.
 *
 * @module
 */
import { celEnv, celError, type CelFunc, CelScalar, celType } from "@bufbuild/cel";
import { parseTimestamp } from "../freshness.ts";

const { INT, STRING } = CelScalar;
const TIMESTAMP = "google.protobuf.Timestamp";
/** A timestamp lies between the first second of the year 1 and the last one of the year 9999. */
const YEAR_1_S = -62_135_596_800n;
const YEAR_9999_S = 253_402_300_799n;

const WHOLE = /^[+-]?\d+$/;
const NATURAL = /^\d+$/;
const DECIMAL = /^[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|Infinity)$|^NaN$/;

/** The package reads an empty text as 0, and the 30th of February as the 2nd of March. */
const isReadable: Readonly<Record<string, (text: string) => boolean>> = {
  int: (text) => WHOLE.test(text),
  uint: (text) => NATURAL.test(text),
  double: (text) => DECIMAL.test(text),
  duration: (text) => /\d/.test(text),
  timestamp: (text) => parseTimestamp(text, "rfc3339") !== undefined,
};

/** The package counts in the time zone of the process, in which some hours of UTC do not exist. */
const getters: Readonly<Record<string, (time: Temporal.ZonedDateTime) => number>> = {
  getDate: ({ day }) => day,
  getDayOfMonth: ({ day }) => day - 1,
  getDayOfWeek: ({ dayOfWeek }) => dayOfWeek % 7,
  getDayOfYear: ({ dayOfYear }) => dayOfYear - 1,
  getFullYear: ({ year }) => year,
  getHours: ({ hour }) => hour,
  getMilliseconds: ({ millisecond }) => millisecond,
  getMinutes: ({ minute }) => minute,
  getMonth: ({ month }) => month - 1,
  getSeconds: ({ second }) => second,
};

type Call = CelFunc["call"];

const toText = celEnv().funcs.find("string");

/** Returns a function as the language defines it. */
export function corrected(func: CelFunc): CelFunc {
  const call = callOf(func);
  // The package tells a function by a symbol of its own, which comes with the prototype.
  return call ? Object.create(func, { call: { value: call } }) : func;
}

function callOf(func: CelFunc): Call | undefined {
  if (func.target?.name === TIMESTAMP) return getterCall(func);
  if (func.name === "timestamp" && func.arguments.includes(INT)) return secondsCall(func);
  return func.arguments.includes(STRING) ? textCall(func) : undefined;
}

function textCall(func: CelFunc): Call | undefined {
  const isRight = isReadable[func.name];
  return isRight && ((id, target, args) => {
    const [text] = args;
    return typeof text === "string" && !isRight(text)
      ? celError(`${func.name}() cannot read ${JSON.stringify(text)}`, id)
      : func.call(id, target, args);
  });
}

/** `timestamp(int)` counts seconds (google/cel-spec#224), for which the package takes milliseconds. */
function secondsCall(func: CelFunc): Call {
  return (id, target, [seconds, ...others]) => {
    if (typeof seconds !== "bigint") return undefined;
    if (seconds < YEAR_1_S || seconds > YEAR_9999_S) return celError("timestamp out of range", id);
    return func.call(id, target, [seconds * 1000n, ...others]);
  };
}

function getterCall(func: CelFunc): Call | undefined {
  const get = getters[func.name];
  return get && ((id, target, args) => {
    const [zone = "UTC"] = args;
    if (target === undefined || celType(target).name !== TIMESTAMP) return undefined;
    if (args.length !== func.arguments.length || typeof zone !== "string") return undefined;
    const time = Temporal.Instant.from(String(toText?.call(id, undefined, [target])));
    try {
      // An offset may come without its sign.
      return BigInt(get(time.toZonedDateTimeISO(zone.replace(/^(?=\d\d:)/, "+"))));
    } catch {
      return celError(`Unknown time zone ${JSON.stringify(zone)}`, id);
    }
  });
}
