/**
 * The job gets the values of a request byte by byte: any value of JSON, in parameters and in variables, in every
 * interpreter that a step can name. One service runs all.
 */
import { assertEquals, assertMatch } from "@std/assert";
import fc from "fast-check";
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
  await Deno.writeTextFile(`${directory}/valohai.yaml`, JSON.stringify([...steps, say, unquoted]));
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
  const { url } = await service.trigger({ name: "bytes", project: "bytes", actions });

  const launch = async (to: string, body: string) => {
    const answer = await fetch(to, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
    });
    await answer.text();
    assertEquals(answer.status, 200);
    const name = to === url ? "bytes" : "others";
    const { body: { results } } = await service.api("GET", `deliveries/?trigger=${name}&limit=1`);
    return await endOfRun(service, results[0].run_id);
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

  const { url: others } = await service.trigger({
    name: "others",
    project: "bytes",
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
    const { actions } = await launch(others, JSON.stringify({ v: 1, t: "plain words, 1.5" }));
    assertEquals(actions[2].error, undefined);
  });
});
