/** A service gets its certificate from an authority, renews it, and says what keeps it from one. */
import {
  assert,
  assertEquals,
  assertMatch,
  assertNotEquals,
  assertStringIncludes,
} from "@std/assert";
import { deadline } from "@std/async/deadline";
import { X509Certificate } from "node:crypto";
import { connect } from "node:tls";
import { serviceCauses } from "../../src/attention/service_causes.ts";
import { Renewal } from "../../src/acme/renewal.ts";
import type { AcmeSettings } from "../../src/acme/settings.ts";
import { Service } from "../../src/service/service.ts";
import { getCertificate, getOrderFailure } from "../../src/store/records/acme.ts";
import { ADMIN_TOKEN, eventually, temporaryFolder, TestClock } from "../data.ts";
import { has } from "../needs.ts";
import { hooklaunch } from "../commands/process.ts";
import { KV_TOKEN, RemoteKv } from "../store/kv_connect.ts";
import { freePort } from "../surroundings.ts";
import { type Pebble, startPebble } from "./pebble.ts";

const DAY_MS = 86_400_000;
const DOMAIN = "hooks.example.com";

/** Starts a service that gets its certificate from an authority; it ends with its scope. */
async function start(
  folder: string,
  clock: TestClock,
  acme: Partial<AcmeSettings> & Pick<AcmeSettings, "names" | "directory" | "port">,
): Promise<AsyncDisposable & { service: Service }> {
  const service = await Service.start({
    host: "127.0.0.1",
    port: 0,
    data: `${folder}/data`,
    trustedProxies: [],
    dev: false,
    payloadBytesMax: 1024,
    retention_days: 30,
    executionsMax: 1,
    stopTimeout_ms: 2_000,
    adminToken: ADMIN_TOKEN,
    acme,
  }, { clock, env: () => undefined });
  return { service, [Symbol.asyncDispose]: () => service.close(0) };
}

/** The certificate that is served for a name. */
interface Seen {
  serial: string;
  names: string;
  days: number;
  /** The authority's root has signed it. */
  isTrusted: boolean;
}

function look({ port }: { port: number }, name: string, root: string): Promise<Seen> {
  const { promise, resolve, reject } = Promise.withResolvers<Seen>();
  const options = { host: "127.0.0.1", port, ca: root, rejectUnauthorized: false };
  const isDomain = !/^[\d.]+$/.test(name);
  const socket = connect({ ...options, ...(isDomain && { servername: name }) }, () => {
    const { raw } = socket.getPeerCertificate();
    const { serialNumber: serial, subjectAltName = "", validFrom, validTo } = new X509Certificate(
      raw,
    );
    const days = Math.round((Date.parse(validTo) - Date.parse(validFrom)) / DAY_MS);
    resolve({ serial, names: subjectAltName, days, isTrusted: socket.authorized });
    socket.destroy();
  });
  socket.on("error", reject);
  return promise;
}

/** Waits for a certificate of the authority, other than one before. */
function trusted(
  service: { port: number },
  name: string,
  root: string,
  before = "",
): Promise<Seen> {
  return eventually(async () => {
    const seen = await look(service, name, root).catch(() => undefined);
    return seen?.isTrusted && seen.serial !== before ? seen : undefined;
  }, { what: `a trusted certificate of ${name}` });
}

function chainOf(service: Service): Promise<string> {
  return getCertificate(service.parts.store).then((stored) => stored?.chain ?? "");
}

/** Returns what needs attention of the certificate. */
async function trouble(service: Service): Promise<string | undefined> {
  const causes = await serviceCauses(service.parts);
  return causes.find(({ code }) => code === "certificate_failed")?.text;
}

async function metric(service: Service, name: string): Promise<number> {
  const { body } = await service.parts.metrics.text();
  return Number(
    new RegExp(`^hooklaunch_certificate_${name}_timestamp_seconds (.*)$`, "m").exec(body)?.[1],
  );
}

