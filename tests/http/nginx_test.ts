/** The configuration of nginx that is printed on the page about operating, in front of the service. */
import { assert, assertEquals, assertLess, assertMatch } from "@std/assert";
import { deadline } from "@std/async/deadline";
import { delay } from "@std/async/delay";
import { BodyReader } from "../../src/http/body.ts";
import { peerOf } from "../../src/http/peer.ts";
import { AddressRanges } from "../../src/platform/network/ip_ranges.ts";
import { eventually, startService, type TestService } from "../data.ts";
import { blocksOf } from "../docs/blocks.ts";
import { has } from "../needs.ts";
import { freePort, temporaryFolder } from "../surroundings.ts";
import { routesOf } from "./routes.ts";

const MIB = 1_024 * 1_024;
/** How long bodies may take here; 30 s by default. */
const BODY_TIMEOUT_MS = 2_000;
const ca = Deno.readTextFileSync(new URL("localhost_ca.pem", import.meta.url));
/** The address of nginx as the service sees it; that of its clients is another one. */
const NGINX = "10.0.0.9";

/** nginx in front of a service. */
interface Front extends AsyncDisposable {
  service: TestService;
  port: number;
  client: Deno.HttpClient;
}

/** Returns the printed configuration with the ports and the certificate of this test. */
function configuration(port: number, upstream: number, folder: string): string {
  const block = blocksOf("src/docs/operating.md").find(({ language }) => language === "nginx");
  const file = (name: string) => new URL(name, import.meta.url).pathname;
  const replaced = (text: string, printed: string, own: string) => {
    assert(text.includes(printed), `the page prints ${printed}`);
    return text.replace(printed, own);
  };
  let server = block?.text ?? "";
  server = replaced(server, "listen 443", `listen 127.0.0.1:${port}`);
  server = replaced(server, "127.0.0.1:8000", `127.0.0.1:${upstream}`);
  server = replaced(server, "/etc/hooklaunch/cert.pem", file("localhost_cert.pem"));
  server = replaced(server, "/etc/hooklaunch/key.pem", file("localhost_key.pem"));
  server = replaced(server, "hooks.example.com", "localhost");
  // So many that this machine can exceed them, whatever else it does.
  server = replaced(server, "rate=200r/s", "rate=2r/s");
  server = replaced(server, "burst=400", "burst=120");
  const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((name) => `${name}_temp_path ${folder}/${name};`).join(" ");
  return `daemon off; master_process off; pid ${folder}/pid; error_log ${folder}/error.log;
    events { worker_connections 2048; }
    http { access_log off; ${paths}\n${server}\n}`;
}

