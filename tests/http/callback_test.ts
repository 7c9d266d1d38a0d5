/** The callback of a trigger, on one running service with a real server that receives. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { Webhook } from "standardwebhooks";
import { allowedAddress, parsePattern } from "../../src/triggers/callback_address.ts";
import { UnavailableError } from "../../src/platform/errors.ts";
import { keys } from "../../src/store/keys.ts";
import { callbackId } from "../../src/triggers/callback_id.ts";
import { type ApiAnswer, eventually, startService, type TestService } from "../data.ts";
import { type Answering, type Received, type Receiver, startReceiver } from "./receiver.ts";

type Json = ApiAnswer["body"];

const KEY = `whsec_${btoa("a key of the tests, 32 bytes long")}`;
const ok: Answering = () => new Response("thanks");

/** Patterns, addresses that they cover, and such that they do not. */
const ADDRESSES: [pattern: string, covered: string[], others: string[]][] = [
  ["https://*.example.com/", [
    "https://a.example.com/",
    "https://A.EXAMPLE.com/x?y=1#z",
    "https://a.example.com:443/x",
  ], [
    "http://a.example.com/",
    "https://example.com/",
    "https://a.b.example.com/",
    "https://.example.com/",
    "https://a.example.com:8443/",
    "https://a.example.com./",
    "https://aexample.com/",
    "https://a.example.com.evil.test/",
    "https://evil.test/a.example.com/",
    "https://evil.test#a.example.com/",
    "https://evil.test\\@a.example.com/",
    "https://user@a.example.com/",
    "https://user:word@a.example.com/",
    "https://@a.example.com/",
    "https://a.example.com@evil.test/",
    "https:\\\\a.example.com/",
    "https://a.exam\nple.com/",
    " https://a.example.com/",
    "//a.example.com/",
    "javascript:alert(1)",
    "",
  ]],
  ["https://example.com:8443/hooks/", [
    "https://example.com:8443/hooks/",
    "https://example.com:8443/hooks/a/b",
    "https://example.com:8443/x/../hooks/a",
  ], [
    "https://example.com/hooks/",
    "https://example.com:8443/hooks",
    "https://example.com:8443/hooks2/",
    "https://example.com:8443/hooks/../admin",
    "https://example.com:8443/hooks/%2e%2e/admin",
    "https://example.com:8443/hooks/..%2fadmin",
    "https://example.com:8443/hooks/%5cadmin",
    "https://a.example.com:8443/hooks/",
  ]],
  ["https://example.com/hooks", ["https://example.com/hooks", "https://example.com/hooks/1"], [
    "https://example.com/hooks2",
  ]],
  ["http://127.0.0.1:80/", ["http://127.0.0.1/", "http://0x7f.1/", "http://2130706433/x"], [
    "http://127.0.0.2/",
    "https://127.0.0.1/",
  ]],
];

Deno.test("an address is allowed by scheme, host, port and the beginning of its path", async (t) => {
  for (const [pattern, covered, others] of ADDRESSES) {
    for (const address of [...covered, ...others]) {
      await t.step(`${pattern} ${JSON.stringify(address)}`, () => {
        const isCovered = allowedAddress(address, [pattern]) instanceof URL;
        assertEquals(isCovered, covered.includes(address));
      });
    }
  }
  const WRONG = [
    "example.com",
    "ftp://example.com/",
    "https://*/",
    "https://*.com/",
    "https://*.127.0.0.1/",
    "https://a.*.example.com/",
    "https://example.com/*",
    "https://user@example.com/",
    "https://example.com/?x",
    "https://example.com/#x",
    "https://example.com./",
    "https://example.com\\/",
  ];
  for (const pattern of WRONG) {
    await t.step(pattern, () => assertEquals(typeof parsePattern(pattern), "string"));
  }
});

interface Case {
  name: string;
  callback?: Record<string, unknown>;
  step?: string;
  path?: string;
  /** The address that is sent; that of the receiver's path when absent. */
  address?: string;
  answers?: Answering;
  status?: string;
  reason?: RegExp;
  attempts?: number;
  got?(received: Received[], info: Json): void;
}

const CASES: Case[] = [
  {
    name: "what run info answers, signed",
    callback: { sign: { preset: "standard_webhooks", secret: KEY } },
    got([{ headers, body } = NOTHING], info) {
      assertEquals(new Webhook(KEY).verify(body, Object.fromEntries(headers)), info);
      assertEquals([info.status, info.work], ["completed", "complete"]);
    },
  },
  {
    name: "work that fails",
    step: "fails",
    got: ([{ body } = NOTHING], info) => {
      assertEquals(JSON.parse(body), info);
      assertEquals(info.work, "error");
    },
  },
  {
    name: "again until it is taken, with the same id",
    answers: (_, earlier) => new Response(null, { status: earlier.length === 1 ? 404 : 200 }),
    attempts: 2,
    got: ([first, second]) =>
      assertEquals(
        first?.headers.get("idempotency-key"),
        second?.headers.get("idempotency-key"),
      ),
  },
  {
    name: "a redirect is not followed",
    answers: (_, earlier) =>
      earlier.length > 1
        ? new Response("thanks")
        : new Response(null, { status: 307, headers: { location: "/elsewhere" } }),
    attempts: 2,
  },
  {
    name: "gone is gone",
    answers: () => new Response(null, { status: 410 }),
    status: "error",
    reason: /^It was answered with the status 410$/,
  },
  {
    name: "an address that the owner does not allow",
    address: "http://127.0.0.1:1/",
    status: "error",
    reason: /^The callback is not sent: no address in allow covers it$/,
    attempts: 0,
  },
  {
    name: "a private address",
    callback: { private_networks: false },
    status: "error",
    reason: /private_networks of the callback/,
  },
];

