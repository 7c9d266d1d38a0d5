/**
 * The job gets the values of a request byte by byte: any value of JSON, in parameters and in variables, in every
 * interpreter that a step can name. One service runs all.
 */
import { assertEquals, assertMatch } from "@std/assert";
import fc from "fast-check";
import { endOfExecution, endOfRun, startService, type TestService } from "../data.ts";

/** Interpreters, and how a script of each writes a variable and the value of a parameter into files. */
const SCRIPTS: Record<string, string> = {
  sh:
    `printf '%s' "$SAID" > "$VH_OUTPUTS_DIR/said"; printf '%s' {parameter-value:text} > "$VH_OUTPUTS_DIR/text"`,
  "#!/bin/sh":
    `printf '%s' "$SAID" > "$VH_OUTPUTS_DIR/said"; printf '%s' {parameter-value:text} > "$VH_OUTPUTS_DIR/text"`,
  "#!/usr/bin/env bash":
    `printf '%s' "$SAID" > "$VH_OUTPUTS_DIR/said"; printf '%s' {parameter-value:text} > "$VH_OUTPUTS_DIR/text"`,
  "#!/usr/bin/env perl": `
use JSON::PP; binmode STDOUT;
sub put { open(my $f, '>:raw', "$ENV{VH_OUTPUTS_DIR}/$_[0]") or die; print $f $_[1]; close $f }
open(my $f, '<:raw', "$ENV{VH_CONFIG_DIR}/parameters.json") or die; local $/; my $all = decode_json(<$f>);
my $text = $all->{text}; utf8::encode($text); put('text', $text); put('said', $ENV{SAID});`,
  "#!/usr/bin/env python3": `
import json, os
out = os.environ["VH_OUTPUTS_DIR"] + "/"
open(out + "said", "wb").write(os.environb[b"SAID"])
text = json.load(open(os.environ["VH_CONFIG_DIR"] + "/parameters.json", encoding="utf-8"))["text"]
open(out + "text", "wb").write(text.encode("utf-8"))`,
};

/** The texts of one request. A trigger has at most 16 actions. */
const TEXTS = 3;

const interpreters = Object.keys(SCRIPTS).filter((first) => {
  const program = first.split(/[ /]/).at(-1) ?? "sh";
  const { success } = new Deno.Command("sh", { args: ["-c", `command -v ${program}`] })
    .outputSync();
  return success;
});

const stepOf = (first: string, index: number) => ({
  step: {
    name: `write-${index}`,
    image: "debian",
    command: first.startsWith("#!") ? `${first}\n${SCRIPTS[first]}` : SCRIPTS[first],
    parameters: [{ name: "text", type: "string", optional: true }],
    "environment-variables": [{ name: "SAID", optional: true }],
  },
});

/** Texts that end a quote, name a command, break a line, or look like options and templates. */
const HOSTILE = [
  "",
  "-n",
  " \r\n\t\n",
  "'; touch pwned; '\"; touch pwned; \"'\\''",
  "$(touch pwned)`touch pwned`${HOME}$HOME",
  "\\",
  "!! * ? [a] ~root %s %n #",
  "--{body.x} {{ }} {parameter:text}",
  "a\u0001\u001b[2J\u007f\u00e9\u{1F600}\u2028\ufeff",
  "#!/bin/sh\nexit 1",
  "EOF\n$(id)\nEOF\n",
  "'+__import__('os').system('touch pwned')+'",
];

const text = fc.oneof(
  fc.constantFrom(...HOSTILE),
  fc.string({ unit: "binary", maxLength: 40 }).filter((each) =>
    each.isWellFormed() && !each.includes("\0")
  ),
  fc.array(
    fc.constantFrom("'", '"', "\\", "$", "`", "\n", "(", ")", ";", "&", "|", "<", "{", "}", "x"),
    {
      maxLength: 12,
    },
  ).map((signs) => signs.join("")),
);

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
  const unquoted = {
    step: {
      name: "unquoted",
      image: "debian",
      command: ["#!/usr/bin/env perl", "print {parameter-value:text};"],
      parameters: [{ name: "text", type: "string" }],
    },
  };
  await Deno.writeTextFile(`${directory}/valohai.yaml`, JSON.stringify([...steps, unquoted]));
  await service.api("PUT", "projects/bytes/", { name: "bytes", directory });
  // Each body has one text for each action: so few runs try many.
  const actions = interpreters.flatMap((_, step) =>
    Array.from({ length: TEXTS }, (_, place) => ({
      type: "run_execution",
      step: `write-${step}`,
      parameters: { text: `{body[${place}]}` },
      environment: { SAID: `{body[${place}]}` },
      metadata: { all: `{body[${place}]}` },
    }))
  );
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
      const wanted = texts[place % TEXTS] ?? "";
      const execution = await endOfExecution(service, created.execution_id);
      const where = `${interpreters[Math.floor(place / TEXTS)]}: ${JSON.stringify(wanted)}`;
      assertEquals(execution.status, "complete", `${where}: ${execution.reason}`);
      assertEquals(execution.metadata.all, wanted, where);
      for (const name of ["said", "text"]) {
        const found = await outputOf(service, created.execution_id, name);
        assertEquals(found, encoder.encode(wanted), `${name}, ${where}`);
      }
    }
  };

  await t.step("texts that are code elsewhere", async () => {
    for (let start = 0; start < HOSTILE.length; start += TEXTS) {
      await check(HOSTILE.slice(start, start + TEXTS));
    }
  });
  await t.step("any text", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(text, { minLength: TEXTS, maxLength: TEXTS }), check),
      { numRuns: 1 },
    );
  });

  const { url: others } = await service.trigger({
    name: "others",
    project: "bytes",
    actions: [
      { type: "run_execution", step: "write-0", environment: { SAID: "{body.v}" } },
      { type: "run_execution", step: "write-0", metadata: { v: "{body.v}" } },
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