Deno.test({ name: "certificates of an authority", ignore: !has("pebble") }, async (test) => {
  await using folder = await temporaryFolder();
  await using pebble = await startPebble(folder.path);
  const { directory, ca, root, httpPort: port } = pebble;
  const clock = new TestClock(Date.now());
  const settings = { directory, ca, port, names: [DOMAIN] };
  let first: Seen | undefined;

  await test.step("a domain: ordered at the first start, kept over a restart", async () => {
    await using served = await start(folder.path, clock, settings);
    const { service } = served;
    assertEquals(service.url, `https://${DOMAIN}:${service.port}`);
    first = await trusted(service, DOMAIN, root);
    assertEquals(first.names, `DNS:${DOMAIN}`);
    assertEquals(await trouble(service), undefined);
    const end_s = await metric(service, "end");
    // Pebble chooses the lifetime where no profile is asked for.
    assert(Math.abs(end_s - Date.now() / 1_000 - first.days * 86_400) < 3_600, String(end_s));
    await plainHttp(service, port);
    const stored = await getCertificate(service.parts.store);
    assertMatch(stored?.key ?? "", /^aes-256-gcm:/);
  });

  await test.step("it is served at once by the next start", async () => {
    await using served = await start(folder.path, clock, settings);
    assertEquals((await look(served.service, DOMAIN, root)).serial, first?.serial);
  });

  await test.step("another authority, such as after its staging one: ordered at the next start", async () => {
    const other = directory.replace("127.0.0.1", "localhost");
    await using served = await start(folder.path, clock, { ...settings, directory: other });
    await trusted(served.service, DOMAIN, root, first?.serial);
    assertEquals((await getCertificate(served.service.parts.store))?.directory, other);
  });

  await test.step("one more name, an IP address: for six days", async () => {
    const names = [DOMAIN, "127.0.0.1"];
    await using served = await start(folder.path, clock, { ...settings, names });
    const { service } = served;
    const seen = await trusted(service, "127.0.0.1", root, first?.serial);
    assertEquals(seen.days, 6);
    assertStringIncludes(seen.names, "IP Address:127.0.0.1");
  });

  await test.step("renewed at two thirds of its lifetime, and when the authority says so", async () => {
    await using served = await start(folder.path, clock, settings);
    const { service } = served;
    const before = await trusted(service, DOMAIN, root);
    await service.parts.certificates?.tick();
    assertEquals((await look(service, DOMAIN, root)).serial, before.serial);
    const now_ms = Date.now();
    await pebble.suggest(
      await chainOf(service),
      new Date(now_ms - 2 * DAY_MS),
      new Date(now_ms - DAY_MS),
    );
    clock.time_ms += 7 * 3_600_000;
    await service.parts.certificates?.tick();
    const suggested = await look(service, DOMAIN, root);
    assertNotEquals(suggested.serial, before.serial);
    assertEquals(await trouble(service), undefined);

    clock.time_ms += 61 * DAY_MS;
    await service.parts.certificates?.tick();
    const renewed = await look(service, DOMAIN, root);
    assertNotEquals(renewed.serial, suggested.serial);
    // To this clock the new certificate is to be renewed, too.
    assertMatch(await trouble(service) ?? "", /the clock of this machine says .*Set the clock/);
    await service.parts.certificates?.tick();
    assertEquals((await look(service, DOMAIN, root)).serial, renewed.serial);
    clock.time_ms = Date.now();
  });

  await test.step("what fails is told, and the old certificate stays", async () => {
    for (
      const [change, what] of [
        [{ names: [DOMAIN, "blocked.example.com"] }, /rejectedIdentifier.*give another name/],
        [{ port: port - 1, names: [DOMAIN, "more.example.com"] }, /connection.*port 80.*firewall/],
        [{ ca: undefined, names: [DOMAIN, "more.example.com"] }, /Cannot reach .*--acme-ca/],
        [
          { dnsHook: "echo no token >&2; false", names: [DOMAIN, "more.example.com"] },
          /--acme-dns-hook ends with 1 for present _acme-challenge\..*no token/,
        ],
      ] as const
    ) {
      await using served = await start(folder.path, clock, withChange(settings, change));
      const { service } = served;
      const text = await eventually(async () => {
        const text = await trouble(service);
        return text !== undefined && what.test(text) ? text : undefined;
      }, { what: String(what) });
      assertMatch(text, /The one that is served ends at .* The next try is at /);
      assert((await look(service, DOMAIN, root)).isTrusted);
      assert(await metric(service, "failure") > 0);
    }
  });

  await test.step("a port that another process listens on: no order is made before it is free", async () => {
    const taken = Deno.listen({ hostname: "127.0.0.1", port });
    const data = `${folder.path}/taken`;
    await Deno.mkdir(data);
    await using served = await start(data, clock, settings);
    const { service } = served;
    await service.parts.certificates?.tick();
    assertMatch(
      await trouble(service) ?? "",
      new RegExp(
        `another process listens on port ${port} of 127\\.0\\.0\\.1\\. End it, or .*--acme-dns-hook\\. Until`,
      ),
    );
    assert(await metric(service, "failure") > 0);
    assertEquals(await getOrderFailure(service.parts.store), undefined);
    taken.close();
    service.sweep();
    await trusted(service, DOMAIN, root);
    assertEquals(await trouble(service), undefined);
    assertEquals(await metric(service, "failure"), 0);
  });

  await test.step("a wildcard by DNS records that a command sets", async () => {
    const hook = `${folder.path}/hook`;
    const [set, clear] = ["set", "clear"].map((verb) => `${pebble.names}/${verb}-txt`);
    await Deno.writeTextFile(
      hook,
      `#!/bin/sh
env | grep -v '^\\(PWD\\|SHLVL\\|_\\|OLDPWD\\|PATH\\)=' >>${hook}.env
echo "$1 $2" >>${hook}.log
case $1 in
present) url=${set} ;;
cleanup) url=${clear} ;;
esac
exec curl -sf -d "{\\"host\\":\\"$2.\\",\\"value\\":\\"$3\\"}" $url
`,
      { mode: 0o755 },
    );
    const names = ["*.example.org"];
    const data = `${folder.path}/dns`;
    await Deno.mkdir(data);
    await using served = await start(data, clock, { ...settings, names, dnsHook: hook });
    const { service } = served;
    const seen = await trusted(service, "any.example.org", root);
    assertEquals(seen.names, "DNS:*.example.org");
    const record = "_acme-challenge.example.org";
    assertEquals(
      await Deno.readTextFile(`${hook}.log`),
      `present ${record}\ncleanup ${record}\n`,
    );
    assertEquals(await Deno.readTextFile(`${hook}.env`), "");
  });

  await test.step("three instances: the leader is killed between order and challenge, and another one orders", async () => {
    await threeInstances(folder.path, pebble);
  });
});