const NOTHING: Received = { method: "", target: "", headers: new Headers(), body: "" };

/** Makes a trigger with a callback, launches it, and returns the run's id. */
async function launch(service: TestService, receiver: Receiver, of: Case, path: string) {
  const { url } = await service.trigger({
    actions: [{ type: "run_execution", step: of.step ?? "echo" }],
    response: { type: "text", text: "{run_id}" },
    callback: {
      url: "{body.callback_url}",
      allow: [`http://127.0.0.1:${receiver.port}/cb/`],
      private_networks: true,
      ...of.callback,
    },
  });
  const callback_url = of.address ?? `http://127.0.0.1:${receiver.port}${path}?secret=1`;
  const sent = { method: "POST", body: JSON.stringify({ callback_url }) };
  const headers = { "content-type": "application/json" };
  const run = await (await fetch(url, { ...sent, headers })).text();
  return { url, run };
}

/** Waits until the callback of a run has ended, and returns it. */
function callbackOf(service: TestService, run: string): Promise<Json> {
  return eventually(() => endedCallback(service, run), { what: "the end of the callback" });
}

/** Returns the callback of a run; undefined before it has ended. */
async function endedCallback(service: TestService, run: string): Promise<Json> {
  const { body } = await service.api("GET", `deliveries/${run}/`);
  const found = body.sent?.find((each: Json) => each.tells_sender);
  return found && found.status !== "sending" && found.ended_at ? found : undefined;
}

Deno.test("a sender is told when its run and the run's work have ended", async (t) => {
  await using receiver = startReceiver();
  await using service = await startService();
  await Deno.writeTextFile(
    `${service.folder}/project/valohai.yaml`,
    "- step: { name: echo, image: debian, command: echo }\n" +
      "- step: { name: fails, image: debian, command: exit 3 }\n",
  );
  await Promise.all(CASES.map((each, index) =>
    t.step({
      name: each.name,
      sanitizeOps: false,
      sanitizeResources: false,
      sanitizeExit: false,
      async fn() {
        const path = `/cb/${index}`;
        receiver.on(path, each.answers ?? ok);
        const { url, run } = await launch(service, receiver, each, path);
        const { status = "complete", reason, attempts = 1 } = each;
        const sent = await callbackOf(service, run);
        assertEquals([sent.status, sent.attempts], [status, attempts], sent.reason);
        assertMatch(sent.reason ?? "", reason ?? /^$/);
        assert(!sent.url.includes("secret"));
        const asked = await fetch(`${url}run/?run_id=${run}&work=true`);
        const info = { run_id: run, ...await asked.json() };
        each.got?.(receiver.at(path), info);
        if (status === "complete") return;
        // It is noted once the end is on disk.
        const entry = await eventually(async () => {
          const { body: log } = await service.api("GET", `triggers/${sent.trigger_id}/log/`);
          return log.results[0];
        }, { what: "the entry of the failure" });
        assertEquals([entry.kind, entry.error], ["http_request_failed", sent.reason]);
      },
    })
  ));
  assertEquals(receiver.at("/elsewhere"), []);

  await t.step("a sender that names no address gets none", async () => {
    const { run } = await launch(service, receiver, { name: "none", address: "" }, "/cb/none");
    await eventually(async () => {
      const { body } = await service.api("GET", `runs/${run}/`);
      return body.work === "complete" || undefined;
    });
    const { store } = service.service.parts;
    await eventually(async () => {
      const due = await Array.fromAsync(store.kv.list({ prefix: ["callback_due"] }));
      return due.length === 0 || undefined;
    }, { what: "the end of the list" });
    assertEquals((await service.api("GET", `deliveries/${run}/`)).body.sent, undefined);
  });

  await t.step("a long address is shown in part", async () => {
    const address = `http://127.0.0.1:${receiver.port}/cb/${"a".repeat(7_000)}`;
    const { run } = await launch(service, receiver, { name: "long", address }, "");
    const { url } = await eventually(async () => {
      const { body } = await service.api("GET", `deliveries/${run}/`);
      return body.sent?.[0];
    }, { what: "the callback" });
    assertEquals([url.length, url.endsWith("aaa...")], [1_024, true]);
  });

  await t.step("where its address cannot be read for a moment, it is sent later", async () => {
    const { heavyWork } = service.service.parts;
    const asked = Promise.withResolvers<void>();
    const run = () => {
      asked.resolve();
      return Promise.reject(new UnavailableError("Cannot do heavy work now: it waited", 2));
    };
    Object.defineProperty(heavyWork, "run", { value: run, configurable: true });
    receiver.on("/cb/busy", ok);
    // An expression of any cost is for the Worker.
    const callback = { url: "{body.callback_url.split(' ')[0]}" };
    const launched = await launch(service, receiver, { name: "busy", callback }, "/cb/busy");
    await asked.promise;
    Reflect.deleteProperty(heavyWork, "run");
    const sent = await eventually(async () => {
      service.service.sweep();
      return await endedCallback(service, launched.run);
    }, { what: "the end of the callback" });
    assertEquals([sent.status, receiver.at("/cb/busy").length], ["complete", 1], sent.reason);
  });

  await t.step("a restart goes on, also where the answer did not come", async () => {
    const never = Promise.withResolvers<Response>();
    receiver.on("/cb/again", (_, { length }) => length === 1 ? never.promise : new Response("ok"));
    const { run } = await launch(service, receiver, { name: "again" }, "/cb/again");
    await receiver.arrived("/cb/again", 1);
    await service.restart();
    assertEquals((await callbackOf(service, run)).status, "complete");
    never.resolve(new Response("late"));
    const ids = receiver.at("/cb/again").map(({ headers }) => headers.get("idempotency-key"));
    assertEquals([ids.length, new Set(ids).size], [2, 1]);
    // A kill behind the commit that ends a run leaves nothing but its place in the list.
    const { store } = service.service.parts;
    const id = callbackId(run);
    const left = store.kv.atomic().set(keys.callbackDue(run), "").delete(keys.httpRequest(id));
    assert((await left.commit()).ok);
    await service.restart();
    await receiver.arrived("/cb/again", 3);
    assertEquals((await callbackOf(service, run)).id, id);
  });
});

