import { assertEquals } from "@std/assert";
import { ADMIN_TOKEN, startService } from "../data.ts";
import { AddressRanges } from "../../src/platform/network/ip_ranges.ts";
import { type Exposure, peerOf } from "../../src/http/peer.ts";

const ca = Deno.readTextFileSync(new URL("localhost_ca.pem", import.meta.url));
const cert = Deno.readTextFileSync(new URL("localhost_cert.pem", import.meta.url));
const key = Deno.readTextFileSync(new URL("localhost_key.pem", import.meta.url));

Deno.test("plain HTTP is refused on every path but those of probes", async (t) => {
  await using dev = await startService();
  const { id } = await dev.trigger();
  await dev.service.close(0);
  const { Service } = await import("../../src/service/service.ts");
  const { settings } = dev.service.parts;
  const service = await Service.start({ ...settings, dev: false }, {
    clock: dev.service.parts.clock,
    env: () => undefined,
  });
  const authorization = { authorization: `Bearer ${ADMIN_TOKEN}` };
  const cases: [method: string, path: string, status: number][] = [
    ["POST", `/api/v0/launch/${id}/`, 403],
    ["POST", "/api/v0/launch/01900000-0000-7000-8000-000000000000/", 403],
    ["GET", `/api/v0/launch/${id}/`, 405],
    ["GET", `/api/v0/launch/${id}/run/`, 403],
    ["GET", "/api/v0/triggers/", 403],
    ["GET", "/api/v0/openapi.json", 403],
    ["GET", "/nowhere", 403],
    ["GET", "/readyz", 200],
    ["GET", "/healthz", 200],
  ];
  try {
    for (const [method, path, status] of cases) {
      await t.step(`${method} ${path}`, async () => {
        const headers = { ...authorization, "x-forwarded-proto": "https" };
        const answer = await fetch(service.url + path, { method, headers });
        await answer.body?.cancel();
        assertEquals(answer.status, status);
      });
    }
  } finally {
    await service.close(0);
  }
});

Deno.test("the service itself serves TLS", async () => {
  await using service = await startService({ settings: { dev: true } });
  const { id } = await service.trigger({ response: { type: "text", text: "hello" } });
  const plain = await fetch(`${service.url}/docs/`);
  await plain.body?.cancel();
  assertEquals(plain.headers.get("strict-transport-security"), null);
  await service.service.close(0);
  const { Service } = await import("../../src/service/service.ts");
  const { settings, clock } = service.service.parts;
  const secure = await Service.start({ ...settings, dev: false, tls: { cert, key } }, {
    clock,
    env: () => undefined,
  });
  using client = Deno.createHttpClient({ caCerts: [ca] });
  try {
    const answer = await fetch(`https://localhost:${secure.port}/api/v0/launch/${id}/`, {
      method: "POST",
      client,
    });
    assertEquals([answer.status, await answer.text()], [200, "hello"]);
    // Browsers are told to stay with HTTPS, whatever they ask for first.
    for (const path of ["", "login", "docs/", "api/v0/triggers/", "nowhere"]) {
      const page = await fetch(`https://localhost:${secure.port}/${path}`, { client });
      await page.body?.cancel();
      assertEquals(page.headers.get("strict-transport-security"), "max-age=31536000", path);
    }
  } finally {
    await secure.close(5_000);
  }
});

Deno.test("a trusted proxy's word is believed, and nobody else's", async (t) => {
  const behind = (trusted: string[], rest: Partial<Exposure> = {}): Exposure => ({
    tls: false,
    dev: false,
    trustedProxies: new AddressRanges(trusted),
    ...rest,
  });
  const proxies = behind(["10.0.0.0/8", "fd00::/8", "192.0.2.7"]);
  const cases: {
    name: string;
    exposure?: Exposure;
    from: string;
    proto?: string;
    forwardedFor?: string;
    ip: string;
    secure: boolean;
  }[] = [
    {
      name: "proxy over HTTPS",
      from: "10.1.2.3",
      proto: "https",
      forwardedFor: "203.0.113.5",
      ip: "203.0.113.5",
      secure: true,
    },
    {
      name: "proxy over HTTP",
      from: "10.1.2.3",
      proto: "http",
      forwardedFor: "203.0.113.5",
      ip: "203.0.113.5",
      secure: false,
    },
    { name: "proxy that says nothing", from: "10.1.2.3", ip: "10.1.2.3", secure: false },
    {
      name: "an address alone",
      from: "192.0.2.7",
      proto: "HTTPS",
      forwardedFor: "203.0.113.5",
      ip: "203.0.113.5",
      secure: true,
    },
    {
      name: "not the neighbour",
      from: "192.0.2.8",
      proto: "https",
      forwardedFor: "203.0.113.5",
      ip: "192.0.2.8",
      secure: false,
    },
    {
      name: "a stranger's claim",
      from: "198.51.100.1",
      proto: "https",
      forwardedFor: "127.0.0.1",
      ip: "198.51.100.1",
      secure: false,
    },
    {
      name: "counted from the right",
      from: "10.1.2.3",
      proto: "https",
      forwardedFor: "1.1.1.1, 203.0.113.5, 10.9.9.9",
      ip: "203.0.113.5",
      secure: true,
    },
    {
      name: "forged entries stay at the left",
      from: "10.1.2.3",
      proto: "https",
      forwardedFor: "10.0.0.1, 203.0.113.5",
      ip: "203.0.113.5",
      secure: true,
    },
    {
      name: "nonsense in the list",
      from: "10.1.2.3",
      proto: "https",
      forwardedFor: "203.0.113.5, unknown",
      ip: "unknown",
      secure: true,
    },
    {
      name: "the nearest proxy's word on HTTPS",
      from: "10.1.2.3",
      proto: "https, http",
      forwardedFor: "203.0.113.5",
      ip: "203.0.113.5",
      secure: false,
    },
    {
      name: "IPv6 proxy and client",
      from: "fd12::1",
      proto: "https",
      forwardedFor: "2001:db8::5",
      ip: "2001:db8::5",
      secure: true,
    },
    {
      name: "IPv4 mapped into IPv6",
      from: "::ffff:10.1.2.3",
      proto: "https",
      forwardedFor: "::ffff:203.0.113.5",
      ip: "203.0.113.5",
      secure: true,
    },
    {
      name: "with ports",
      from: "10.1.2.3",
      proto: "https",
      forwardedFor: "203.0.113.5:4711, [fd00::9]:80",
      ip: "203.0.113.5",
      secure: true,
    },
    {
      name: "own TLS",
      exposure: behind([], { tls: true }),
      from: "203.0.113.5",
      ip: "203.0.113.5",
      secure: true,
    },
    {
      name: "--dev from this machine",
      exposure: behind([], { dev: true }),
      from: "127.0.0.1",
      ip: "127.0.0.1",
      secure: true,
    },
    {
      name: "--dev from this machine over IPv6",
      exposure: behind([], { dev: true }),
      from: "::1",
      ip: "::1",
      secure: true,
    },
    {
      name: "--dev from elsewhere",
      exposure: behind([], { dev: true }),
      from: "192.0.2.1",
      ip: "192.0.2.1",
      secure: false,
    },
  ];
  for (const { name, exposure = proxies, from, proto, forwardedFor, ip, secure } of cases) {
    await t.step(name, () => {
      const headers = new Headers();
      if (proto) headers.set("x-forwarded-proto", proto);
      if (forwardedFor) headers.set("x-forwarded-for", forwardedFor);
      assertEquals(peerOf(headers, from, exposure), { ip, secure });
    });
  }
});
