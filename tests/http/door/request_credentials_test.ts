/** A credential of a request is shown nowhere, also not where a proxy has repeated it in a header. */
import { assert, assertEquals } from "@std/assert";
import {
  type ApiAnswer,
  endOfRun,
  eventually,
  startService,
  type TestService,
} from "../../data.ts";

const SECRET = "open/sésame 42";
const ENCODED = encodeURIComponent(SECRET);
/** Headers in which proxies and browsers send a URL. */
const URL_HEADERS = [
  "referer",
  "x-forwarded-uri",
  "x-forwarded-url",
  "x-original-uri",
  "x-original-url",
  "x-rewrite-url",
];

async function details(service: TestService, query: string): Promise<ApiAnswer["body"]> {
  return await eventually(async () => {
    const { body: { results: [found] } } = await service.api("GET", `deliveries/?${query}`);
    return found && (await service.api("GET", `deliveries/${found.id}/`)).body;
  }, { what: "the delivery" });
}

Deno.test("a secret of the query is shown in no header that repeats it", async () => {
  await using service = await startService();
  const trigger = await service.trigger({
    conditions: [{ type: "static_token", in: "query", name: "k", secrets: [SECRET] }],
    response: { type: "text", text: "{run_id}" },
  });
  const query = `?k=${ENCODED}&ref=main&copy=${ENCODED}&${ENCODED}&${ENCODED}=1`;
  const urls = URL_HEADERS.map((name) => [name, `http://h/launch${query}&code=other`]);
  const headers = {
    ...Object.fromEntries(urls),
    "user-agent": `probe ${ENCODED}`,
    "x-request-id": new TextDecoder("latin1").decode(new TextEncoder().encode(SECRET)),
    "x-plus": ENCODED.replaceAll("%20", "+"),
    "content-type": `text/plain; k=${ENCODED}`,
    "x-model": "digits?",
    "x-callback": "https://me:pass@h/x/y",
  };
  const answer = await fetch(trigger.url + query, { method: "POST", headers, body: "x" });
  const run = await endOfRun(service, await answer.text());
  assertEquals(run.request, {
    headers: {
      "x-model": "digits?",
      "x-callback": "https://********@h/x/y",
      ...Object.fromEntries(URL_HEADERS.map((name) => [name, "http://h/launch"])),
    },
    query: "k=********&ref=main&copy=********&********&********",
  });
  assertEquals([run.delivery_id, run.payload.content_type], [undefined, undefined]);

  // A refused one, with the right secret.
  await service.api("PATCH", `triggers/${trigger.id}/`, {
    conditions: [
      { type: "static_token", in: "query", name: "k", secrets: [SECRET] },
      { type: "payload_filter", expression: "body.a == 1" },
    ],
  });
  await (await fetch(trigger.url + query, { method: "POST", headers, body: "{}" })).body?.cancel();
  const refused = await details(service, "outcome=filtered");
  assertEquals(refused.delivery_id, undefined);
  for (const shown of [run, await details(service, "outcome=accepted"), refused]) {
    const text = JSON.stringify(shown);
    for (const secret of ["sésame", "sÃ©same", "%A9same"]) assert(!text.includes(secret), text);
  }
});

Deno.test("a secret of a header is shown in no other header and not in the query", async () => {
  await using service = await startService();
  const cases: [condition: object, header: [string, string]][] = [
    [{ name: "X-Caller", prefix: "token=" }, ["x-caller", "token=s3cret-of-all"]],
    [{ name: "Authorization", prefix: "Bearer " }, ["authorization", "bearer s3cret-of-all"]],
    [{ basic: {} }, ["authorization", `Basic ${btoa("me:s3cret-of-all")}`]],
  ];
  for (const [condition, [name, value]] of cases) {
    const basic = "basic" in condition;
    const { url } = await service.trigger({
      conditions: [{
        type: "static_token",
        ...(basic ? {} : { in: "header" }),
        ...condition,
        secrets: ["s3cret-of-all"],
      }],
      response: { type: "text", text: "{run_id}" },
    });
    const headers = { [name]: value, "x-copy": "a s3cret-of-all", "x-model": "digits" };
    const sent = await fetch(`${url}?a=s3cret-of-all&b=1`, { method: "POST", headers });
    const run = await endOfRun(service, await sent.text());
    assertEquals([run.request.headers["x-copy"], run.request.headers["x-model"]], [
      undefined,
      "digits",
    ]);
    assertEquals(run.request.query, "a=********&b=1");
  }
});
