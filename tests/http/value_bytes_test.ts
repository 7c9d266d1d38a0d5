/**
 * The job gets the values of a request byte by byte: any value of JSON, in parameters and in variables, in every
 * interpreter that a step can name. One service runs all.
 */
import { assertEquals, assertMatch } from "@std/assert";
import fc from "fast-check";
import { codePoint, unicode } from "../arbitraries.ts";
import {
  HOSTILE_TEXTS,
  hostileText,
  INTERPRETERS,
  writingScript,
  writtenValues,
} from "../hostile_texts.ts";
import { endOfExecution, endOfRun, startService, type TestService } from "../data.ts";

/** The texts of one request beside the hostile ones. */
const DRAWN = 12;
const NAMES = Array.from({ length: HOSTILE_TEXTS.length + DRAWN }, (_, place) => `t${place}`);

/** The values of each type in one request. */
const OF_TYPE = 25;
/** A number of JSON that is an integer beyond 2^53 has tests of its own. */
const isRound = (value: unknown) => !/(^|[^\d.])\d{16}/.test(JSON.stringify(value));
const drawnText = fc.oneof(
  hostileText.filter((text) => text.length <= 24),
  unicode({ maxLength: 12 }).filter((text) => !text.includes("\0")),
);
const ofType = <Value>(value: fc.Arbitrary<Value>) =>
  fc.array(value, { minLength: OF_TYPE, maxLength: OF_TYPE });
const jsonValues = fc.record({
  string: ofType(drawnText),
  integer: ofType(fc.oneof(
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    fc.integer().map(BigInt),
  )),
  float: ofType(fc.double({ noNaN: true, noDefaultInfinity: true }).filter(isRound)),
  flag: ofType(fc.boolean()),
  list: ofType(fc.array(drawnText, { maxLength: 4 })),
  any: ofType(
    fc.jsonValue({ maxDepth: 3, stringUnit: codePoint }).filter((value) =>
      isRound(value) && JSON.stringify(value).length <= 200
    ),
  ),
});
/** The sender learns the id of its run. */
const RUN_ID = { type: "text", text: "{run_id}" };
const ATOMS = ["string", "integer", "float", "flag"] as const;
const numbers = Array.from({ length: OF_TYPE }, (_, place) => place);
const keep = {
  step: {
    name: "keep",
    image: "debian",
    command: [
      `cp "$VH_CONFIG_DIR/parameters.json" "$VH_OUTPUTS_DIR/"`,
      `env -0 >"$VH_OUTPUTS_DIR/variables"`,
    ],
    parameters: numbers.flatMap((place) => [
      ...ATOMS.map((type) => ({ name: `${type}${place}`, type, optional: true })),
      { name: `list${place}`, type: "string", multiple: "separate", optional: true },
    ]),
  },
};

const interpreters = Object.keys(INTERPRETERS).filter((first) => {
  const { success } = new Deno.Command("sh", { args: ["-c", `command -v ${INTERPRETERS[first]}`] })
    .outputSync();
  return success;
});

const stepOf = (first: string, index: number) => ({
  step: {
    name: `write-${index}`,
    image: "debian",
    command: writingScript(first, NAMES),
    parameters: NAMES.map((name) => ({ name, type: "string", optional: true })),
  },
});

async function outputOf(service: TestService, id: string, name: string): Promise<Uint8Array> {
  const answer = await fetch(`${service.url}/api/v0/executions/${id}/outputs/${name}`, {
    headers: { authorization: "Bearer an-operators-token-for-tests" },
  });
  assertEquals(answer.status, 200, `${name} of ${id}`);
  return await answer.bytes();
}

