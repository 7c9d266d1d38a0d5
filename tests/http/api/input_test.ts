/** Merge patches do what RFC 7396 says, of any JSON. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import fc from "fast-check";
import { mergePatch } from "../../../src/http/api/input.ts";
import { ADMIN_TOKEN, endOfRun, startService } from "../../data.ts";

/** Objects with few names, so that patches meet them; a name that objects have of themselves is one. */
const { json } = fc.letrec<{ json: unknown }>((tie) => ({
  json: fc.oneof(
    { depthSize: "small" },
    fc.constantFrom<unknown>(null, 1, "a", true, []),
    fc.array(tie("json"), { maxLength: 2 }),
    fc.dictionary(fc.constantFrom("a", "b", "constructor", "__proto__", ""), tie("json"), {
      maxKeys: 4,
      noNullPrototype: true,
    }),
  ),
}));

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The algorithm of RFC 7396 section 2, word for word, on lists of fields. */
function byTheRfc(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  let fields = isObject(target) ? Object.entries(target) : [];
  for (const [name, value] of Object.entries(patch)) {
    const before = fields.find(([key]) => key === name)?.[1];
    if (value === null) fields = fields.filter(([key]) => key !== name);
    else if (fields.some(([key]) => key === name)) {
      fields = fields.map(([key, old]) => [key, key === name ? byTheRfc(old, value) : old]);
    } else fields = [...fields, [name, byTheRfc(before, value)]];
  }
  return Object.fromEntries(fields);
}

/** The patch that makes one value of another; there is one unless the other has nulls. */
function difference(from: unknown, to: unknown): unknown {
  if (!isObject(from) || !isObject(to)) return to;
  const gone = Object.keys(from).filter((name) => !Object.hasOwn(to, name))
    .map((name) => [name, null]);
  const changed = Object.entries(to).map(([name, value]) => [
    name,
    Object.hasOwn(from, name)
      ? difference(Object.getOwnPropertyDescriptor(from, name)?.value, value)
      : value,
  ]);
  return Object.fromEntries([...gone, ...changed]);
}

const hasNull = (value: unknown): boolean =>
  value === null ||
  (typeof value === "object" && Object.values(value as object).some(hasNull));

const text = (value: unknown) => JSON.stringify(value);

Deno.test("a merge patch does what the RFC says", () => {
  fc.assert(
    fc.property(json, json, (target, patch) => {
      const before = text([target, patch]);
      assertEquals(text(mergePatch(target, patch)), text(byTheRfc(target, patch)));
      assertEquals(text([target, patch]), before, "what was given is as it was");
    }),
    { numRuns: 500 },
  );
});

Deno.test("a merge patch that is applied twice changes nothing the second time", () => {
  fc.assert(fc.property(json, json, (target, patch) => {
    const once = mergePatch(target, patch);
    assertEquals(text(mergePatch(once, patch)), text(once));
  }));
});

Deno.test("any value without null can be made of any other by a patch", () => {
  const target = json.filter((value) => !hasNull(value));
  fc.assert(fc.property(json, target, (from, to) => {
    assertEquals(mergePatch(from, difference(from, to)), to);
  }));
});

Deno.test("a body that breaks off is a bad request, whatever it would have been", async (t) => {
  await using service = await startService();
  const broken = {
    "before its declared length": "Content-Length: 100\r\n\r\n{}",
    "within its chunks": "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n9\r\n{",
  };
  for (const path of ["triggers", "projects", "tokens"]) {
    for (const [name, rest] of Object.entries(broken)) {
      await t.step(`${path}, ${name}`, async () => {
        const { port } = service.service;
        using connection = await Deno.connect({ hostname: "127.0.0.1", port });
        const head = `POST /api/v0/${path}/ HTTP/1.1\r\nHost: localhost\r\n` +
          `Authorization: Bearer ${ADMIN_TOKEN}\r\n`;
        await connection.write(new TextEncoder().encode(head + rest));
        await connection.closeWrite();
        const answer = await new Response(connection.readable).text();
        assertEquals(answer.split(" ", 2)[1], "400");
      });
    }
  }
});

Deno.test("a number that would become another one is refused, as it is in a configuration file", async () => {
  await using service = await startService();
  const send = async (seed: string) => {
    const answer = await fetch(`${service.url}/api/v0/triggers/`, {
      method: "POST",
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
      body: `{"name":"n","project":"files","enabled":false,"actions":[
        {"type":"run_execution","step":"echo","parameters":{"seed":${seed}}}]}`,
    });
    const { detail, actions } = await answer.json();
    return detail ?? actions[0].parameters.seed;
  };
  for (const seed of ["12345678901234567890", "-9223372036854775809", "1e400"]) {
    assertStringIncludes(await send(seed), `can be kept as it is, found ${seed}: put it in quotes`);
  }
  assertStringIncludes(await send("1".repeat(400)), `found ${"1".repeat(90)}`);
  assertEquals((await send("1".repeat(400))).includes("1".repeat(110)), false);
  assertEquals(await send("[9007199254740991, 0.1, 1e300, -0.0]"), [2 ** 53 - 1, 0.1, 1e300, 0]);
});

Deno.test("an operation without a body refuses fields that it would not heed, and does nothing", async () => {
  await using service = await startService();
  const { url } = await service.trigger({ response: { type: "text", text: "{run_id}" } });
  const id = await (await fetch(url, { method: "POST", body: "{}" })).text();
  await endOfRun(service, id);
  const replay = (body?: unknown) => service.api("POST", `runs/${id}/replay/`, body);
  for (const body of [{ commit: "v2" }, { body: btoa("{}") }, [], "v2"]) {
    const { status } = await replay(body);
    assertEquals(status, 422, text(body));
  }
  const { body } = await replay({ commit: "v2" });
  assertEquals(body.errors, [{ pointer: "/commit", detail: 'Unknown field "commit"' }]);
  assertEquals((await service.api("GET", "runs/")).body.results.length, 1);
  assertEquals([(await replay()).status, (await replay({})).status], [201, 201]);
});
