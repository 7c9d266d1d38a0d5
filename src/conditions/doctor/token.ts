/**
 * The diagnosis of the condition `static_token`.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { hash } from "node:crypto";
import { withoutPrefix } from "../authorization.ts";
import { bytesOf, type Field, readCredentials } from "../field.ts";
import { isAnyOf } from "../secret.ts";
import { basicOf, type StaticTokenSettings, type TokenPlace, tokenPlace } from "../static_token.ts";
import { type DiagnosisContext, type KnownSecret, knownSecrets } from "./context.ts";
import { type Clue, likely, matching } from "./finding.ts";
import {
  basicCredentials,
  credentialsIn,
  inSentence,
  missingSentence,
  settingsOf,
  textsElsewhere,
} from "./places.ts";
import { differenceOf, type Reading, readingsOf } from "./secret_readings.ts";

/** A token is compared as text. */
const AS_TEXT = { algorithm: "sha256", key_encoding: "utf8", key_prefix: "" } as const;
const SHOWN_PREFIX = /^(?:Basic|Bearer|Token|ApiKey|Api-Key|Key|Secret)[ =:]+/i;

/** Finds the reading of a secret that a token is. */
type FindReading = (bytes: Uint8Array) => Reading | undefined;

/** Diagnoses a token that is refused. */
export async function diagnoseToken(
  settings: StaticTokenSettings,
  context: DiagnosisContext,
): Promise<Clue[]> {
  const { request, budget } = context;
  const place = tokenPlace(settings);
  const own = readingFinder(knownSecrets(settings.secrets, context));
  const texts = readCredentials(request, place);
  const basic = basicOf(settings);
  const found = await budget.spend(() =>
    basic === undefined
      ? inPlace(texts, place, own) ?? elsewhere(context, place, own)
      : inBasic(texts, basic, own) ?? elsewhere(context, place, own)
  );
  if (found !== undefined) return [found];
  const others = readingFinder(await context.otherSecrets());
  const foreign = await budget.spend(() => inPlace(texts, place, others));
  return foreign === undefined ? [unknown(settings, texts, context)] : [foreign];
}

function readingFinder(secrets: readonly KnownSecret[]): FindReading {
  const readings = secrets.flatMap((secret) => [
    ...readingsOf(secret, AS_TEXT, false),
    hashed(secret),
  ]);
  return (bytes) => readings.find((reading) => isAnyOf(bytes, [reading.bytes]));
}

function hashed({ text, difference }: KnownSecret): Reading {
  return {
    ...(difference !== undefined && { secretDifference: difference }),
    bytes: new TextEncoder().encode(hash("sha256", text)),
    what: "the SHA-256 of the secret",
    advice: "let the sender send the secret itself",
  };
}

/** The token is where it belongs, with another prefix or as another reading of the secret. */
function inPlace(texts: readonly string[], place: TokenPlace, find: FindReading): Clue | undefined {
  const differences = texts.map((text) => differencesOf(text, place, find));
  const [first] = differences;
  if (first !== undefined && differences.every((one) => one !== undefined)) return matching(first);
  if (place.each === undefined || differences.every((one) => one === undefined)) return undefined;
  const wrong = differences.indexOf(undefined);
  return likely(
    `Element ${wrong} of the list has another token than the elements with the right one: all must have it.`,
  );
}

function differencesOf(
  text: string,
  place: TokenPlace,
  find: FindReading,
): (string | undefined)[] | undefined {
  const token = withoutPrefix(text, place.prefix);
  const reading = token === undefined ? undefined : find(bytesOf(place, token));
  if (reading !== undefined) return [differenceOf(reading, "The token is")];
  for (const credential of credentialsIn(text)) {
    const reading = find(bytesOf(place, credential));
    if (reading === undefined) continue;
    return [prefixDifference(text, credential, place), differenceOf(reading, "The token is")];
  }
  return undefined;
}

