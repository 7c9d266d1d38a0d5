/** The configurations of proxies that are printed on their page, in front of the service. */
import { assertEquals, assertLess, assertMatch } from "@std/assert";
import { blocksOf } from "../docs/blocks.ts";
import { has } from "../needs.ts";
import {
  BODY_TIMEOUT_MS,
  drip,
  type Front,
  frontTrigger,
  type Places,
  replaced,
  requestOf,
  startFront,
} from "./front.ts";

const MIB = 1_024 * 1_024;

/** Returns the file that the page prints. */
function printed(path: string): string {
  const blocks = blocksOf("src/docs/proxies.md");
  return blocks.find(({ text }) => text.startsWith(`# ${path}\n`))?.text ?? "";
}

function prepareCaddy({ port, upstream, folder, certificate, key }: Places): string {
  const file = replaced(printed("/etc/caddy/Caddyfile"), {
    "{\n\tservers": "{\n\tadmin off\n\tauto_https disable_redirects\n\tservers",
    "hooks.example.com {": `https://localhost:${port} {\n\ttls ${certificate} ${key}`,
    "127.0.0.1:8000": `127.0.0.1:${upstream}`,
    "read_header 10s": "read_header 2s",
    "read_body 30s": "read_body 5s",
  });
  Deno.writeTextFileSync(`${folder}/Caddyfile`, file);
  return `caddy run --config "$0/Caddyfile" --adapter caddyfile`;
}

function prepareHaproxy({ port, upstream, folder, certificate, key }: Places): string {
  const pem = [certificate, key].map((path) => Deno.readTextFileSync(path)).join("\n");
  Deno.writeTextFileSync(`${folder}/both.pem`, pem);
  const file = replaced(printed("/etc/haproxy/haproxy.cfg"), {
    "bind :443": `bind 127.0.0.1:${port}`,
    "/etc/haproxy/hooks.example.com.pem": `${folder}/both.pem`,
    "127.0.0.1:8000": `127.0.0.1:${upstream}`,
    "http-request 10s": "http-request 2s",
    "wait-for-body time 30s": "wait-for-body time 3s",
    // As many as this machine has, and so few that it can exceed them, whatever else it does.
    "maxconn 20000": "maxconn 1000",
    "http_req_rate(1s)": "http_req_rate(60s)",
    "http_req_rate gt 200": "http_req_rate gt 120",
  });
  Deno.writeTextFileSync(`${folder}/haproxy.cfg`, file);
  return `haproxy -db -f "$0/haproxy.cfg"`;
}

function prepareTraefik({ port, upstream, folder, certificate, key }: Places): string {
  const ports = replaced(printed("/etc/traefik/traefik.yml"), {
    ":443": `127.0.0.1:${port}`,
    "readTimeout: 30s": "readTimeout: 5s",
    "/etc/traefik/hooklaunch.yml": `${folder}/hooklaunch.yml`,
    "/var/lib/traefik/acme.json": `${folder}/acme.json`,
  });
  const routes = replaced(printed("/etc/traefik/hooklaunch.yml"), {
    "hooks.example.com": "localhost",
    "{ certResolver: letsencrypt }": "{}",
    "127.0.0.1:8000": `127.0.0.1:${upstream}`,
    "average: 200, burst: 400": "average: 2, burst: 120",
  });
  const certificates = `tls: { certificates: [{ certFile: ${certificate}, keyFile: ${key} }] }\n`;
  Deno.writeTextFileSync(`${folder}/traefik.yml`, ports);
  Deno.writeTextFileSync(`${folder}/hooklaunch.yml`, routes + certificates);
  return `traefik --configFile="$0/traefik.yml"`;
}

const proxies = [
  { name: "caddy", prepare: prepareCaddy, limitsRate: false },
  { name: "haproxy", prepare: prepareHaproxy, limitsRate: true },
  { name: "traefik", prepare: prepareTraefik, limitsRate: true },
] as const;

for (const { name, prepare, limitsRate } of proxies) {
  Deno.test({
    name: `${name} as the page has it lets launches through, and bounds heads, bodies and sizes`,
    ignore: !has(name),
    fn: async (t) => {
      await using front = await startFront(prepare);
      await tryFront(t, front, limitsRate);
    },
  });
}

async function tryFront(
  t: Deno.TestContext,
  front: Front,
  limitsRate: boolean,
): Promise<void> {
  const { service } = front;
  const { id, pathname, launch } = await frontTrigger(front);

  await t.step("a launch, whose sender is who it is", async () => {
    const answer = await launch("x".repeat(100_000), {
      "x-forwarded-for": "192.0.2.1",
      "x-forwarded-proto": "http",
    });
    assertEquals(answer.status, 200);
    const { body } = await service.api("GET", `runs/${await answer.text()}/`);
    const found = [body.trigger_id, body.remote_ip, body.payload.size];
    assertEquals(found, [id, "127.0.0.1", 100_000]);
  });
  await t.step("a body over the limit", async () => {
    const answer = await launch(new Uint8Array(25 * MIB));
    await answer.body?.cancel();
    assertEquals(answer.status, 413);
  });
  await t.step("slow heads and slow bodies come to an end", async () => {
    const [head, body] = await Promise.all([
      drip(front, requestOf(pathname, "X-Slow: "), 1_000),
      drip(front, requestOf(pathname, "Content-Length: 5000\r\n\r\n"), 100),
    ]);
    assertLess(head.took_ms, 12_000);
    assertMatch(body.answer, /^HTTP\/1\.1 408 /);
    assertLess(body.took_ms, BODY_TIMEOUT_MS + 10_000);
  });
  if (!limitsRate) return;
  await t.step("more requests than an address may send", async () => {
    const answers = await Promise.all(Array.from({ length: 200 }, async () => {
      const answer = await launch("x");
      await answer.body?.cancel();
      return answer.status;
    }));
    assertEquals([...new Set(answers)].sort(), [200, 429]);
  });
}