Deno.test("a value of a request is the value in its job, byte by byte, in every interpreter", async (t) => {
  await using service = await startService();
  const directory = `${service.folder}/bytes`;
  await Deno.mkdir(directory);
  const steps = interpreters.map(stepOf);
  const say = {
    step: {
      name: "say",
      image: "debian",
      command: `printf '%s' "$SAID" > "$VH_OUTPUTS_DIR/said"`,
    },
  };
  const unquoted = {
    step: {
      name: "unquoted",
      image: "debian",
      command: ["#!/usr/bin/env perl", "print {parameter-value:text};"],
      parameters: [{ name: "text", type: "string" }],
    },
  };
  await Deno.writeTextFile(
    `${directory}/valohai.yaml`,
    JSON.stringify([...steps, say, unquoted, keep]),
  );
  await service.api("PUT", "projects/bytes/", { name: "bytes", directory });
  const bodyValues = (prefix: string) =>
    Object.fromEntries(NAMES.map((name, place) => [`${prefix}${name}`, `{body[${place}]}`]));
  const actions = interpreters.map((_, step) => ({
    type: "run_execution",
    step: `write-${step}`,
    parameters: bodyValues(""),
    environment: bodyValues("SAID_"),
    metadata: { all: "{body}" },
  }));
  const { url } = await service.trigger({
    name: "bytes",
    project: "bytes",
    response: RUN_ID,
    actions,
  });

  const ofAll = (types: readonly string[], prefix: string) =>
    Object.fromEntries(
      types.flatMap((type) =>
        numbers.map((place) => [`${prefix}${type}${place}`, `{body.${type}[${place}]}`])
      ),
    );
  const { url: typed } = await service.trigger({
    name: "typed",
    project: "bytes",
    response: RUN_ID,
    actions: [{
      type: "run_execution",
      step: "keep",
      parameters: ofAll([...ATOMS, "list"], ""),
      environment: ofAll(ATOMS, "SAID_"),
      metadata: { any: "{body.any}" },
    }],
  });

  const launch = async (to: string, body: string) => {
    const answer = await fetch(to, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
    });
    const id = await answer.text();
    assertEquals(answer.status, 200);
    return await endOfRun(service, id);
  };

  const encoder = new TextEncoder();
  const check = async (texts: readonly string[]) => {
    const run = await launch(url, JSON.stringify(texts));
    assertEquals(run.status, "completed", JSON.stringify(run.actions));
    for (const [place, { created }] of run.actions.entries()) {
      const execution = await endOfExecution(service, created.execution_id);
      const where = interpreters[place];
      assertEquals(execution.status, "complete", `${where}: ${execution.reason}`);
      assertEquals(execution.metadata.all, texts, where);
      const found = await outputOf(service, created.execution_id, "values");
      assertEquals(found, writtenValues(texts), where);
    }
  };

  await t.step("texts that are code elsewhere, and any text", async () => {
    const drawn = fc.array(hostileText, { minLength: DRAWN, maxLength: DRAWN });
    await fc.assert(
      fc.asyncProperty(drawn, (texts) => check([...HOSTILE_TEXTS, ...texts])),
      { numRuns: 1 },
    );
  });

  await t.step("any value of JSON, by its type", async () => {
    await fc.assert(
      fc.asyncProperty(jsonValues, async ({ integer, ...texts }) => {
        const body = JSON.stringify(texts).replace(/}$/, `,"integer":[${integer}]}`);
        const { actions: [{ created, error }] } = await launch(typed, body);
        assertEquals(error, undefined);
        const execution = await endOfExecution(service, created.execution_id);
        assertEquals(execution.status, "complete", execution.reason);
        const sent = JSON.parse(body);
        assertEquals(execution.metadata.any, sent.any);
        const output = async (name: string) =>
          new TextDecoder("utf-8", { ignoreBOM: true }).decode(
            await outputOf(service, created.execution_id, name),
          );
        const parameters = JSON.parse(await output("parameters.json"));
        const variables = new Map(
          (await output("variables")).split("\0").map((line) => {
            const end = line.indexOf("=");
            return [line.slice(0, end), line.slice(end + 1)];
          }),
        );
        for (const place of numbers) {
          const exact = integer[place] ?? 0n;
          const isSafe = Number.isSafeInteger(Number(exact));
          sent.integer[place] = isSafe ? Number(exact) : String(exact);
          for (const type of [...ATOMS, "list"]) {
            const name = `${type}${place}`;
            const expected = sent[type][place];
            assertEquals(parameters[name], expected, name);
            if (type !== "list") {
              assertEquals(variables.get(`SAID_${name}`), String(expected), name);
            }
          }
        }
      }),
      { numRuns: 1 },
    );
  });

  await t.step("a text that no program can get reaches no interpreter", async () => {
    const { url: one } = await service.trigger({
      name: "one",
      project: "bytes",
      response: RUN_ID,
      actions: interpreters.flatMap((_, step) => [
        { type: "run_execution", step: `write-${step}`, parameters: { t0: "{body}" } },
        { type: "run_execution", step: `write-${step}`, environment: { SAID_t0: "{body}" } },
      ]),
    });
    const refused: [text: string, error: RegExp][] = [
      ["a\0b", /parameter "t0" cannot take .*"a\\u0000b" is not text|"SAID_t0" .* with NUL/],
      [
        "x".repeat(1024 ** 2),
        /its record has \d{7} bytes, at most \d{5} fit; the longest part is (parameter "t0"|environment variable "SAID_t0")$/,
      ],
    ];
    for (const [text, reason] of refused) {
      const { actions } = await launch(one, JSON.stringify(text));
      assertEquals(actions.length, 2 * interpreters.length);
      for (const { created, error } of actions) {
        assertEquals(created, undefined);
        assertMatch(error ?? "", reason);
      }
    }
  });

  const { url: others } = await service.trigger({
    name: "others",
    project: "bytes",
    response: RUN_ID,
    actions: [
      { type: "run_execution", step: "say", environment: { SAID: "{body.v}" } },
      { type: "run_execution", step: "say", metadata: { v: "{body.v}" } },
      {
        type: "run_execution",
        step: "unquoted",
        parameters: { text: "{body.?t.orValue('plain')}" },
      },
    ],
  });
  const values: [what: string, json: string, said: string | RegExp][] = [
    ["a whole number", "-7", "-7"],
    ["a number", "0.1", "0.1"],
    ["a large number", "1e300", "1e+300"],
    ["a whole number beyond 2^53", "9007199254740993", "9007199254740993"],
    ["true", "true", "true"],
    ["null", "null", /expected a text, a number, true or false, found null/],
    ["a list", '["a"]', /found a list/],
    ["a map", '{"a": 1}', /found a map/],
    ["a text with NUL", '"a\\u0000b"', /cannot take a value with NUL/],
    ["a text of 1 MiB", JSON.stringify("x".repeat(1024 ** 2)), /record|bytes|characters/],
  ];
  for (const [what, json, said] of values) {
    await t.step(what, async () => {
      const { actions: [variable, metadata] } = await launch(others, `{"v": ${json}}`);
      if (said instanceof RegExp) assertMatch(variable.error ?? "", said);
      else {
        const { execution_id } = variable.created;
        await endOfExecution(service, execution_id);
        assertEquals(await outputOf(service, execution_id, "said"), encoder.encode(said));
      }
      if (metadata.created === undefined) return;
      const execution = await endOfExecution(service, metadata.created.execution_id);
      // What is beyond 2^53 is a text, so that no reader of JSON rounds it.
      const parsed = what.endsWith("2^53") ? json : JSON.parse(json);
      assertEquals(execution.metadata.v, parsed);
    });
  }
  await t.step("signs that may be code are written into no script but a shell's", async () => {
    for (const hostile of ["');system('id')#", "\\", "a\nb", "@{[`id`]}", '"', "#{x}"]) {
      const { actions } = await launch(others, JSON.stringify({ v: 1, t: hostile }));
      assertMatch(actions[2].error ?? "", /no shell: it may be code there/, hostile);
    }
    const { actions } = await launch(
      others,
      JSON.stringify({ v: 1, t: "plain words, 1.5" }),
    );
    assertEquals(actions[2].error, undefined);
  });
});
