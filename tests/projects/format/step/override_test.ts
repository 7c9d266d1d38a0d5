/**
 * Overrides: what comes out when a node's override is merged over a step, and that it is a step again.
 *
 * @module
 */
import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { ActionError } from "../../../../src/platform/errors.ts";
import { overrideStep } from "../../../../src/projects/format/step/override.ts";
import { stepOf } from "../../../../src/projects/format/step/step.ts";

const step = stepOf({
  name: "s",
  image: "one",
  command: ["a", "b"],
  environment: "e",
  inputs: [{ name: "i", default: "x", filename: "f" }, { name: "j" }],
  parameters: [{ name: "p", type: "integer", default: 1, max: 9 }, { name: "q", optional: true }],
  "environment-variables": [{ name: "V", default: "1" }],
  mounts: ["/a:/b"],
  "time-limit": 60,
});

const merges: { name: string; override: Record<string, unknown>; changes: object }[] = [
  { name: "nothing", override: {}, changes: {} },
  {
    name: "fields that hold one value",
    override: { image: "two", command: "c", environment: "f", "runtime-config-preset": "g" },
    changes: { image: "two", command: "c", environment: "f", "runtime-config-preset": "g" },
  },
  {
    name: "what an override leaves empty",
    override: { image: "", command: [], environment: "", mounts: [], inputs: [] },
    changes: {},
  },
  {
    name: "mounts as a whole",
    override: { mounts: ["/c:/d"] },
    changes: { mounts: ["/c:/d"] },
  },
  {
    name: "inputs by name, field by field, new ones behind",
    override: { inputs: [{ name: "new" }, { name: "i", default: ["y", "z"], optional: true }] },
    changes: {
      inputs: [
        { name: "i", default: ["y", "z"], filename: "f", optional: true },
        { name: "j" },
        { name: "new" },
      ],
    },
  },
  {
    name: "an input without files, which has none then",
    override: { inputs: [{ name: "i" }] },
    changes: { inputs: [{ name: "i", filename: "f" }, { name: "j" }] },
  },
  {
    name: "parameters by name, of which a type stays and a default goes",
    override: { parameters: [{ name: "p", default: null }, { name: "q", default: "r" }] },
    changes: {
      parameters: [
        { name: "p", type: "integer", default: null, max: 9 },
        { name: "q", optional: true, default: "r" },
      ],
    },
  },
  {
    name: "environment variables by name",
    override: { "environment-variables": [{ name: "V", optional: false }, { name: "W" }] },
    changes: {
      "environment-variables": [{ name: "V", default: "1", optional: false }, { name: "W" }],
    },
  },
];

for (const { name, override, changes } of merges) {
  Deno.test(`override: ${name}`, () => {
    const before = structuredClone({ written: step.written, override });
    const merged = overrideStep(step, override);
    assertEquals(merged, { ...step.written, ...changes });
    assertEquals(stepOf(merged).written, merged);
    assertEquals({ written: step.written, override }, before, "its arguments stay as they are");
  });
}

Deno.test("override: of two items of one name, in the step or the override, the later stands", () => {
  const doubled = stepOf({
    name: "s",
    image: "i",
    command: "c",
    inputs: [{ name: "i", default: "x" }, { name: "j" }, { name: "i", default: "y" }],
  });
  const override = { inputs: [{ name: "i", optional: true }, { name: "i", filename: "f" }] };
  assertEquals(overrideStep(doubled, override).inputs, [
    { name: "i", optional: true, filename: "f" },
    { name: "j" },
  ]);
  const withFile = { inputs: [{ name: "i", default: "z" }, { name: "i", filename: "f" }] };
  assertEquals(overrideStep(doubled, withFile).inputs, [
    { name: "i", default: "z", filename: "f" },
    { name: "j" },
  ]);
});

Deno.test("override: what comes out as no step is refused, with what is wrong", () => {
  const override = { parameters: [{ name: "p", default: [1, 2] }] };
  assertThrows(
    () => overrideStep(step, override),
    ActionError,
    'Cannot override step "s": /parameters/0/default: Expected a single value',
  );
});

Deno.test("override: twice is once, and what is not named stays", () => {
  const named = fc.uniqueArray(fc.constantFrom("i", "j", "k"), { maxLength: 3 }).chain((names) =>
    fc.tuple(
      ...names.map((name) =>
        fc.record({ default: fc.string(), optional: fc.boolean() }, { requiredKeys: [] }).map((
          fields,
        ) => ({
          name,
          ...fields,
        }))
      ),
    )
  );
  const overrides = fc.record({ image: fc.string(), inputs: named }, { requiredKeys: [] });
  fc.assert(fc.property(overrides, (override) => {
    const once = overrideStep(step, override);
    assertEquals(overrideStep(stepOf(once), override), once);
    for (const name of ["i", "j"]) {
      if (override.inputs?.some((input) => input.name === name)) continue;
      assertEquals(stepOf(once).inputs.get(name), step.inputs.get(name));
    }
    assertEquals(stepOf(once).timeLimit_s, 60);
  }));
});