Deno.test("a callback to an address that is not public is told when its trigger is saved", async () => {
  await using service = await startService();
  const url = "{body.callback_url}";
  const allow = [
    "https://*.example.com/",
    "http://10.0.0.5/hooks/",
    "http://localhost:8080/",
    "https://[fd00::1]/",
  ];
  for (const private_networks of [false, true]) {
    const { id } = await service.trigger({ name: `allows-${private_networks}` });
    const callback = { url, allow, private_networks };
    const { body } = await service.api("PATCH", `triggers/${id}/`, { callback });
    const found = body.warnings.map(({ pointer }: Json) => pointer)
      .filter((pointer: string) => pointer.startsWith("/callback"));
    const expected = private_networks ? [] : [1, 2, 3].map((index) => `/callback/allow/${index}`);
    assertEquals(found, expected, JSON.stringify(body.warnings));
  }
});

Deno.test("a callback that cannot work is refused when its trigger is saved", async (t) => {
  await using service = await startService();
  const allow = ["https://*.example.com/"];
  const url = "{body.callback_url}";
  const WRONG: [callback: object, pointer: string][] = [
    [{ url }, "/callback/allow"],
    [{ url, allow: [] }, "/callback/allow"],
    [{ url, allow: ["https://*/"] }, "/callback/allow/0"],
    [{ url: "https://a.example.com/", allow }, "/callback/url"],
    [{ url: "{nothing.known}", allow }, "/callback/url"],
    [{ url, allow, sign: { preset: "none", secret: KEY } }, "/callback/sign/preset"],
  ];
  for (const [callback, pointer] of WRONG) {
    await t.step(JSON.stringify(callback), async () => {
      const { status, body } = await service.api("POST", "triggers/", {
        name: "x",
        project: "files",
        actions: [{ type: "run_execution", step: "echo" }],
        callback,
      });
      assertEquals([status, body.errors?.[0]?.pointer], [422, pointer], JSON.stringify(body));
    });
  }
  const sign = { preset: "standard_webhooks", secret: KEY };
  const { id } = await service.trigger({ callback: { url, allow, sign } });
  await t.step("its secret is masked, encrypted, and goes to no other address", async () => {
    const { body } = await service.api("GET", `triggers/${id}/`);
    assert(!JSON.stringify(body).includes(KEY));
    const { store } = service.service.parts;
    const { value } = await store.kv.get(["trigger", id]);
    assert(!JSON.stringify(value).includes(KEY));
    const { callback } = body;
    assertEquals((await service.api("PATCH", `triggers/${id}/`, { callback })).status, 200);
    const moved = { ...callback, allow: [...allow, "https://evil.test/"] };
    const refused = await service.api("PATCH", `triggers/${id}/`, { callback: moved });
    assertEquals(refused.status, 422);
    assertMatch(JSON.stringify(refused.body), /does not go to https:\/\/evil\.test\//);
  });
});
