/** Forms with files, on one running service: fields and files in filters and values, tokens, ids and run info. */
import { assertEquals, assertMatch } from "@std/assert";
import { eventually, startService, type TestService } from "../../data.ts";
import { REJECTED } from "../scenario.ts";

const BOUNDARY = "----of-this-test";
const CRLF = "\r\n";
const TYPE = `multipart/form-data; boundary=${BOUNDARY}`;
const SECRET = "a-secret-of-this-test";
const EVENT = '{"event": "media.play", "Metadata": {"id": 9007199254740993}}';

interface Part {
  name?: string;
  file?: string;
  type?: string;
  value: string;
}

function part({ name, file, type, value }: Part): string {
  const named = name === undefined ? "" : `; name="${name}"`;
  const filed = file === undefined ? "" : `; filename="${file}"`;
  const typed = type === undefined ? "" : `Content-Type: ${type}${CRLF}`;
  return `--${BOUNDARY}${CRLF}Content-Disposition: form-data${named}${filed}${CRLF}${typed}${CRLF}${value}${CRLF}`;
}

const END = `--${BOUNDARY}--${CRLF}`;
const form = (...parts: Part[]) => parts.map(part).join("") + END;

const payload = { name: "payload", type: "application/json", value: EVENT };
const thumb = { name: "thumb", file: "thumb.jpg", type: "image/jpeg", value: "JPEG" };

interface Case {
  name: string;
  filter: string;
  body: string;
  type?: string;
  /** The reason of a refusal. */
  reason?: RegExp;
}

const cases: Case[] = [
  {
    name: "JSON within a field, as of Plex",
    filter: "body.payload.parseJSON().event == 'media.play' && " +
      "body.payload.parseJSON().Metadata.id == 9007199254740993",
    body: form(payload, thumb),
  },
  {
    name: "a file",
    filter: "body.thumb == {'name': 'thumb.jpg', 'type': 'image/jpeg', 'size': 4}",
    body: form(payload, thumb),
  },
  { name: "no thumb", filter: "!has(body.thumb)", body: form(payload) },
  { name: "no parts", filter: "size(body) == 0", body: END },
  {
    name: "a field that comes twice",
    filter: "body.a == ['1', '2'] && body.f.map(f, f.size) == [1, 2]",
    body: form(
      { name: "a", value: "1" },
      { name: "f", file: "x", value: "1" },
      { name: "a", value: "2" },
      { name: "f", file: "y", value: "22" },
    ),
  },
  {
    name: "names of any script, line ends and dashes",
    filter:
      "body['\u00fc \u4e2d'] == '\u00e9\\r\\n--' && body.f.name == '\u00e4.jpg' && body.e == ''",
    body: form(
      { name: "\u00fc \u4e2d", value: "\u00e9\r\n--" },
      { name: "f", file: "\u00e4.jpg", value: "" },
      { name: "e", value: "" },
    ),
  },
  {
    name: "names with quotation marks, as curl writes them",
    filter: `body['a"b'] == '1' && body.f.name == 'c"d\\\\e'`,
    body: form({ name: 'a\\"b', value: "1" }, { name: "f", file: 'c\\"d\\\\e', value: "" }),
  },
  {
    name: "a value that begins like the boundary",
    filter: `body.a == '1\\r\\n--${BOUNDARY}y\\r\\n2' && body.b == 'x--${BOUNDARY}'`,
    body: form({ name: "a", value: `1\r\n--${BOUNDARY}y\r\n2` }, {
      name: "b",
      value: `x--${BOUNDARY}`,
    }),
  },
  {
    name: "text before the first part and behind the last",
    filter: "body.a == '1'",
    body: `preamble${CRLF}${form({ name: "a", value: "1" })}epilogue`,
  },
  {
    name: "names of JavaScript's own",
    filter: "body['__proto__'] == '1'",
    body: form({ name: "__proto__", value: "1" }),
  },
  {
    name: "a long file, in the Worker",
    filter: "body.f.size == 300000 && body.a == '1'",
    body: form({ name: "f", file: "long", value: "x".repeat(300_000) }, { name: "a", value: "1" }),
  },
  {
    name: "a thousand parts",
    filter: "size(body) == 1000",
    body: form(...Array.from({ length: 1_000 }, (_, index) => ({ name: `${index}`, value: "" }))),
  },
  {
    name: "more parts than that",
    filter: "true || body.a == '1'",
    body: form(...Array.from({ length: 1_001 }, () => ({ name: "a", value: "1" }))),
    reason: /cannot read the body: it has more than 1000 parts$/,
  },
  {
    name: "cut off behind a part",
    filter: "body.a == '1'",
    body: part({ name: "a", value: "1" }),
    reason: /cannot read the body: it is cut off before its last boundary$/,
  },
  {
    name: "cut off within a part",
    filter: "body.a == '1'",
    body: form({ name: "a", value: "1" }, { name: "b", value: "2" }).slice(0, -40),
    reason: /it is cut off before its last boundary$/,
  },
  {
    name: "another boundary",
    filter: "body.a == '1'",
    body: form({ name: "a", value: "1" }),
    type: "multipart/form-data; boundary=other",
    reason: /it has no boundary$/,
  },
  {
    name: "a boundary in quotation marks",
    filter: "body.a == '1'",
    body: form({ name: "a", value: "1" }),
    type: `multipart/form-data; boundary="${BOUNDARY}"`,
  },
  {
    name: "no boundary in the type",
    filter: "body.a == '1'",
    body: form({ name: "a", value: "1" }),
    type: "multipart/form-data",
    reason: /its Content-Type names no boundary$/,
  },
  {
    name: "a part without a name",
    filter: "body.a == '1'",
    body: form({ name: "a", value: "1" }, { value: "2" }),
    reason: /it is malformed: a part has no name/,
  },
  {
    name: "a name that is cut at its semicolon",
    filter: "body.a == '1'",
    body: form({ name: "a", value: "1" }, { name: "f", file: "a;b.jpg", value: "2" }),
    reason: /the name of a part holds a semicolon/,
  },
  {
    name: "headers without an end",
    filter: "body.a == '1'",
    body: `--${BOUNDARY}${CRLF}Content-Disposition: form-data; name="a"${CRLF}${END}`,
    reason: /it is malformed/,
  },
  {
    name: "a field that is missing",
    filter: "body.b == '1'",
    body: form({ name: "a", value: "1" }),
    reason: /field not found: b; the body is a form with files, with the fields "a"/,
  },
  {
    name: "another kind of multipart",
    filter: "body == null",
    body: form({ name: "a", value: "1" }),
    type: `multipart/mixed; boundary=${BOUNDARY}`,
  },
];

