/** Values cost those alone that have some. */
import { assert, assertEquals } from "@std/assert";
import { watchedValues, withValues } from "../../src/actions/values.ts";

const plain = [
  { type: "fetch_repository" },
  { type: "run_execution", step: "train" },
  {
    type: "run_execution",
    step: "train",
    parameters: { text: "a } b", number: 1, list: ["a", 2], none: null },
    environment: { SAID: "text" },
    metadata: { a: ["text", { b: "text" }] },
  },
  // Only settings that take values are looked at.
  { type: "run_execution", step: "train", commit: "{body.commit}" },
];

Deno.test("an action without values is performed as it is, and nothing of its request is read", async () => {
  for (const settings of plain) {
    const found = await withValues(settings, () => {
      throw new TypeError("Nothing is to be evaluated");
    });
    assert("settings" in found);
    assert(found.settings === settings, "is the same object");
  }
});

Deno.test("an action with ten values evaluates them in one go", async () => {
  const names = Array.from({ length: 10 }, (_, index) => `p${index}`);
  const parameters = Object.fromEntries(names.map((name) => [name, `{body.${name}}`]));
  const asked: unknown[] = [];
  const found = await withValues(
    { type: "run_execution", step: "train", parameters },
    (wanted) => {
      asked.push(wanted);
      return Promise.resolve({ values: wanted.sources.map((json) => ({ json })) });
    },
  );
  const sources = names.map((name) => `body.${name}`);
  assertEquals(asked, [{ condition: undefined, sources }]);
  assert("settings" in found);
  assertEquals(
    found.settings.parameters,
    Object.fromEntries(names.map((name, index) => [name, sources[index] ?? ""])),
  );
});

Deno.test("an error is not shown where the values that read a credential have 200,000 parts", async () => {
  const json = Array.from({ length: 200_000 }, (_, index) => index);
  const watched = watchedValues(() =>
    Promise.resolve({ values: [{ json }], credentials: ["body"] })
  );
  await watched.evaluate({ sources: ["body"] });
  const message = watched.messageOf(new Error("Cannot read x"));
  assertEquals(message.includes("Cannot read x"), false);
  assert(message.startsWith("The reason is not shown"), message);
});
