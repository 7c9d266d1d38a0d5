/** An instance that leads from its start, on a database that several share. */
import { assertEquals } from "@std/assert";
import { systemClock } from "../../src/platform/clock.ts";
import { newId } from "../../src/platform/ids.ts";
import { within } from "../../src/platform/waiting/timers.ts";
import type { Parts } from "../../src/service/composition.ts";
import { Service } from "../../src/service/service.ts";
import { ADMIN_TOKEN, eventually, HMAC_CONDITION, startOn, startService } from "../data.ts";
import { KV_TOKEN, RemoteKv } from "../store/kv_connect.ts";
import { freePort, temporaryFolder } from "../surroundings.ts";

Deno.test("an instance that applies its configuration says that it does not serve yet", async () => {
  await using kv = new RemoteKv();
  Deno.env.set(KV_TOKEN.name, KV_TOKEN.value);
  const kvSettings = { kv: kv.way().url, secretKey: "00".repeat(32) };
  await using folder = await temporaryFolder();
  let settings;
  {
    await using like = await startService();
    settings = { ...like.service.parts.settings, ...kvSettings, data: folder.path };
  }
  const port = freePort();
  // Whoever is reached there is the instance itself, as the others know it.
  let sentToItself = 0;
  await using self = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, () => {
    sentToItself++;
    return new Response();
  });
  const instanceUrl = `http://127.0.0.1:${self.addr.port}`;
  const begun = Promise.withResolvers<Parts>();
  const applying = Promise.withResolvers<void>();
  const starting = Service.start(
    { ...settings, port, instanceUrl },
    { clock: systemClock, env: () => undefined },
    (parts) => {
      begun.resolve(parts);
      return applying.promise;
    },
  );
  const launch = async () => {
    const url = `http://127.0.0.1:${port}/api/v0/launch/01900000-0000-7000-8000-000000000001/`;
    const answer = await fetch(url, { method: "POST", body: "x" });
    await answer.body?.cancel();
    return answer.status;
  };
  try {
    const { store: { shared } } = await begun.promise;
    assertEquals(await launch(), 503);
    await eventually(() => shared?.instances.leader?.url, { what: "its own address" });
    const asked = await fetch(`http://127.0.0.1:${port}/api/v0/triggers/`);
    await asked.body?.cancel();
    assertEquals([asked.status, sentToItself], [503, 0]);
    applying.resolve();
    await starting;
    assertEquals(await launch(), 404);
  } finally {
    applying.resolve();
    await (await starting).close(0);
  }
});

Deno.test("an instance beside the leader keeps what it refuses, too", async () => {
  await using kv = new RemoteKv();
  Deno.env.set(KV_TOKEN.name, KV_TOKEN.value);
  const shared = () => ({ kv: kv.way().url, secretKey: "00".repeat(32) });
  await using leader = await startService({ settings: shared() });
  const trigger = await leader.trigger({ conditions: [HMAC_CONDITION], keep_refused: "24h" });
  await using folder = await temporaryFolder();
  const other = await startOn(folder.path, { settings: shared() });
  try {
    const url = `${other.url}/api/v0/launch/${trigger.id}/`;
    const answer = await fetch(url, { method: "POST", body: "plum" });
    await answer.body?.cancel();
    assertEquals([other.leads, answer.status], [false, 400]);
    const refused = await eventually(async () => {
      const { body: { results: [found] } } = await leader.api("GET", "deliveries/?limit=1");
      const { body } = await leader.api("GET", `deliveries/${found?.id}/`);
      return body.body === undefined ? undefined : body;
    }, { what: "the body of the delivery" });
    assertEquals(refused.body, new TextEncoder().encode("plum").toBase64());
  } finally {
    await other.close(0);
  }
});

Deno.test("the leader's cleanup removes files of executions that have ended and gone under another leader", async () => {
  await using kv = new RemoteKv();
  Deno.env.set(KV_TOKEN.name, KV_TOKEN.value);
  await using leader = await startService({
    settings: { kv: kv.way().url, secretKey: "00".repeat(32) },
  });
  const left = ["executions", "jobs"].map((name) => `${leader.folder}/data/${name}`);
  const id = newId(Date.now());
  for (const folder of left) await Deno.mkdir(`${folder}/${id}`, { recursive: true });
  await leader.service.cleanUp();
  const names = left.map((folder) => Array.from(Deno.readDirSync(folder), ({ name }) => name));
  assertEquals(names, [[], []]);
});

Deno.test({
  name: "the metrics tell that an instance is not ready while its database does not answer",
  // What was read meanwhile ends with the database.
  sanitizeOps: false,
  async fn() {
    await using kv = new RemoteKv();
    Deno.env.set(KV_TOKEN.name, KV_TOKEN.value);
    const way = kv.way();
    await using service = await startService({
      settings: { kv: way.url, secretKey: "00".repeat(32) },
    });
    const ready = async () => {
      const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
      const asked = fetch(`${service.url}/metrics`, { headers }).then((answer) => answer.text());
      const text = await within(systemClock, 10_000, asked) ?? "no answer";
      return /^hooklaunch_ready \d$/m.exec(text)?.[0];
    };
    assertEquals(await ready(), "hooklaunch_ready 1");
    way.isClosed = true;
    try {
      assertEquals(await ready(), "hooklaunch_ready 0");
    } finally {
      way.isClosed = false;
    }
  },
});

Deno.test("a start that fails ends, and tells why, also while a request sends no body", async () => {
  await using kv = new RemoteKv();
  Deno.env.set(KV_TOKEN.name, KV_TOKEN.value);
  await using folder = await temporaryFolder();
  let settings;
  {
    await using like = await startService();
    const shared = { kv: kv.way().url, secretKey: "00".repeat(32) };
    settings = { ...like.service.parts.settings, ...shared, data: folder.path, port: freePort() };
  }
  const { port } = settings;
  let sender: Deno.TcpConn | undefined;
  const starting = Service.start(
    settings,
    { clock: systemClock, env: () => undefined },
    async () => {
      sender = await Deno.connect({ hostname: "127.0.0.1", port });
      const head = "POST /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n";
      await sender.write(new TextEncoder().encode(head));
      await sender.read(new Uint8Array(1024));
      throw new Error("Cannot apply the configuration");
    },
  ).then(() => "started", (error) => error.message);
  try {
    const end = await within(systemClock, 10_000, starting);
    assertEquals(end, "Cannot apply the configuration");
  } finally {
    sender?.close();
  }
});
