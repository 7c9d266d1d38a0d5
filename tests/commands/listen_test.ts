/** `hooklaunch listen` as a process of its own, on a real service. */
import { Buffer } from "node:buffer";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { startReceiver } from "../http/receiver.ts";
import { ADMIN_TOKEN, HMAC_CONDITION, signature, startService } from "../data.ts";
import { freePort } from "../surroundings.ts";
import { runHosted as run } from "./hosted.ts";
import { hooklaunch } from "./process.ts";

const TOKEN = { HOOKLAUNCH_ADMIN_TOKEN: ADMIN_TOKEN };

Deno.test("copies of requests go to an address of one's own, each once, also over a restart of the service", async () => {
  await using receiver = startReceiver();
  await using service = await startService({ settings: { port: freePort() } });
  const { url } = await service.trigger({
    name: "labels",
    conditions: [HMAC_CONDITION],
    actions: [{ type: "run_execution", step: "echo" }],
    response: { type: "text", text: "{run_id}" },
  });
  const post = async (body: string, headers: Record<string, string> = signature(body)) => {
    const answer = await fetch(`${url}?a=1`, { method: "POST", body, headers });
    assertMatch(`${answer.status} ${await answer.text()}`, /^200 [-\da-f]+$|^400 /);
  };
  receiver.on("/hook", ({ body }) => {
    const status = body === "second" ? 500 : 302;
    return new Response("not the sender's", { status, headers: { location: "/else" } });
  });
  const city = Buffer.from("Łódź").toString("latin1");
  await post("first", { ...signature("first"), "x-city": city });
  const to = `http://127.0.0.1:${receiver.port}/hook?b=2`;
  const args = ["listen", "labels", "--to", to, "--since", "1h", "--url", service.url];
  await using listening = hooklaunch(args, TOKEN);
  await listening.expect(/ accepted +200 +\d+ ms +302 \(a copy as it is stored\)\n/);
  await post("second");
  await listening.expect(/ accepted +200 +\d+ ms +500\n/);
  await post("refused", signature("something else"));
  await listening.expect(/ refused +400 +\d+ ms +302\n/);
  await service.restart();
  await listening.expect(/Listening to labels[^]*Listening to labels: copies go to /);
  await post("last");
  await receiver.arrived("/hook", 4);
  await listening.expect(/Listening[^]*Listening[^]* accepted +200 +\d+ ms +302\n/);

  const received = receiver.at("/hook");
  assertEquals(received.map(({ body }) => body), ["first", "second", "refused", "last"]);
  const signed = received.map(({ headers }) => headers.get("x-signature"));
  const sent = ["second", "something else", "last"].map((body) => signature(body)["x-signature"]);
  assertEquals(signed, [null, ...sent]);
  assertEquals(received[0]?.headers.get("x-city"), city);
  assertEquals(received.map(({ target }) => target), Array(4).fill("/hook?b=2&a=1"));
  assertEquals(receiver.at("/else"), []);

  listening.child.kill("SIGINT");
  assertEquals((await listening.end()).code, 0);
  const [, id] = await listening.expect(/Stopped\. To go on: --since ([-\da-f]{36})\n/);
  assert(listening.printed().includes(` ${id} `));
});

Deno.test("listening for long keeps none of the bodies that were sent on", async () => {
  const ID = "01900000-0000-7000-8000-000000000000";
  const body = "A".repeat(8 * 1024 ** 2);
  const COUNT = 60;
  let made = 0;
  const events = new ReadableStream<string>({
    pull(controller) {
      if (made++ >= COUNT) return;
      const id = `${ID.slice(0, -3)}${100 + made}`;
      const delivery = { id, time: "2027-01-31T09:30:00Z", outcome: "accepted", status: 200 };
      const data = { delivery, exact: true, method: "POST", query: "", headers: [], body };
      controller.enqueue(`id: ${id}\ndata: ${JSON.stringify(data)}\n\n`);
    },
  });
  await using service = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    ({ method }) =>
      method === "GET"
        ? Response.json({ results: [{ id: ID, name: "labels" }], next: null })
        : new Response(events.pipeThrough(new TextEncoderStream()), {
          headers: { "content-type": "text/event-stream" },
        }),
  );
  await using local = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    async ({ body }) => {
      await body?.cancel();
      return new Response(null, { status: 204 });
    },
  );
  const url = `http://127.0.0.1:${service.addr.port}`;
  const args = ["listen", "labels", "--to", `http://127.0.0.1:${local.addr.port}/`, "--url", url];
  await using listening = hooklaunch(args, {
    ...TOKEN,
    DENO_V8_FLAGS: "--max-old-space-size=200",
  });
  await listening.expect(new RegExp(`${100 + COUNT} .* 204\\n`));
});

Deno.test("what listen cannot do is told of", async (t) => {
  await using service = await startService();
  await service.trigger({ name: "labels" });
  const to = "http://127.0.0.1:1/";
  const CASES: [args: string[], printed: RegExp][] = [
    [["labels", "--to", "ftp://127.0.0.1/"], /Expected an http or https URL without a password/],
    [["labels", "--to", "http://a:b@127.0.0.1/"], /Expected an http or https URL without a pass/],
    [
      ["labels", "--to", to, "--since", "soon"],
      /Expected a date and time, such as .*, or the id of a/,
    ],
    [["labels"], /required option '--to <url>'/],
    [["other", "--to", to], /There is no trigger "other"; there are: labels/],
  ];
  for (const [args, pattern] of CASES) {
    await t.step(args.join(" "), async () => {
      const { code, printed } = await run(["listen", ...args, "--url", service.url], TOKEN);
      assertEquals(code, 1);
      assertMatch(printed, pattern);
    });
  }
});
