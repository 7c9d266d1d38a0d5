/**
 * The configuration file: what is written is what is read, and what is wrong is told with its place,
 * whatever was written.
 */
import { assert, assertEquals, assertInstanceOf, assertMatch, assertThrows } from "@std/assert";
import fc from "fast-check";
import { stringify } from "yaml";
import { parseConfig } from "../../src/config/document.ts";
import { InvalidInputError } from "../../src/platform/errors.ts";
import { newId } from "../../src/platform/ids.ts";
import { pointer } from "../../src/platform/schema/pointer.ts";
import type { LocatedProblem } from "../../src/platform/yaml/positions.ts";
import { anyText, assertInside, mutated } from "../arbitraries.ts";
import { assertTakesLess } from "../surroundings.ts";

const PATH = "/etc/hooklaunch/hooklaunch.yaml";

const name = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,20}$/);
const words = fc.string({ unit: "grapheme", minLength: 1, maxLength: 20 });
const secrets = fc.array(words.filter((text) => !text.includes("{env:")), {
  minLength: 1,
  maxLength: 2,
});
/** A brace that a letter follows begins an expression. */
const withoutBraces = (text: string) => text.replaceAll("{", "(");
const json = fc.jsonValue({ maxDepth: 2 }).map((value) =>
  JSON.parse(JSON.stringify(value), (_, inner) => {
    if (typeof inner === "string") return withoutBraces(inner);
    // YAML keeps no number that is not exact, and tests compare no -0.
    return typeof inner === "number" ? 1.5 : inner;
  })
);
const parameters = fc.dictionary(name, json, { maxKeys: 3, noNullPrototype: true });
const optional = <T>(fields: Record<string, fc.Arbitrary<T>>) =>
  fc.record(fields, { requiredKeys: [], noNullPrototype: true });

const conditions: fc.Arbitrary<Record<string, unknown>> = fc.oneof(
  fc.record({
    type: fc.constant("static_token"),
    in: fc.constantFrom("header", "query", "body"),
    name: fc.stringMatching(/^[A-Za-z][A-Za-z-]{0,12}$/),
    prefix: fc.string({ maxLength: 9 }),
    secrets,
  }, { noNullPrototype: true }),
  fc.record({
    type: fc.constant("hmac"),
    algorithm: fc.constantFrom("sha1", "sha256", "sha384", "sha512"),
    encoding: fc.constantFrom("hex", "base64", "base64url"),
    header: fc.constantFrom("X-Signature", "Signature"),
    prefix: fc.string({ maxLength: 9 }),
    signed_content: fc.constantFrom("{body}", "{method}\n{url}\n{body}"),
    secrets,
  }, { noNullPrototype: true }),
  fc.record({
    type: fc.constant("timestamp"),
    in: fc.constantFrom("header", "query"),
    name: fc.constant("X-Time"),
    format: fc.constantFrom("unix_s", "unix_ms", "rfc3339"),
    tolerance: fc.integer({ min: 1, max: 86_400 }),
  }, { noNullPrototype: true }),
  fc.record({
    type: fc.constant("payload_filter"),
    all: fc.array(
      fc.record({
        path: fc.constantFrom("body.a", "headers.x", "body.0.b\\.c"),
        op: fc.constantFrom("eq", "ne"),
        value: fc.oneof(words, fc.boolean(), fc.constant(null), fc.integer()),
      }, { noNullPrototype: true }),
      { minLength: 1, maxLength: 3 },
    ),
  }, { noNullPrototype: true }),
  fc.record({
    type: fc.constant("rate_limit"),
    period: fc.integer({ min: 1, max: 31_536_000 }),
    quota: fc.integer({ min: 1, max: 1_000_000 }),
  }, { noNullPrototype: true }),
  fc.record({
    type: fc.constant("ip_allowlist"),
    ranges: fc.array(fc.oneof(fc.ipV4(), fc.ipV6(), fc.constant("10.0.0.0/8")), {
      minLength: 1,
      maxLength: 3,
    }),
  }, { noNullPrototype: true }),
);

const actions: fc.Arbitrary<Record<string, unknown>> = fc.oneof(
  fc.constant({ type: "fetch_repository" }),
  fc.tuple(
    fc.record({
      type: fc.constant("run_execution"),
      step: words,
      commit: words,
      parameters,
    }, { noNullPrototype: true }),
    optional({ payload_input_name: words, title: words }),
  ).map(([required, rest]) => ({ ...required, ...rest })),
  fc.tuple(
    fc.record({
      type: fc.constant("run_pipeline"),
      pipeline: words,
      commit: words,
      parameters,
    }, { noNullPrototype: true }),
    optional({ payload_input_name: fc.constant("a b.c.d"), title: words }),
  ).map(([required, rest]) => ({ ...required, ...rest })),
  fc.constant({ type: "copy_pipeline", source_pipeline: newId(1) }),
);

