/** The configuration of nginx that is printed on the page about operating, in front of the service. */
import { assertEquals, assertLess, assertMatch } from "@std/assert";
import { deadline } from "@std/async/deadline";
import { blocksOf } from "../docs/blocks.ts";
import { has } from "../needs.ts";
import {
  BODY_TIMEOUT_MS,
  connect,
  drip,
  frontTrigger,
  type Places,
  replaced,
  requestOf,
  startFront,
} from "./front.ts";

const MIB = 1_024 * 1_024;

/** Writes the printed configuration with the ports and the certificate of this test. */
function prepare({ port, upstream, folder, certificate, key }: Places): string {
  const block = blocksOf("src/docs/operating.md").find(({ language }) => language === "nginx");
  const server = replaced(block?.text ?? "", {
    "listen 443": `listen 127.0.0.1:${port}`,
    "127.0.0.1:8000": `127.0.0.1:${upstream}`,
    "/etc/hooklaunch/cert.pem": certificate,
    "/etc/hooklaunch/key.pem": key,
    "hooks.example.com": "localhost",
    // So many that this machine can exceed them, whatever else it does.
    "rate=200r/s": "rate=2r/s",
    "burst=400": "burst=120",
  });
  const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((name) => `${name}_temp_path ${folder}/${name};`).join(" ");
  Deno.writeTextFileSync(
    `${folder}/nginx.conf`,
    `daemon off; master_process off; pid ${folder}/pid; error_log ${folder}/error.log;
    events { worker_connections 2048; }
    http { access_log off; ${paths}\n${server}\n}`,
  );
  return `nginx -c "$0/nginx.conf" -e "$0/start.log"`;
}

Deno.test({
  name: "nginx as the page has it lets launches through, and bounds heads, bodies, sizes and rates",
  ignore: !has("nginx"),
  fn: async (t) => {
    await using front = await startFront(prepare);
    const { service } = front;
    const { id, pathname, launch } = await frontTrigger(front);

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
    await using front = await startFront(prepare);
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
