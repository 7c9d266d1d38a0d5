/**
 * A service from its start to its stop, which senders see whose bodies are just arriving: what comes in
 * time is launched, and who is cut off is told to come again.
 */
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { delay } from "@std/async/delay";
import { Service } from "../../src/service/service.ts";
import {
  endOfExecution,
  HMAC_CONDITION,
  startOn,
  startService,
  type TestService,
} from "../data.ts";
import { launchCommand } from "../http/api/fixture.ts";
import { collectLog } from "../log_records.ts";
import { eventually, temporaryFolder, TestClock } from "../surroundings.ts";

const encoder = new TextEncoder();

/** Begins a launch, and waits until the service reads its body. */
async function beginLaunch(
  { service }: TestService,
  { id, beginning }: { id: string; beginning: string },
): Promise<Deno.TcpConn> {
  const { triggers } = service.parts;
  const { promise: found, resolve } = Promise.withResolvers<void>();
  const prepared = triggers.prepared.bind(triggers);
  triggers.prepared = async (id) => {
    const trigger = await prepared(id);
    resolve();
    return trigger;
  };
  const connection = await Deno.connect({ hostname: "127.0.0.1", port: service.port });
  const head = `POST /api/v0/launch/${id}/ HTTP/1.1\r\nHost: localhost\r\n`;
  await connection.write(encoder.encode(head + beginning));
  await found;
  // From here to the first bytes of the body nothing is waited for.
  await delay(0);
  return connection;
}

async function answerOn(connection: Deno.Conn): Promise<string> {
  const buffer = new Uint8Array(4_096);
  const count = await connection.read(buffer);
  return new TextDecoder().decode(buffer.subarray(0, count ?? 0));
}

const bodies = [
  { name: "of a declared length", beginning: "Content-Length: 6\r\n\r\nabc", rest: "def" },
  {
    name: "in chunks",
    beginning: "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
    rest: "3\r\ndef\r\n0\r\n\r\n",
  },
];

for (const { name, beginning, rest } of bodies) {
  Deno.test(`a body ${name} that is arriving at a stop is read to its end, and launched`, async () => {
    await using service = await startService();
    const { id } = await service.trigger();
    using connection = await beginLaunch(service, { id, beginning });
    const closed = service.service.close(60_000);
    await connection.write(encoder.encode(rest));
    assertMatch(await answerOn(connection), /^HTTP\/1\.1 200 /);
    await closed;
    await service.restart();
    const { body } = await service.api("GET", `triggers/${id}/runs/`);
    assertEquals(body.results.length, 1);
    assertEquals(body.results[0].payload.size, 6);
  });

  Deno.test(`a body ${name} that never ends is broken off at a stop, to be sent again`, async () => {
    await using service = await startService();
    const { id } = await service.trigger();
    using connection = await beginLaunch(service, { id, beginning });
    const closed = service.service.close(100);
    assertMatch(
      await answerOn(connection),
      /^HTTP\/1\.1 503 [^]*\r\nretry-after: \d+\r\n/,
    );
    await closed;
  });
}

Deno.test("while executions may end, the port answers 503 and says when to come again", async () => {
  await using service = await startService();
  const go = `${service.folder}/go`;
  const id = await launchCommand(service, `echo begun; until [ -e ${go} ]; do sleep 0.1; done`);
  const { engines } = service.service.parts;
  await eventually(async () => (await engines.of("local").log(id)).lines.length > 0 || undefined);
  const { url } = service.service;
  let isClosed = false;
  const closed = service.service.close(8_000).then(() => isClosed = true);
  const statuses = new Map<number, number>();
  const paths = ["/healthz", "/api/v0/triggers/", "/", `/api/v0/launch/${id}/`];
  for (let nth = 0; !isClosed; nth++) {
    // Each on a connection of its own: the port itself answers.
    using client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
    const sent = { method: nth % 4 === 3 ? "POST" : "GET", client };
    const answer = await fetch(url + paths[nth % 4], sent).catch(() => undefined);
    // Waited for to its end: a race would leave its timer behind.
    await delay(20);
    if (answer === undefined) {
      // The last of it: the port is free, and the process about to end.
      await closed;
      break;
    }
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
    const retryAfter_s = Number(answer.headers.get("retry-after"));
    assert(retryAfter_s >= 2 && retryAfter_s <= 10, String(retryAfter_s));
    await answer.body?.cancel();
    if (statuses.get(503) === 11) await Deno.writeTextFile(go, "");
  }
  assertEquals([...statuses.keys()], [503]);
  assert((statuses.get(503) ?? 0) > 10, String(statuses.get(503)));
  await service.restart();
  assertEquals((await endOfExecution(service, id)).status, "complete");
});