const triggers = fc.tuple(
  fc.record({
    name,
    project: name,
    enabled: fc.boolean(),
    conditions: fc.array(conditions, { maxLength: 4 }),
    actions: fc.array(actions, { minLength: 1, maxLength: 3 }),
  }, { noNullPrototype: true }),
  optional<unknown>({
    id: fc.nat(2 ** 40).map(newId),
    response: fc.oneof(
      fc.record({
        type: fc.constant("text"),
        text: fc.string({ unit: "grapheme" }),
        status: fc.integer({ min: 200, max: 299 }),
      }, { noNullPrototype: true }),
      fc.record({ type: fc.constant("json"), json }, { noNullPrototype: true }),
      // A text like {a} is an expression, and { a} is refused.
    ).filter((response) => !/\{\s*[a-z_{]/i.test(texts(response))),
  }),
).map(([required, rest]) => ({ ...required, ...rest }));

/** All texts in a value, one after the other. */
function texts(value: unknown): string {
  if (typeof value === "string") return `${value}\n`;
  return Object.values(Object(value)).map(texts).join("");
}

const projects = fc.tuple(
  fc.record({
    name,
    directory: fc.stringMatching(/^\/[a-z]{1,9}$/),
    config_file: words,
    engine: fc.record({
      type: fc.constant("local"),
      runner: fc.constantFrom("process", "docker", "podman"),
    }, { noNullPrototype: true }),
  }, { noNullPrototype: true }),
).map(([project]) => project);

const documents = fc.record({
  projects: fc.uniqueArray(projects, { maxLength: 2, selector: ({ name }) => name }),
  triggers: fc.uniqueArray(triggers, { maxLength: 2, selector: ({ name }) => name }),
}, { noNullPrototype: true });

Deno.test("a configuration comes out as it was written, in YAML of any form", () => {
  fc.assert(
    fc.property(documents, fc.boolean(), (document, isFlow) => {
      const text = isFlow ? JSON.stringify(document) : stringify(document, { version: "1.2" });
      const { projects, triggers } = parseConfig(text, PATH);
      assertEquals({ projects, triggers }, document as unknown);
    }),
    { numRuns: 60 },
  );
});

Deno.test("a folder is relative to the file that names it, whatever the current one is", () => {
  for (const [directory, from] of [["./d", "/etc/h/d"], ["../d", "/etc/d"], ["/d", "/d"]]) {
    const text = `projects: [{ name: files, directory: ${directory} }]`;
    assertEquals(parseConfig(text, "/etc/h/hooklaunch.yaml").projects[0]?.directory, from);
    assertEquals(parseConfig(text, "-", "/etc/h").projects[0]?.directory, from);
  }
});

Deno.test("a repository that is a path is relative to the file too, and one elsewhere is left as it is", () => {
  const elsewhere = ["git@host:d.git", "host:d", "https://host/d.git", "file:///d", "/d"];
  for (
    const [repository, from] of [
      ["./d.git", "/etc/h/d.git"],
      ["../d", "/etc/d"],
      ["d/a:b", "/etc/h/d/a:b"],
      ...elsewhere.map((address) => [address, address] as const),
    ] as const
  ) {
    const text = `projects: [{ name: files, repository: "${repository}" }]`;
    assertEquals(parseConfig(text, "/etc/h/hooklaunch.yaml").projects[0]?.repository, from);
  }
});

Deno.test("a name that two projects have is refused, where it stands again", () => {
  const text = "projects:\n  - { name: a, directory: /d }\n  - { name: a, directory: /e }\n";
  const message = 'line 3, column 7: Expected a unique name, found "a" a second time';
  assertThrows(() => parseConfig(text, PATH), InvalidInputError, message);
});

Deno.test("a project configuration file in place of a configuration is told from one", () => {
  const text = "- step:\n    name: train\n";
  const message = "found a list, as a project configuration file has it";
  assertThrows(() => parseConfig(text, PATH), InvalidInputError, message);
});

/** The pointers to all objects of a document whose fields are known, and not an owner's own. */
function objectsIn(value: unknown, path: readonly PropertyKey[] = []): string[] {
  if (typeof value !== "object" || value === null) return [];
  const own = Array.isArray(value) ? [] : [pointer(...path)];
  const inner = Object.entries(value)
    .filter(([name]) => name !== "parameters" && name !== "json")
    .flatMap(([name, each]) =>
      objectsIn(each, [...path, Array.isArray(value) ? Number(name) : name])
    );
  return [...own, ...inner];
}

Deno.test("a field that there is not is told by its name, with its line and column", () => {
  fc.assert(
    fc.property(documents, fc.nat(), fc.boolean(), (document, which, isFlow) => {
      const places = objectsIn(document);
      const at = places[which % places.length] ?? "";
      // Not a clone: parts that were shared would change together.
      const changed = JSON.parse(JSON.stringify(document));
      const object = at.split("/").slice(1)
        .reduce<Record<string, unknown>>((inner, key) => Object(inner)[key], changed);
      object.nonsense = 1;
      const text = isFlow ? JSON.stringify(changed, null, 1) : stringify(changed);
      const { problems } = assertThrows(() => parseConfig(text, PATH), InvalidInputError);
      const [problem, ...others] = problems as readonly LocatedProblem[];
      assertEquals(others, []);
      assertEquals(problem?.pointer, `${at}/nonsense`);
      const line = text.split("\n")[(problem?.line ?? 0) - 1] ?? "";
      assert(/^"?nonsense"?: 1/.test(line.slice((problem?.column ?? 0) - 1)), line);
    }),
    { numRuns: 60 },
  );
});

const written = `projects:
  - name: digits
    directory: ./digits
triggers:
  - name: retrain
    project: digits
    conditions:
      - { type: hmac, preset: github, secrets: ["{env:SECRET}"] }
      - { type: hmac, algorithm: sha256, header: X-S, signed_content: "{header:X-A}{body}", secrets: [s] }
      - { type: jwt, algorithms: [HS256], secrets: [s], claims: { a: [1, { b: null }] } }
      - { type: payload_filter, expression: "body.action == 'opened'" }
      - { type: payload_filter, any: [{ path: body.a, op: in, value: [1, "x"] }, { not: { path: raw, op: matches, value: "^a+" } }] }
      - { type: ip_allowlist, ranges: [10.0.0.0/8, "fd00::/8"] }
      - { type: rate_limit, period: 3600, quota: 100 }
    actions:
      - { type: run_execution, step: train, parameters: { epochs: 3 } }
      - { type: run_pipeline, pipeline: p, payload_input_name: ingest.labels }
    response: { type: json, json: { run: "{run_id}" } }
`;
const values = [
  ..."null true 0 -1 1e99 '' [] {} [1] x".split(" "),
  ...["{ toString: 1 }", "{ __proto__: 1 }", "{ constructor: {} }", "[[[[]]]]", "fe80::1%eth0"],
  ...['"\\ud800"', '"{header:a b}{body}"', "(a", "body.", "99999999999999999"],
];

Deno.test("any configuration is read, or refused with places inside of it", () => {
  fc.assert(
    fc.property(fc.oneof(mutated(written, ...values), anyText), (text) => {
      try {
        parseConfig(text, PATH);
      } catch (error) {
        assertInstanceOf(error, InvalidInputError);
        // Whatever is wrong in a file has a place.
        for (const problem of error.problems as LocatedProblem[]) assertInside(text, problem);
      }
    }),
    { numRuns: 120 },
  );
});

Deno.test("a configuration with a value of another kind in any place is read, or refused", () => {
  const places = [...written.matchAll(/(?<=: )[^\n{},[\]]+(?=[\n,} ])/g)];
  fc.assert(
    fc.property(
      fc.constantFrom(...places),
      fc.constantFrom(...values),
      ({ 0: old, index }, put) => {
        const text = written.slice(0, index) + put + written.slice(index + old.length);
        try {
          parseConfig(text, PATH);
        } catch (error) {
          assertInstanceOf(error, InvalidInputError);
          for (const problem of error.problems as LocatedProblem[]) assertInside(text, problem);
        }
      },
    ),
    { numRuns: 100 },
  );
});

Deno.test("a trigger with tens of thousands of fields that there are not is refused in a moment", async () => {
  const fields = Array.from({ length: 30_000 }, (_, i) => `x${i}: 1`);
  const text = `triggers: [{${fields.join()}}]`;
  await assertTakesLess(5_000, () => {
    const { problems } = assertThrows(() => parseConfig(text, PATH), InvalidInputError);
    assertEquals(problems.length, 100);
  });
});

Deno.test("conditions that cannot work with each other are told before anything is applied", () => {
  const text = "triggers:\n  - name: a\n    project: p\n" +
    "    actions: [{ type: fetch_repository }]\n    conditions:\n      - { type: deduplication }\n";
  const { problems } = assertThrows(() => parseConfig(text, PATH), InvalidInputError);
  assertMatch(problems[0]?.pointer ?? "", /^\/triggers\/0\/conditions\/0/);
  assertMatch(problems[0]?.detail ?? "", /^line 6, column /);
});