Deno.test(
  { name: "an authority that wants an account of its own first", ignore: !has("pebble") },
  async (test) => {
    await using folder = await temporaryFolder();
    const hmac = crypto.getRandomValues(new Uint8Array(32))
      .toBase64({ alphabet: "base64url", omitPadding: true });
    await using pebble = await startPebble(folder.path, { "kid-1": hmac });
    const { directory, ca, root, httpPort: port } = pebble;
    const clock = new TestClock(Date.now());
    const settings = { directory, ca, port, names: [DOMAIN] };
    const refusals: [eab: AcmeSettings["eab"] | undefined, says: RegExp][] = [
      [undefined, /externalAccountRequired.*--acme-eab-kid and --acme-eab-hmac/],
      [{ kid: "kid-2", hmac }, /does not know this account.*Compare --acme-eab-kid/],
      [{ kid: "kid-1", hmac: "b3RoZXI=" }, /does not know this account.*Compare --acme-eab-kid/],
    ];
    for (const [eab, says] of refusals) {
      await test.step(`refused: ${says}`, async () => {
        await using served = await start(folder.path, clock, { ...settings, ...(eab && { eab }) });
        const { service } = served;
        const text = await eventually(async () => {
          const text = await trouble(service) ?? "";
          return says.test(text) ? text : undefined;
        }, { what: String(says) });
        assert(!text.includes(hmac), text);
      });
    }
    const eab = { kid: "kid-1", hmac };
    await test.step("bound to it, and found again by the next order", async () => {
      let before = "";
      for (const names of [[DOMAIN], [DOMAIN, "more.example.com"]]) {
        await using served = await start(folder.path, clock, { ...settings, eab, names });
        const { serial } = await trusted(served.service, DOMAIN, root, before);
        assertNotEquals(serial, before);
        before = serial;
        assertEquals(await trouble(served.service), undefined);
      }
    });
  },
);

Deno.test("once a clock that was far ahead is set, the authority is asked for the time of a renewal", async () => {
  const clock = new TestClock();
  const renewal = new Renewal(clock);
  const from_ms = clock.now();
  const leaf = {
    id: "a.b",
    from_ms,
    until_ms: from_ms + 90 * DAY_MS,
    due_ms: from_ms + 60 * DAY_MS,
  };
  let asked = 0;
  const ask = () => Promise.resolve(void asked++);
  for (const ahead_ms of [20 * DAY_MS, 0]) {
    clock.ahead_ms = ahead_ms;
    clock.time_ms += DAY_MS / 3;
    assertEquals(await renewal.isDue(leaf, ask), false);
  }
  assertEquals(asked, 2);
});

Deno.test("a request whose body does not come on the port of plain HTTP does not hold up a stop", async () => {
  await using folder = await temporaryFolder();
  const port = freePort();
  const authority = { directory: "https://127.0.0.1:1/dir", names: [DOMAIN] };
  const served = await start(folder.path, new TestClock(Date.now()), { ...authority, port });
  using sender = await Deno.connect({ hostname: "127.0.0.1", port });
  const head = `POST / HTTP/1.1\r\nHost: ${DOMAIN}\r\nContent-Length: 2\r\n\r\n`;
  await sender.write(new TextEncoder().encode(head));
  const answer = new Uint8Array(1024);
  const length = await sender.read(answer) ?? 0;
  assertMatch(new TextDecoder().decode(answer.subarray(0, length)), /^HTTP\/1\.1 308 /);
  await deadline(served.service.close(0), 10_000);
});

