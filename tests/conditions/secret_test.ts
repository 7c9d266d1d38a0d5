/** Secrets come from settings or the environment, fail closed, and are compared in one place. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  isAnyOf,
  isSecret,
  refuseWithoutSecrets,
  resolveSecrets,
} from "../../src/conditions/secret.ts";
import { secretsSchema } from "../../src/conditions/settings.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const env = (name: string) => ({ SET: "from the environment", EMPTY: "", BLANK: " \n" })[name];

Deno.test("resolveSecrets takes literals and variables, and leaves out what is empty or missing", () => {
  const secrets = resolveSecrets(["literal", "{env:SET}", "{env:EMPTY}", "{env:NOT_SET}", ""], env);
  assertEquals(secrets.usable.map((secret) => new TextDecoder().decode(secret.bytes)), [
    "literal",
    "from the environment",
  ]);
  assertEquals(secrets.missing, ["EMPTY", "NOT_SET"]);
  assertEquals(refuseWithoutSecrets(secrets), undefined);
});

Deno.test("resolveSecrets leaves out what is nothing once it is decoded, and counts white space", () => {
  const written: Record<string, string> = { PREFIX: "whsec_", PADDED: " s\n" };
  const decode = (text: string) => bytes(text.replace("whsec_", ""));
  const secrets = resolveSecrets(["{env:PREFIX}", "whsec_"], (name) => written[name], decode);
  assertEquals([secrets.usable, secrets.malformed], [[], 2]);
  assertEquals(refuseWithoutSecrets(secrets)?.reason, "No secret can be used: 2 cannot be decoded");
  const padded = resolveSecrets(["{env:PADDED}"], (name) => written[name]);
  assert(isSecret(bytes(" s\n"), padded) && !isSecret(bytes("s"), padded));
});

Deno.test("refuseWithoutSecrets names the variables that are missing", () => {
  assertEquals(
    refuseWithoutSecrets(resolveSecrets(["{env:EMPTY}"], env))?.reason,
    "No secret can be used: environment variable EMPTY is not set",
  );
  assertEquals(
    refuseWithoutSecrets(resolveSecrets(["{env:EMPTY}", "{env:NOT_SET}"], env))?.reason,
    "No secret can be used: environment variables EMPTY, NOT_SET are not set",
  );
  assertEquals(
    refuseWithoutSecrets(resolveSecrets([""], env))?.reason,
    "No secret can be used: all are empty or have ended",
  );
});

Deno.test("isSecret takes any of the secrets and nothing else", () => {
  const secrets = resolveSecrets(["old", "new"], env);
  for (const right of ["old", "new"]) assert(isSecret(bytes(right), secrets), right);
  for (const wrong of ["", "ol", "olds", "New", "oldnew", "{env:SET}"]) {
    assert(!isSecret(bytes(wrong), secrets), wrong);
  }
});

Deno.test("an empty token matches no empty secret, and a blank one no blank one", () => {
  assert(!isSecret(bytes(""), resolveSecrets(["", "{env:EMPTY}", "{env:NOT_SET}"], env)));
  const blank = resolveSecrets(["{env:BLANK}"], env);
  assertEquals([blank.usable.length, blank.missing], [0, ["BLANK"]]);
});

Deno.test("isAnyOf agrees with comparing the bytes one by one", () => {
  const some = fc.uint8Array({ maxLength: 4 });
  fc.assert(fc.property(some, fc.array(some, { maxLength: 5 }), (candidate, candidates) => {
    const expected = candidates.some((other) => String(other) === String(candidate));
    assertEquals(isAnyOf(candidate, candidates), expected);
  }));
});

const settings: { name: string; secrets: string[]; isValid: boolean }[] = [
  { name: "a literal and a variable", secrets: ["s3cret", "{env:LABEL_TOKEN}"], isValid: true },
  { name: "none", secrets: [], isValid: false },
  { name: "an empty one", secrets: ["a", ""], isValid: false },
  { name: "sixteen", secrets: Array(16).fill("s"), isValid: true },
  { name: "seventeen", secrets: Array(17).fill("s"), isValid: false },
  { name: "a variable without a name", secrets: ["{env:}"], isValid: false },
  { name: "a variable with text around it", secrets: ["Bearer {env:TOKEN}"], isValid: false },
  { name: "a variable whose name is none", secrets: ["{env:A-B}"], isValid: false },
  { name: "other braces", secrets: ["{a}"], isValid: true },
];

for (const { name, secrets, isValid } of settings) {
  Deno.test(`secretsSchema: ${name} is ${isValid ? "taken" : "refused"}`, () => {
    assertEquals(secretsSchema.safeParse(secrets).success, isValid);
  });
}