/** Whether this machine has an address; not all have those of IPv6. */
function hasAddress(hostname: string): boolean {
  try {
    Deno.listen({ hostname, port: 0 }).close();
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.AddrNotAvailable) return false;
    throw error;
  }
}

Deno.test("a service says by which URL it is reached", async (t) => {
  const pem = (name: string) => Deno.readTextFile(new URL(`../http/${name}.pem`, import.meta.url));
  const tls = { cert: await pem("localhost_cert"), key: await pem("localhost_key") };
  await using test = await startService();
  const { settings, clock, env } = test.service.parts;
  await test.service.close(0);
  const cases: [told: Partial<typeof settings>, url: RegExp][] = [
    [{ host: "0.0.0.0", dev: false }, /^http:\/\/localhost:\d+$/],
    [{ host: "::1" }, /^http:\/\/\[::1\]:\d+$/],
    [{ tls }, /^https:\/\/127\.0\.0\.1:\d+$/],
    [{ publicUrl: "https://hooks.example.com/in//" }, /^https:\/\/hooks\.example\.com\/in$/],
  ];
  for (const [told, url] of cases) {
    await t.step({
      name: `${url}`,
      ignore: !hasAddress(told.host ?? settings.host),
      async fn() {
        const other = await Service.start({ ...settings, ...told }, { clock, env });
        await other.close(0);
        assertMatch(other.url, url);
        assertEquals(other.parts.baseUrl, other.url);
      },
    });
  }
});

Deno.test("a start that fails leaves the data folder to the next one", async () => {
  await using test = await startService();
  const { settings, clock, env } = test.service.parts;
  await test.service.close(0);
  const failing = () => Promise.reject(new Error("no configuration"));
  const surroundings = { clock, env };
  await assertRejects(() => Service.start(settings, surroundings, failing), Error, "no config");
  const wrong = { ...settings, secretKey: "abc" };
  await assertRejects(() => Service.start(wrong, surroundings), Error, "HOOKLAUNCH_SECRET_KEY");
  await test.restart();
  assertEquals((await test.api("GET", "projects/")).status, 200);
});

Deno.test("each minute a trigger's log is told how much was left out of the one before", async () => {
  const clock = new TestClock();
  await using test = await startService({ clock });
  const { id, url } = await test.trigger({ conditions: [HMAC_CONDITION] });
  for (let i = 0; i < 62; i++) await (await fetch(url, { method: "POST" })).body?.cancel();
  clock.time_ms += 60_000;
  test.service.sweep();
  const { body: { results } } = await test.api("GET", `triggers/${id}/log/?limit=200`);
  assertEquals(results.length, 61);
  assertEquals([results[0].kind, results[0].count], ["omitted", 2]);
});

Deno.test("a stop writes down the last of a trigger's log, and what was left out of it", async () => {
  await using test = await startService({ clock: new TestClock() });
  const { id, url } = await test.trigger({ conditions: [HMAC_CONDITION] });
  for (let i = 0; i < 63; i++) await (await fetch(url, { method: "POST" })).body?.cancel();
  await test.restart();
  const { body: { results } } = await test.api("GET", `triggers/${id}/log/?limit=200`);
  assertEquals(results.length, 61);
  assertEquals([results[0].kind, results[0].count], ["omitted", 3]);
});