async function send(url: string, body: string, headers: Record<string, string> = {}) {
  const answer = await fetch(url, {
    method: "POST",
    headers: { "content-type": TYPE, ...headers },
    body,
  });
  return { status: answer.status, text: await answer.text() };
}

// deno-lint-ignore no-explicit-any
async function refusal(service: TestService, trigger: string): Promise<any> {
  return await eventually(async () => {
    const { body } = await service.api("GET", `deliveries/?trigger=${trigger}`);
    return body.results.find((each: { outcome: string }) => each.outcome !== "accepted");
  });
}

Deno.test("multipart: what filters see", async (t) => {
  await using service = await startService();
  for (const [index, { name, filter, body, type = TYPE, reason }] of cases.entries()) {
    await t.step(name, async () => {
      const { url } = await service.trigger({
        name: `case-${index}`,
        conditions: [{ type: "payload_filter", expression: filter }],
        actions: [{ type: "fetch_repository" }],
      });
      const { status, text } = await send(url, body, { "content-type": type });
      const found = status === 200 ? "" : (await refusal(service, `case-${index}`)).reason;
      assertEquals(status, reason === undefined ? 200 : 400, `${text} ${found}`);
      if (reason !== undefined) assertMatch(found, reason);
    });
  }
});

Deno.test("multipart: tokens, ids, values and run info", async (t) => {
  await using service = await startService();
  const { url, id } = await service.trigger({
    name: "all",
    conditions: [
      { type: "static_token", in: "body", name: "token", secrets: [SECRET] },
      { type: "deduplication", in: "body", name: "id" },
    ],
    actions: [{ type: "fetch_repository", if: "body.payload.parseJSON().event == 'media.play'" }],
    response: { type: "text", text: "{run_id} {body.thumb.name}" },
  });
  const token = { name: "token", value: SECRET };
  const whole = form(token, { name: "id", value: "1" }, payload, thumb);
  const { text: answer } = await send(url, whole);
  const [run = "", named] = answer.split(" ");

  await t.step("a response has the name of a file", () => assertEquals(named, "thumb.jpg"));
  await t.step("an id that comes again starts nothing", async () => {
    assertEquals((await send(url, whole)).text, answer);
  });
  await t.step("a long body has its token, too", async () => {
    const long = { name: "f", file: "long", value: "x".repeat(300_000) };
    const body = form(long, token, { name: "id", value: "2" }, payload, thumb);
    // The first long body starts a thread, which a busy machine may not have in time.
    const status = await eventually(async () => {
      const { status } = await send(url, body);
      return status === 503 ? undefined : status;
    });
    assertEquals(status, 200);
  });
  await t.step("a token that is a file, wrong, or there twice is refused", async () => {
    const others = [{ ...token, file: "token" }, { ...token, value: "other" }];
    for (const other of others) {
      assertEquals((await send(url, form(other, payload))).text, REJECTED);
    }
    assertEquals((await send(url, form(token, token, payload))).text, REJECTED);
  });
  await t.step("the condition of an action reads it", async () => {
    const { actions } = await eventually(async () => {
      const { body } = await service.api("GET", `runs/${run}/`);
      return body.status === "pending" ? undefined : body;
    });
    assertEquals(actions[0].skipped, undefined, JSON.stringify(actions));
  });
  await t.step("run info takes run_id", async () => {
    const info = await send(`${url}run/`, form(token, { name: "run_id", value: run }));
    assertEquals(info.status, 200, info.text);
    const other = await send(`${url}run/`, form(token, { ...thumb, name: "run_id" }));
    assertEquals(other.text, REJECTED);
  });
  await t.step("the diagnosis looks into it", async () => {
    const wrong = form({ name: "secret", value: SECRET }, payload);
    const { status, body } = await service.api("POST", `triggers/${id}/diagnose/`, {
      method: "POST",
      headers: { "content-type": TYPE },
      body: btoa(wrong),
    });
    assertEquals(status, 200);
    assertMatch(body.findings[0].sentence, /secret/, JSON.stringify(body));
  });
  await t.step("a filter is tried on it", async () => {
    const tried = await service.api("POST", `triggers/${id}/try-filter/`, {
      filter: { type: "payload_filter", expression: "body.a == '1'" },
      requests: [{ headers: { "content-type": TYPE }, body: form({ name: "a", value: "1" }) }],
    });
    assertEquals(tried.body.results[0].verdict, "passed", JSON.stringify(tried.body));
  });
});
