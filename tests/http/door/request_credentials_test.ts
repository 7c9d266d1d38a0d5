/** A credential of a request is shown nowhere, also not where a proxy has repeated it in a header. */
import { assert, assertEquals } from "@std/assert";
import {
  type ApiAnswer,
  endOfRun,
  eventually,
  HMAC_CONDITION,
  SECRET as HMAC_SECRET,
  signature,
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

Deno.test("a right secret at a wrong place of a request is not shown", async () => {
  const secret = "s3cret of-the-test";
  await using service = await startService({ env: { OWN: secret } });
  const encoded = encodeURIComponent(secret);
  const places: { query?: string; headers?: Record<string, string> }[] = [
    { query: `?ref=${encoded}` },
    { query: `?ref=s3cret+of-the-test&a=1` },
    { query: `?ref=1&${encoded}` },
    { query: `?${encoded}=1` },
    { query: `?ref=Bearer+${encoded}` },
    { query: `?a=x-${encoded}-y&ref=${encoded}` },
    { headers: { "x-request-id": secret } },
    { headers: { "user-agent": `Bearer ${secret}`, "x-timestamp": `at ${secret}` } },
  ];
  const conditions = [
    {
      type: "static_token",
      in: "header",
      name: "x-token",
      secrets: ["another-of-the-test", "{env:OWN}"],
    },
    { type: "hmac", preset: "github", secrets: [{ value: secret }] },
  ];
  for (const condition of conditions) {
    const { id, url } = await service.trigger({ conditions: [condition] });
    for (const { query = "", headers = {} } of places) {
      const answer = await fetch(url + query, { method: "POST", headers });
      await answer.body?.cancel();
      assertEquals(answer.status, 400);
      const delivery = await details(service, `trigger=${id}&outcome=refused`);
      const log = await service.api("GET", `triggers/${id}/log/`);
      for (const text of [delivery, log.body].map((each) => JSON.stringify(each))) {
        assert(!/of-the-test/.test(text.replaceAll("another-of-the-test", "")), text);
      }
    }
  }
});

Deno.test("a parameter that is named like a credential is masked, whatever became of its request", async () => {
  await using service = await startService();
  const conditions = (expression: string) => [
    { type: "static_token", in: "header", name: "x-token", secrets: ["the-token-of-the-test"] },
    { type: "payload_filter", expression },
    { type: "deduplication", in: "header", name: "x-id" },
  ];
  const { id, url } = await service.trigger({
    conditions: conditions("query['a'] == '1'"),
    keep_refused: "1h",
  });
  const names = ["sig", "pwd", "passphrase", "bearer", "phpsessid", "PHPSESSID", "sessid", "%73ig"];
  const value = "what-nobody-may-see";
  const query = `?a=1&${names.map((name) => `${name}=${value}`).join("&")}`;
  const shown = `a=1&${names.map((name) => `${name}=********`).join("&")}`;
  const token = "the-token-of-the-test";
  const cases: [outcome: string, sent: { headers: Record<string, string>; query?: string }][] = [
    ["accepted", { headers: { "x-token": token, "x-id": "1" } }],
    ["repeat", { headers: { "x-token": token, "x-id": "1" } }],
    ["filtered", {
      headers: { "x-token": token, "x-id": "2" },
      query: query.replace("a=1", "a=2"),
    }],
    ["refused", { headers: { "x-token": "wrong", "x-id": "3" } }],
  ];
  for (const [outcome, { headers, query: sent = query }] of cases) {
    const languages = { "accept-encoding": "gzip", "accept-language": "fi" };
    const answer = await fetch(url + sent, {
      method: "POST",
      headers: { ...headers, ...languages },
    });
    await answer.body?.cancel();
    const delivery = await details(service, `outcome=${outcome}`);
    assertEquals(delivery.query, outcome === "filtered" ? shown.replace("a=1", "a=2") : shown);
    // A run keeps no header that says nothing of its sender.
    const expected = outcome === "accepted" ? [undefined, undefined] : ["gzip", "fi"];
    assertEquals(Object.keys(languages).map((name) => delivery.headers[name]), expected);
    const { body: log } = await service.api("GET", `triggers/${id}/log/`);
    for (const text of [delivery, log].map((each) => JSON.stringify(each))) {
      assert(!text.includes(value), `${outcome}: ${text}`);
    }
  }
  // A filter that reads one says nothing of its value.
  await service.api("PATCH", `triggers/${id}/`, { conditions: conditions("query['pwd'] == 'x'") });
  await (await fetch(url + query, { method: "POST", headers: { "x-token": token, "x-id": "5" } }))
    .body?.cancel();
  const filtered = await eventually(async () => {
    const { body } = await service.api("GET", `triggers/${id}/log/`);
    return body.results.find((entry: { reason?: string; found?: string }) =>
      entry.found?.includes("pwd")
    );
  }, { what: "the refusal by the filter" });
  assertEquals(filtered.found, 'query["pwd"] is not shown');
});

Deno.test("a secret at a place that no condition reads for it is not shown as what a filter found", async () => {
  await using service = await startService();
  const { url } = await service.trigger({
    conditions: [
      HMAC_CONDITION,
      { type: "payload_filter", expression: "query.t == 'a' || body.t == 'a'" },
    ],
  });
  const body = JSON.stringify({ t: HMAC_SECRET });
  const headers = { "content-type": "application/json", ...signature(body) };
  const sent = await fetch(`${url}?t=${encodeURIComponent(HMAC_SECRET)}`, {
    method: "POST",
    headers,
    body,
  });
  await sent.body?.cancel();
  const shown = await details(service, "outcome=filtered");
  assertEquals(shown.verdicts.at(-1).found, "not shown");
  assert(!JSON.stringify(shown).includes(HMAC_SECRET), JSON.stringify(shown));
});