async function startFront(): Promise<Front> {
  const stack = new AsyncDisposableStack();
  const service = stack.use(await startService());
  const bodies = stack.use(new BodyReader({ timeout_ms: BODY_TIMEOUT_MS }));
  const exposure = { tls: false, dev: false, trustedProxies: new AddressRanges([NGINX]) };
  const app = routesOf(service, {
    bodies,
    peerOf: ({ req: { raw: { headers } } }) => peerOf(headers, NGINX, exposure),
  });
  const options = { hostname: "127.0.0.1", port: 0, onListen() {} };
  const server = Deno.serve(options, (request, arrival) => app.fetch(request, arrival));
  stack.defer(() => server.shutdown());
  const folder = stack.use(await temporaryFolder());
  const port = freePort();
  const path = `${folder.path}/nginx.conf`;
  await Deno.writeTextFile(path, configuration(port, server.addr.port, folder.path));
  const nginx = new Deno.Command("sh", {
    args: [
      "-c",
      'PATH="$PATH:/usr/sbin" exec nginx -c "$0" -e "$1"',
      path,
      `${folder.path}/start.log`,
    ],
    stdout: "null",
    stderr: "null",
  }).spawn();
  stack.defer(async () => {
    nginx.kill("SIGTERM");
    await nginx.status;
  });
  await eventually(async () => {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port }).catch(() => undefined);
    connection?.close();
    return connection;
  }, { what: "nginx that listens" });
  const client = stack.use(Deno.createHttpClient({ caCerts: [ca] }));
  return { service, port, client, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

function connect({ port }: Front): Promise<Deno.TlsConn> {
  return Deno.connectTls({ hostname: "localhost", port, caCerts: [ca] });
}

/** Sends text bit by bit until the other side has closed; returns its answer and how long that took. */
async function drip(front: Front, head: string, every_ms: number) {
  const began_ms = performance.now();
  using connection = await connect(front);
  let isClosed = false;
  const sending = (async () => {
    for (const text of [head, ..."x".repeat(10_000)]) {
      if (isClosed) return;
      await connection.write(new TextEncoder().encode(text)).catch(() => isClosed = true);
      await delay(every_ms);
    }
  })();
  const answer = await new Response(connection.readable).text().catch(() => "");
  isClosed = true;
  await sending;
  return { answer, took_ms: performance.now() - began_ms };
}

const requestOf = (path: string, more: string) =>
  `POST ${path} HTTP/1.1\r\nHost: localhost\r\n${more}`;

Deno.test({
  name: "nginx as the page has it lets launches through, and bounds heads, bodies, sizes and rates",
  ignore: !has("nginx"),
  fn: async (t) => {
    await using front = await startFront();
    const { service, port, client } = front;
    const { id, url } = await service.trigger({
      response: { type: "text", text: "{run_id}" },
      conditions: [{ type: "ip_allowlist", ranges: ["127.0.0.1"] }],
    });
    const { pathname } = new URL(url);
    const launch = (body: BodyInit, headers = {}) =>
      fetch(`https://localhost:${port}${pathname}`, { method: "POST", body, headers, client });

    await t.step("a launch, whose sender is who it is", async () => {
      const answer = await launch("x".repeat(100_000), { "x-forwarded-for": "192.0.2.1" });
      assertEquals(answer.status, 200);
      const { body } = await service.api("GET", `runs/${await answer.text()}/`);
      assertEquals([body.trigger_id, body.remote_ip, body.payload.size], [
        id,
        "127.0.0.1",
        100_000,
      ]);
    });
    await t.step("a body over the limit", async () => {
      const answer = await launch(new Uint8Array(25 * MIB));
      await answer.body?.cancel();
      assertEquals(answer.status, 413);
    });
    await t.step("slow heads and slow bodies come to an end", async () => {
      const [head, body, chunks] = await deadline(
        Promise.all([
          drip(front, requestOf(pathname, "X-Slow: "), 1_000),
          drip(front, requestOf(pathname, "Content-Length: 5000\r\n\r\n"), 100),
          drip(front, requestOf(pathname, "Transfer-Encoding: chunked\r\n\r\n5000\r\n"), 100),
        ]),
        60_000,
      );
      assertMatch(head.answer, /^$|^HTTP\/1\.1 408 /);
      assertLess(head.took_ms, 20_000);
      for (const { answer, took_ms } of [body, chunks]) {
        assertMatch(answer, /^HTTP\/1\.1 408 /);
        assertLess(took_ms, BODY_TIMEOUT_MS + 10_000);
      }
    });
    await t.step("a connection without a request comes to an end", async () => {
      using connection = await connect(front);
      assertEquals(await deadline(connection.read(new Uint8Array(1)), 20_000), null);
    });
    await t.step("more requests than an address may send", async () => {
      const answers = await Promise.all(Array.from({ length: 200 }, async () => {
        const answer = await launch("x");
        await answer.body?.cancel();
        return answer.status;
      }));
      assertEquals([...new Set(answers)].sort(), [200, 429]);
    });
  },
});

Deno.test({
  name: "nginx as the page has it bounds the requests of an address that are under way",
  ignore: !has("nginx"),
  fn: async () => {
    await using front = await startFront();
    const { pathname } = new URL((await front.service.trigger()).url);
    const connections = await Promise.all(
      Array.from({ length: 110 }, async () => {
        const connection = await connect(front);
        const text = requestOf(pathname, "Content-Length: 10\r\n\r\n");
        await connection.write(new TextEncoder().encode(text));
        return connection;
      }),
    );
    try {
      const first = await Promise.all(connections.map(async (connection) => {
        const buffer = new Uint8Array(64);
        const count = await connection.read(buffer).catch(() => 0);
        return new TextDecoder().decode(buffer.subarray(0, count ?? 0)).slice(9, 12);
      }));
      const counted = Map.groupBy(first, (status) => status);
      assertEquals([counted.get("429")?.length, counted.get("408")?.length], [10, 100]);
    } finally {
      for (const connection of connections) connection.close();
    }
  },
});
