/**
 * The strength of a trigger's secrets, by one rule for literals, variables and files: a short one gets a warning, and
 * one that can be guessed is not saved. Those that are stored already go on working.
 *
 * @module
 */
import type { SecretForm } from "../conditions/condition.ts";
import { secretFormOf } from "../conditions/mod.ts";
import { SECRET_MASK, secretEnd_ms } from "../conditions/secret.ts";
import { InvalidInputError, type Problem } from "../platform/errors.ts";
import { mapLiterals } from "./secrets.ts";
import type { TriggerSettings } from "./trigger.ts";
import { sourcesOf } from "./variables.ts";
import { GUESSABLE_SECRET } from "./weakness.ts";

/** A shorter secret is not saved. */
const LENGTH_MIN = 8;
/** A shorter secret gets a warning. Providers' own secrets are longer, and so is an operator's token. */
const LENGTH_ADVISED = 16;

/** The parts of a trigger that hold secrets. */
type Holder = Pick<TriggerSettings, "conditions" | "handshakes">;
type Env = (name: string) => string | undefined;

/** A secret with a flaw. */
interface Flaw extends Problem {
  /** The secret as it is written. */
  secret: string;
  isLiteral: boolean;
  /** The flaw forbids to save it. */
  isRefused: boolean;
}

/** Returns warnings about secrets that are in variables and files, each with a pointer into the trigger. */
export function secretWarnings(holder: Holder, env: Env): Problem[] {
  return flawsIn(holder, env).filter(({ isLiteral }) => !isLiteral).map(problemOf);
}

/**
 * Checks the secrets of a trigger that is to be saved.
 *
 * @param stored the trigger that is replaced: what is weak in it may stay, so that it can be changed while its
 * sender still has it
 * @returns warnings about literals, which can be looked at only now
 * @throws {InvalidInputError} when one of them is too weak
 */
export function checkSecrets(holder: Holder, stored: Holder | undefined, env: Env): Problem[] {
  const keyOf = ({ detail, secret }: Flaw) => `${detail} ${secret}`;
  const known = new Set(stored && flawsIn(stored, env).map(keyOf));
  const flaws = flawsIn(holder, env);
  const refused = flaws.filter((flaw) => flaw.isRefused && !known.has(keyOf(flaw)));
  if (refused.length > 0) throw new InvalidInputError("the trigger", refused.map(problemOf));
  return flaws.filter(({ isLiteral }) => isLiteral).map(problemOf);
}

/** Warns of conditions whose secrets have all ended: they refuse every request. */
export function endedWarnings({ conditions }: Holder, now_ms: number): Problem[] {
  return conditions.flatMap((condition, index) =>
    "secrets" in condition && condition.secrets?.every((each) => secretEnd_ms(each) <= now_ms)
      ? [{
        pointer: `/conditions/${index}/secrets`,
        detail: "Match nothing: all have ended, by their `until`",
      }]
      : []
  );
}

function flawsIn({ conditions, handshakes }: Holder, env: Env): Flaw[] {
  const forms = conditions.map(secretFormOf);
  const formAt = (pointer: string): SecretForm =>
    forms[Number(/^\/conditions\/(\d+)\//.exec(pointer)?.[1])] ?? {};
  const flaws: Flaw[] = [];
  mapLiterals({ conditions, handshakes }, (secret, pointer) => {
    // A mask tells nothing of its secret.
    const found = secret === SECRET_MASK ? [] : flawsOf("It", secret, formAt(pointer));
    flaws.push(...found.map((flaw) => ({ ...flaw, pointer, secret, isLiteral: true })));
    return secret;
  });
  for (const { pointer, written, place, text } of sourcesOf({ conditions, handshakes }, env)) {
    const found = text === undefined
      ? missing(place)
      : flawsOf(`The service's ${place}`, text, formAt(pointer));
    flaws.push(...found.map((flaw) => ({ ...flaw, pointer, secret: written, isLiteral: false })));
  }
  return flaws;
}

type Finding = Pick<Flaw, "detail" | "isRefused">;

function missing(place: string): Finding[] {
  const why = place.startsWith("file ") ? "cannot be read, or is empty" : "is not set, or empty";
  return [{ detail: `Matches nothing: the service's ${place} ${why}`, isRefused: false }];
}

function flawsOf(what: string, text: string, form: SecretForm): Finding[] {
  const detail = `${what} begins or ends with white space, as of a line's end: it counts`;
  const weak = weaknessOf(what, text, form);
  return [
    ...(text === text.trim() ? [] : [{ detail, isRefused: false }]),
    ...(weak ? [weak] : []),
  ];
}

/** Says how a secret can be guessed; undefined where it cannot. */
function weaknessOf(what: string, text: string, { need, decode }: SecretForm): Finding | undefined {
  const bytes = decode?.(text) ?? new TextEncoder().encode(text);
  const refused = (expected: string, found: number, isRefused = true) => ({
    detail: `${what} ${GUESSABLE_SECRET} ${expected} or more, found ${found}`,
    isRefused,
  });
  if (need !== undefined && bytes.length < need.bytes) {
    return refused(`the ${need.bytes} bytes of ${need.by}`, bytes.length);
  }
  // Of an encoded secret, the characters say less than what they stand for.
  const length = Math.min(text.length, bytes.length);
  if (length < LENGTH_MIN) return refused(`${LENGTH_MIN} characters`, length);
  return length < LENGTH_ADVISED
    ? refused(`${LENGTH_ADVISED} characters`, length, false)
    : undefined;
}

function problemOf({ pointer, detail }: Flaw): Problem {
  return { pointer, detail };
}
