/** A JSON Schema as a condition, on one running service: saving, refusing, explaining. */
import { assertEquals, assertMatch } from "@std/assert";
import { startService } from "../data.ts";

const SCHEMA = {
  type: "object",
  required: ["action"],
  properties: { action: { enum: ["opened", "closed"] }, number: { type: "integer", minimum: 1 } },
};

Deno.test("json_schema, on a running service", async (t) => {
  await using service = await startService();
  const condition = (schema: unknown) => ({ type: "json_schema", schema });
  const send = async (url: string, body: string) => {
    const answer = await fetch(url, { method: "POST", body });
    await answer.text();
    return answer.status;
  };
  const newest = async (name: string) => {
    const { body: { results: [{ id }] } } = await service.api("GET", `deliveries/?trigger=${name}`);
    return (await service.api("GET", `deliveries/${id}/`)).body;
  };

  await t.step("a refusal says where, what was expected and what was found", async () => {
    const { url } = await service.trigger({ name: "checked", conditions: [condition(SCHEMA)] });
    assertEquals(await send(url, '{"action": "opened", "number": 3}'), 200);
    assertEquals(await send(url, '{"action": "opened", "number": 0}'), 400);
    const { outcome, condition: by, verdicts } = await newest("checked");
    assertEquals([outcome, by], ["filtered", "json_schema"]);
    assertEquals(verdicts[0], {
      condition: "json_schema",
      index: 0,
      verdict: "failed",
      reason: "The body does not match the schema at /number: minimum",
      expected: "at least 1",
      found: "0",
    });
  });

  await t.step("a filtered request gets the status that its trigger says", async () => {
    const token = {
      type: "static_token",
      secrets: ["a-token-of-twenty-signs"],
      in: "query",
      name: "t",
    };
    const { url } = await service.trigger({
      conditions: [token, condition(SCHEMA)],
      refused: { filter: 202 },
    });
    assertEquals(await send(`${url}?t=a-token-of-twenty-signs`, "{}"), 202);
  });

  await t.step("a credential in the body is not shown", async () => {
    const secret = "a-token-in-the-body-itself";
    const { url } = await service.trigger({
      name: "hidden",
      conditions: [
        { type: "static_token", secrets: [secret], in: "body", name: "token" },
        condition({ properties: { token: { maxLength: 3 } } }),
      ],
    });
    assertEquals(await send(url, JSON.stringify({ token: secret })), 400);
    const { verdicts } = await newest("hidden");
    assertEquals(verdicts[1].found, "not shown");
  });

  await t.step("mistakes have pointers", async () => {
    const wrong = { properties: { "a/b": { pattern: "(" } } };
    const { status, body } = await service.api("POST", "triggers/", {
      name: "mistaken",
      project: "files",
      conditions: [condition(wrong)],
      actions: [{ type: "fetch_repository" }],
    });
    assertEquals(status, 422);
    assertEquals(body.errors[0].pointer, "/conditions/0/schema/properties/a~1b/pattern");
  });

  await t.step("a long check ends in the Worker, and others go on meanwhile", async () => {
    // Each level tries the next one twice: 2^60 checks of one value.
    const $defs = Object.fromEntries(
      Array.from({ length: 60 }, (_, level) => {
        const next = level === 59 ? { type: "null" } : { $ref: `#/$defs/d${level + 1}` };
        return [`d${level}`, { allOf: [{ not: next }, { not: next }] }];
      }),
    );
    const { url } = await service.trigger({
      name: "long",
      conditions: [condition({ $defs, $ref: "#/$defs/d0" })],
    });
    const { url: other } = await service.trigger({ conditions: [condition(SCHEMA)] });
    const slow = send(url, "1");
    assertEquals(await send(other, '{"action": "closed"}'), 200);
    assertEquals(await slow, 400);
    const { verdicts } = await newest("long");
    assertMatch(verdicts[0].reason, /cannot be checked: it took longer than 2000 ms/);
  });

  await t.step("the trigger's log says once when deliveries begin to differ", async () => {
    const name = "changing";
    const { id, url } = await service.trigger({ name, actions: [{ type: "fetch_repository" }] });
    const changes = async (...bodies: string[]) => {
      for (const body of bodies) assertEquals(await send(url, body), 200);
      await service.service.cleanUp();
      const { body: { results } } = await service.api("GET", `triggers/${id}/log/`);
      return results.filter(({ kind }: { kind: string }) => kind === "shape_changed");
    };
    const alike = Array.from({ length: 12 }, (_, number) => `{"number": ${number}}`);
    assertEquals(await changes(...alike), []);
    const [told, ...more] = await changes('{"number": 12}', '{"number": "x"}', '{"number": "y"}');
    assertEquals(more, []);
    const { body: { results: [, differs] } } = await service.api(
      "GET",
      `deliveries/?trigger=${name}`,
    );
    const { id: _id, time: _time, ...event } = told;
    assertEquals(event, {
      project: "files",
      kind: "shape_changed",
      run_id: differs.id,
      reason: "The body does not match the schema at /number: type",
      expected: "integer",
      found: '"x"',
    });
    assertEquals((await changes('{"number": "z"}')).length, 1);
    assertEquals((await changes()).length, 1);
    const [missing] = await changes("{}");
    assertEquals(missing.reason, "The body does not match the schema at the body: required");
  });

  await t.step("names of secrets in a schema are names", async () => {
    const schema = {
      properties: { secrets: { enum: ["a", "b"] } },
      dependentRequired: { secrets: ["secret"] },
    };
    const { id, url } = await service.trigger({ conditions: [condition(schema)] });
    const { body } = await service.api("GET", `triggers/${id}/`);
    assertEquals(body.conditions[0].schema, schema);
    assertEquals(await send(url, '{"secrets": "a"}'), 400);
    assertEquals(await send(url, '{"secrets": "a", "secret": 1}'), 200);
  });

  await t.step("a file holds the schema", async () => {
    const path = `${service.folder}/schema.json`;
    await Deno.writeTextFile(path, JSON.stringify(SCHEMA));
    const { id, url } = await service.trigger({ conditions: [condition(`{file:${path}}`)] });
    const { body } = await service.api("GET", `triggers/${id}/`);
    assertEquals(body.conditions[0].schema, `{file:${path}}`);
    assertEquals(await send(url, '{"action": "closed"}'), 200);
    assertEquals(await send(url, '{"action": "none"}'), 400);
  });

  await t.step("a file that is no schema refuses, and is told when it is saved", async () => {
    const files: [name: string, content: string, detail: RegExp][] = [
      ["wrong", '{"type": "things"}', /wrong\.json: \/type: Expected one or some of/],
      // What it holds may be a secret of another service.
      ["secret", "a-secret-of-this-test", /^file \S+secret\.json is no JSON$/],
      ["long", '{"const": 9007199254740993}', /long\.json holds a number of more than 15 digits$/],
    ];
    for (const [name, content, detail] of files) {
      const path = `${service.folder}/${name}.json`;
      await Deno.writeTextFile(path, content);
      const { body } = await service.api("POST", "triggers/", {
        name: `${name}-file`,
        project: "files",
        conditions: [condition(`{file:${path}}`)],
        actions: [{ type: "fetch_repository" }],
      });
      const warning = body.warnings.find((each: { pointer: string }) =>
        each.pointer === "/conditions/0/schema"
      );
      assertMatch(warning.detail, detail);
      assertEquals(await send(body.url, "{}"), 400);
    }
  });
});