/** Starts three instances on one database, by the command that the page of the documentation prints. */
async function threeInstances(
  folder: string,
  { directory, root, httpPort }: Pebble,
): Promise<void> {
  const page = await Deno.readTextFile(new URL("../../src/docs/https.md", import.meta.url));
  const [, command = ""] = /^hooklaunch (serve --acme .*)$/m.exec(page) ?? [];
  await using remote = new RemoteKv();
  await using running = new AsyncDisposableStack();
  const instances = ["a", "b", "c"].map((name) => {
    const plainPort = freePort();
    const process = running.use(hooklaunch(command.split(" "), {
      HOOKLAUNCH_HOST: "127.0.0.1",
      HOOKLAUNCH_PORT: "0",
      HOOKLAUNCH_DATA: `${folder}/${name}`,
      HOOKLAUNCH_KV: remote.way().url,
      HOOKLAUNCH_SECRET_KEY: "00".repeat(32),
      HOOKLAUNCH_ADMIN_TOKEN: ADMIN_TOKEN,
      HOOKLAUNCH_ACME_DIRECTORY: directory,
      HOOKLAUNCH_ACME_CA: new URL("../http/localhost_ca.pem", import.meta.url).pathname,
      HOOKLAUNCH_ACME_PORT: String(plainPort),
      [KV_TOKEN.name]: KV_TOKEN.value,
    }));
    const reached = process.expect(/reached as https:\/\/hooks\.example\.com:(\d+)/);
    return { process, plainPort, port: reached.then(([, port]) => Number(port)) };
  });
  const leads = ({ process }: typeof instances[number]) => /Leading: /.test(process.printed());
  const all = Promise.all(instances.map(({ port }) => port));
  // The authority's first look, which is several at once, is the end of the leader: another one orders anew.
  const looked = Promise.withResolvers<void>();
  const killing = looked.promise.then(async () => {
    await all;
    const leader = await eventually(() => instances.find(leads), { what: "a leader" });
    leader.process.child.kill("SIGKILL");
    await leader.process.end();
    return leader;
  });
  let killed: typeof instances[number] | undefined;
  const front = Deno.serve(
    { hostname: "127.0.0.1", port: httpPort, onListen() {} },
    async (request) => {
      looked.resolve();
      if (killed === undefined) {
        killed = await killing;
        return new Response("gone", { status: 503 });
      }
      // The one that follows answers the challenge of the one that leads.
      const follower = instances.find((each) => each !== killed && !leads(each));
      const { pathname } = new URL(request.url);
      return await fetch(`http://127.0.0.1:${follower?.plainPort}${pathname}`);
    },
  );
  running.defer(() => front.shutdown());
  const ports = await all;
  const gone = await killing;
  const left = ports.filter((_, index) => instances[index] !== gone);
  const seen = await Promise.all(left.map((port) => trusted({ port }, DOMAIN, root)));
  assertEquals(seen.length, 2);
  assertEquals(seen[0]?.serial, seen[1]?.serial);
}

function withChange(settings: AcmeSettings, change: { [name: string]: unknown }): AcmeSettings {
  const changed = Object.assign({ ...settings }, change);
  for (const [name, value] of Object.entries(change)) {
    if (value === undefined) Reflect.deleteProperty(changed, name);
  }
  return changed;
}

/** Plain HTTP leads on to HTTPS, and never a launch. */
async function plainHttp(service: Service, port: number): Promise<void> {
  const url = `http://127.0.0.1:${port}`;
  const id = "01900000-0000-7000-8000-000000000001";
  const secure = `https://${DOMAIN}:${service.port}`;
  for (
    const [method, path, status, location] of [
      ["GET", "/triggers?x=1", 308, `${secure}/triggers?x=1`],
      ["POST", "/login", 308, `${secure}/login`],
      ["POST", `/api/v0/launch/${id}/`, 403, null],
      ["GET", `/api/v0/launch/${id}/run/?run_id=1`, 403, null],
      ["GET", "/.well-known/acme-challenge/unknown", 404, null],
      ["GET", "/.well-known/acme-challenge/../../triggers", 308, `${secure}/triggers`],
      ["POST", "/.well-known/acme-challenge/unknown", 405, null],
    ] as const
  ) {
    const answer = await fetch(url + path, { method, redirect: "manual" });
    await answer.body?.cancel();
    assertEquals([path, answer.status, answer.headers.get("location")], [path, status, location]);
  }
}