Deno.test("there is one cleanup at a time, and another one after it", async () => {
  await using test = await startService();
  const { service } = test;
  const first = service.cleanUp();
  assertEquals(service.cleanUp() === first, true);
  await first;
  const second = service.cleanUp();
  assertEquals(second === first, false);
  await second;
});

Deno.test("launches wait while many others are being stored, and run info does not", async () => {
  await using test = await startService();
  const { url } = await test.trigger();
  const { acceptor } = test.service.parts;
  Object.defineProperty(acceptor, "isBusy", { value: true, configurable: true });
  let status: number | undefined;
  const launched = fetch(url, { method: "POST" }).then(async (answer) => {
    await answer.body?.cancel();
    status = answer.status;
  });
  for (let i = 0; i < 3; i++) {
    const info = await fetch(`${url}run/?run_id=01900000-0000-7000-8000-000000000000`);
    await info.body?.cancel();
    assertEquals([info.status, status], [404, undefined]);
  }
  Reflect.deleteProperty(acceptor, "isBusy");
  await launched;
  assertEquals(status, 200);
});

Deno.test("a service is ready while it can store, has room, and does not stop", async () => {
  await using test = await startService();
  const { store, worker, space, closing } = test.service.parts;
  const ready = async () => {
    const answer = await fetch(`${test.url}/readyz`);
    await answer.body?.cancel();
    return answer.status;
  };
  assertEquals(await ready(), 200);
  const { probe } = store;
  for (
    const [of, name, value] of [
      [worker, "isFull", true],
      [space, "isShort", true],
      [store, "probe", () => Promise.resolve(false)],
      [store, "probe", () => new Promise(() => {})],
    ] as const
  ) {
    Object.defineProperty(of, name, { value, configurable: true });
    assertEquals(await ready(), 503, name);
    Reflect.deleteProperty(of, name);
    if (of === store) store.probe = probe;
  }
  assertEquals(await ready(), 200);
  closing.abort();
  assertEquals(await ready(), 503);
});

Deno.test("a failed job is a warning in the log with its trigger, project, step and reason", async () => {
  await using logged = await collectLog("info");
  await using service = await startService();
  await Deno.writeTextFile(
    `${service.folder}/project/valohai.yaml`,
    JSON.stringify([{ step: { name: "fail", image: "i", command: "exit 3" } }]),
  );
  const launch = await service.trigger({
    name: "nightly",
    actions: [{ type: "run_execution", step: "fail" }],
  });
  await (await fetch(launch.url, { method: "POST" })).body?.cancel();
  const found = await eventually(
    () =>
      logged.records.find(({ properties }) =>
        properties.step === "fail" && properties.status === "error"
      ),
    { what: "the line of the job's end" },
  );
  const { trigger, project, exit_code } = found.properties;
  assertEquals([found.level, trigger, project, exit_code], ["warning", "nightly", "files", 3]);
  assertMatch(found.message.join(""), /of step fail of trigger nightly failed: .*3/);
});

Deno.test("on a machine without IPv6 a service that listens on all addresses is reached over IPv4", async () => {
  await using folder = await temporaryFolder();
  const { serve } = Deno;
  const define = (value: unknown) =>
    Object.defineProperty(Deno, "serve", { value, configurable: true });
  using _restored = { [Symbol.dispose]: () => define(serve) };
  const refused = new Error("Address family not supported by protocol (os error 97)");
  define((...args: Parameters<typeof serve>) => {
    if (Object(args[0]).hostname !== "::") return serve(...args);
    throw Object.assign(refused, { code: "EAFNOSUPPORT" });
  });
  const service = await startOn(folder.path, { settings: { host: "::", dev: false } });
  const answer = await fetch(`http://127.0.0.1:${service.port}/healthz`);
  await answer.body?.cancel();
  await service.close(0);
  assertEquals(answer.status, 200);
});
