/**
 * The diagnosis of the condition `static_token`.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { hash } from "node:crypto";
import { withoutPrefix } from "../authorization.ts";
import { bytesOf, type Field, isSameField, readCredentials } from "../field.ts";
import type { LaunchRequest } from "../request.ts";
import { isAnyOf } from "../secret.ts";
import { basicOf, type StaticTokenSettings, type TokenPlace, tokenPlace } from "../static_token.ts";
import { type DiagnosisContext, type KnownSecret, knownSecrets } from "./context.ts";
import { type Clue, likely, matching } from "./finding.ts";
import {
  basicCredentials,
  credentialsIn,
  inSentence,
  missingSentence,
  prefixSetting,
  repeatedSentence,
  repeatedValues,
  settingsOf,
  textsElsewhere,
} from "./places.ts";
import { differenceOf, type Reading, readingsOf } from "./secret_readings.ts";

/** A token is compared as text. */
const AS_TEXT = { algorithm: "sha256", key_encoding: "utf8", key_prefix: "" } as const;

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
    (basic === undefined
      ? inPlace(texts, place, own) ?? asPassword(settings, { field: place, text: texts[0] }, own)
      : inBasic(texts, settings, own)) ??
      repeated(request, settings, own) ??
      elsewhere(context, settings, own)
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
  const setting = prefixSetting({ text, credential });
  if (setting === undefined) {
    return "The token is right, and something follows it, such as a blank or a quote: let the sender remove it.";
  }
  const expected = prefix === "" ? "nothing" : `\`${prefix}\``;
  if (text === credential) {
    return `The token is right, and the text before it is missing: the condition expects ${expected}. ` +
      `Let the sender add it, or set ${setting}.`;
  }
  const before = text.slice(0, text.length - credential.length);
  const found = setting.includes(":") ? `\`${before}\`` : "another text";
  return `The token is right, and before it stands ${found}: the condition expects ${expected}. Set ${setting}, ` +
    "or let the sender change it.";
}

/** The header comes more than once, and has the right token. */
function repeated(
  { headers }: LaunchRequest,
  settings: StaticTokenSettings,
  find: FindReading,
): Clue | undefined {
  const place = tokenPlace(settings);
  if (place.in !== "header") return undefined;
  const isRight = repeatedValues(headers, place.name).some((value) => {
    const token = basicOf(settings) === undefined
      ? withoutPrefix(value, place.prefix)
      : basicCredentials(value)?.password;
    const reading = token === undefined ? undefined : find(bytesOf(place, token));
    return reading !== undefined && differenceOf(reading, "") === undefined;
  });
  return isRight ? matching([repeatedSentence(place.name)]) : undefined;
}

/** The token is somewhere else in the request. */
function elsewhere(
  { request }: DiagnosisContext,
  settings: StaticTokenSettings,
  find: FindReading,
): Clue | undefined {
  const place = tokenPlace(settings);
  for (const { field, text } of textsElsewhere(request, place)) {
    const password = asPassword(settings, { field, text }, find);
    if (password !== undefined) return password;
    for (const credential of credentialsIn(text)) {
      const reading = find(bytesOf(field, credential));
      if (reading === undefined) continue;
      const change = settingsOf(field, { text, credential, prefix: place.prefix });
      const set = change === undefined ? "" : `set ${change}${inPlaceOf(settings)}, or `;
      const moved = `The token is in ${inSentence(field)}, and the condition reads ` +
        `${inSentence(place)}: ${set}let the sender change it.`;
      return matching([moved, differenceOf(reading, "The token is")]);
    }
  }
  return undefined;
}

/** Names the setting that cannot stand beside another place. */
function inPlaceOf(settings: StaticTokenSettings): string {
  if (settings.basic !== undefined) return " in place of `basic`";
  if (settings.each !== undefined) return " in place of `each`";
  return tokenPlace(settings).each === undefined ? "" : " in place of `preset`";
}

/** The token is the password of HTTP Basic, and the condition reads a token. */
function asPassword(
  settings: StaticTokenSettings,
  { field, text = "" }: { field: Field; text: string | undefined },
  find: FindReading,
): Clue | undefined {
  const isAuthorization = isSameField(field, { in: "header", name: "Authorization" });
  const basic = isAuthorization ? basicCredentials(text) : undefined;
  const reading = basic && find(Buffer.from(basic.password));
  if (reading === undefined) return undefined;
  const replaced = (["preset", "in", "name", "each", "prefix"] as const)
    .filter((name) => settings[name] !== undefined).map((name) => `\`${name}\``);
  const sentence = "The secret is the password of HTTP Basic in header Authorization: set " +
    `\`basic: {}\` in place of ${replaced.join(", ")}, or let the sender change it.`;
  return matching([sentence, differenceOf(reading, "The token is")]);
}

/** The password of HTTP Basic, with another username, or not as HTTP Basic. */
function inBasic(
  texts: readonly string[],
  settings: StaticTokenSettings,
  find: FindReading,
): Clue | undefined {
  const { username } = basicOf(settings) ?? {};
  const [text = ""] = texts;
  const given = basicCredentials(text);
  if (given === undefined) {
    const credential = credentialsIn(text).find((one) => find(Buffer.from(one)));
    if (credential === undefined) return undefined;
    const place = tokenPlace(settings);
    const change = settingsOf(place, { text, credential, prefix: place.prefix });
    const set = change === undefined ? "" : `, or set ${change}${inPlaceOf(settings)}`;
    return matching([
      `The password is right, and it does not come by HTTP Basic: let the sender use HTTP Basic${set}.`,
    ]);
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