function prefixDifference(text: string, credential: string, { prefix }: TokenPlace): string {
  const given = SHOWN_PREFIX.exec(text)?.[0] ?? "";
  const expected = prefix === "" ? "nothing" : `\`${prefix}\``;
  if (text === credential) {
    return `The token is right, and the text before it is missing: the condition expects ${expected}. ` +
      'Let the sender add it, or set `prefix: ""`.';
  }
  const found = given !== "" && text === given + credential ? `\`${given}\`` : "another text";
  const change = found === "another text" ? "`prefix`" : `\`prefix: ${JSON.stringify(given)}\``;
  return `The token is right, and before it stands ${found}: the condition expects ${expected}. Set ${change}, ` +
    "or let the sender change it.";
}

/** The token is somewhere else in the request. */
function elsewhere(
  { request }: DiagnosisContext,
  place: TokenPlace,
  find: FindReading,
): Clue | undefined {
  for (const { field, text } of textsElsewhere(request, place)) {
    const basic = field.name === "authorization" ? basicCredentials(text) : undefined;
    const reading = basic && find(Buffer.from(basic.password));
    if (reading !== undefined) {
      const sentence = "The secret is the password of HTTP Basic in header Authorization: set " +
        "`basic: {}` in place of `in` and `name`, or let the sender change it.";
      return matching([sentence, differenceOf(reading, "The token is")]);
    }
    for (const credential of credentialsIn(text)) {
      const reading = find(bytesOf(field, credential));
      if (reading === undefined) continue;
      return matching([movedSentence(field, place), differenceOf(reading, "The token is")]);
    }
  }
  return undefined;
}

function movedSentence(found: Field, place: Field): string {
  return `The token is in ${inSentence(found)}, and the condition reads ${
    inSentence(place)
  }: set ` +
    `${settingsOf(found)}, or let the sender change it.`;
}

/** The password of HTTP Basic, with another username, or not as HTTP Basic. */
function inBasic(
  texts: readonly string[],
  { username }: { username?: string | undefined },
  find: FindReading,
): Clue | undefined {
  const [text = ""] = texts;
  const given = basicCredentials(text);
  if (given === undefined) {
    const isRight = credentialsIn(text).some((credential) => find(Buffer.from(credential)));
    return isRight
      ? matching([
        "The password is right, and it does not come by HTTP Basic: let the sender use HTTP Basic, or name " +
        "`in: header`, `name: Authorization` and a `prefix` in place of `basic`.",
      ])
      : undefined;
  }
  const reading = find(Buffer.from(given.password));
  if (reading !== undefined) {
    const isOther = username !== undefined && given.username !== username;
    return matching([
      isOther ? `The username is another one: the condition expects \`${username}\`.` : undefined,
      differenceOf(reading, "The password is") ??
        (isOther ? undefined : "The credentials are not encoded in base64 as RFC 7617 demands."),
    ]);
  }
  if (find(Buffer.from(given.username)) !== undefined) {
    return matching(["The secret is given as the username: it must be the password."]);
  }
  if (find(Buffer.from(`${given.username}:${given.password}`)) !== undefined) {
    return matching([
      "The trigger's secret is username and password with a colon between them: write the password alone, " +
      "and the username as `basic: { username: … }`.",
    ]);
  }
  return undefined;
}

function unknown(
  settings: StaticTokenSettings,
  texts: readonly string[],
  { request, refusal }: DiagnosisContext,
): Clue {
  const place = tokenPlace(settings);
  if (texts.length === 0) {
    const advice = "is the token set at the sender? A proxy may remove the header Authorization.";
    const isThere = !refusal.reason.endsWith(" is missing");
    return likely(isThere ? `${refusal.reason}.` : missingSentence(place, request, advice));
  }
  const what = basicOf(settings) === undefined ? "token" : "password";
  return likely(
    `The ${what} is another one: no secret of the condition is equal, with or without white space, quotes ` +
      "or an encoding. Copy it again to both sides.",
  );
}
