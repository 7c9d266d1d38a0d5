/** `hooklaunch doctor` tells each state of a service: ok, warning, failure or not checked, and what to do. */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { ApiClient } from "../../src/commands/api/client.ts";
import { type NamedResult, runChecks } from "../../src/commands/doctor/checks.ts";
import type { Surroundings } from "../../src/commands/doctor/facts.ts";
import { isPublic } from "../../src/platform/network/public_addresses.ts";
import { ADMIN_TOKEN, HMAC_CONDITION, startService } from "../data.ts";
import { PATIENCE_MS } from "../surroundings.ts";
import { runHosted } from "./hosted.ts";

const read = (name: string) => Deno.readTextFileSync(new URL(`../http/${name}`, import.meta.url));
const ca = read("localhost_ca.pem");
const tls = { cert: read("localhost_cert.pem"), key: read("localhost_key.pem") };
const DAY_MS = 86_400_000;
/** About the longest path of a folder. */
const PATH_MAX = Deno.build.os === "darwin" ? 1_010 : 4_090;
/** The end of the certificate of the tests. */
const END_MS = Date.parse("2126-10-28T08:33:43Z");

type Answers = Record<string, object>;

/** A client that trusts the certificate of the tests, and to which a service tells other things, too. */
class AlteredClient extends ApiClient {
  readonly #url: string;
  readonly #client: Deno.HttpClient;
  readonly #changes: Answers;

  constructor(url: string, client: Deno.HttpClient, changes: Answers) {
    super({ url, token: ADMIN_TOKEN });
    this.#url = url;
    this.#client = client;
    this.#changes = changes;
  }

  override async request<T>(method: string, path: string): Promise<T> {
    const answer = await fetch(`${this.#url}/api/v0/${path}`, {
      method,
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
      client: this.#client,
    });
    return Object.assign(await answer.json(), this.#changes[path]);
  }
}

/** The surroundings of a case, and what the service tells otherwise. */
type Changes = Partial<Surroundings> & { answers?: Answers; resolve?: string[] };

/** The checks that a case is about, each with its state and its words. */
type Expected = Record<string, [state: string, says: RegExp]>;

function surroundings(
  url: string,
  client: Deno.HttpClient,
  { answers = {}, resolve = ["127.0.0.1"], ...rest }: Changes,
): Surroundings {
  return {
    url,
    data: undefined,
    client: () => new AlteredClient(url, client, answers),
    network: { resolve: () => Promise.resolve(resolve), isPublic, caCerts: [ca] },
    now: () => Date.now(),
    timeout_ms: PATIENCE_MS,
    ...rest,
  };
}

const settingsOf = (changed: object) => ({
  "service/": { settings: { host: "0.0.0.0", ...changed } },
});
const otherUrl = (url: string) => ({ answers: { "service/": { url } } });
const local = (runner?: string) => ({
  results: [{ name: "p", engine: { type: "local", runner } }],
});
const backupOf = (told: object) => ({
  "service/": { backup: { to: "/srv/b", every_seconds: 3_600, failures: [], ...told } },
});
const cause = (group: string, text: string) => ({
  "attention/": {
    results: [{ group, text, advice: "Mend it", subject: { kind: "trigger", name: "t" } }],
  },
});

/** The cases, by their names. */
function casesOf(port: number, folder: string): Record<string, [Changes, Expected]> {
  const empty = `${folder}/none`;
  return {
    "a service as it should be": [
      { data: `${folder}/data`, answers: { "service/": { user_id: 1_000 } } },
      {
        ready: ["ok", /accepted/],
        api: ["ok", /version \d/],
        dns: ["warning", /127\.0\.0\.1, which the internet does not reach/],
        port: ["ok", /takes connections at 127\.0\.0\.1/],
        certificate: ["ok", /is for 127\.0\.0\.1 and ends in \d+ days/],
        public: ["ok", /launches are accepted/],
        clock: ["ok", /the service is right to a second, the public URL is right to a second/],
        plain_http: ["ok", /Nothing/],
        proxies: ["ok", /No proxy/],
        user: ["ok", /as user 1000/],
        disk: ["ok", /has room for/],
        backup: ["not_checked", /makes no backups/],
        tokens: ["ok", /No token/],
        senders: ["ok", /proves the sender/],
        secrets: ["ok", /No secret/],
        triggers: ["ok", /No other warning/],
        failures: ["ok", /Nothing fails/],
      },
    ],
    "backups that cannot be made": [
      { answers: backupOf({ failures: ["Backups to /srv/b fail: it is full"] }) },
      { backup: ["failure", /it is full.*backup now/] },
    ],
    "backups that are proven": [
      {
        answers: backupOf({
          last: { made_at: "2026-01-31T10:30:00Z" },
          proof: { proven_at: "2026-01-31T07:00:00Z" },
        }),
        now: () => Date.parse("2026-01-31T11:00:00Z"),
      },
      { backup: ["ok", /last backup in \/srv\/b is 30 min old; one was .* checked 4 h ago/] },
    ],
    "a backup that was not restored yet": [
      { answers: backupOf({ last: { made_at: new Date().toISOString() } }) },
      { backup: ["warning", /none was restored yet/] },
    ],
    "no backup yet": [{ answers: backupOf({}) }, { backup: ["warning", /no backup in \/srv\/b/] }],
    "a public address": [
      { ...otherUrl(`https://localhost:${port}`), resolve: ["198.41.0.4"] },
      { dns: ["ok", /localhost leads to 198\.41\.0\.4/] },
    ],
    "a name without an address": [
      { ...otherUrl(`https://localhost:${port}`), resolve: [] },
      {
        dns: ["failure", /localhost has no address.*Add an A/],
        port: ["not_checked", /see dns/],
        certificate: ["not_checked", /see dns/],
        public: ["not_checked", /see dns/],
      },
    ],
    "a certificate for another name": [
      // RFC 6761: all names below are this machine's.
      otherUrl(`https://other.localhost:${port}`),
      { certificate: ["failure", /not for other\.localhost, but for DNS:localhost/] },
    ],
    "a certificate that has expired": [
      { now: () => END_MS + 1 },
      { certificate: ["failure", /has expired at 2126-10-28T08:33:43\.000Z.*Renew/] },
    ],
    "a certificate that ends soon": [
      { now: () => END_MS - 3.5 * DAY_MS },
      { certificate: ["warning", /ends in 3 days/] },
    ],
    "a certificate that is not valid yet": [
      { now: () => 0 },
      { certificate: ["failure", /to come/], clock: ["failure", /the service is \d+ s ahead/] },
    ],
    "an authority that nobody trusts": [
      { network: { resolve: () => Promise.resolve([]), isPublic, caCerts: [] } },
      { certificate: ["failure", /not trusted here: UNABLE_TO_VERIFY.*DENO_CERT/] },
    ],
    "a clock that is behind": [
      { now: () => Date.now() + 40_000 },
      { clock: ["warning", /the service is \d+ s behind.*NTP/] },
    ],
    "no public URL": [
      otherUrl("http://127.0.0.1:8000"),
      {
        dns: ["not_checked", /this machine's own.*--acme/],
        port: ["not_checked", /see dns/],
        certificate: ["not_checked", /see dns/],
        public: ["not_checked", /see dns/],
      },
    ],
    "a public URL without TLS": [
      { answers: { "service/": { url: `http://hooks.invalid:${port}` } } },
      {
        certificate: ["not_checked", /without TLS: see plain_http/],
        plain_http: ["failure", /not encrypted/],
      },
    ],
    "plain HTTP for all": [
      { answers: settingsOf({ dev: true }) },
      { plain_http: ["failure", /--dev accepts plain HTTP.*without --dev/] },
    ],
    "a proxy": [
      { answers: settingsOf({ "trusted-proxy": "10.0.0.0/8, 192.0.2.7, 2001:db8::1" }) },
      { proxies: ["ok", /Trusted: 10\.0\.0\.0\/8/] },
    ],
    "many proxies": [
      { answers: settingsOf({ "trusted-proxy": "192.0.2.7, 16.0.0.0/4" }) },
      { proxies: ["warning", /trusts 16\.0\.0\.0\/4: /] },
    ],
    "all the world as a proxy": [
      { answers: settingsOf({ "trusted-proxy": "0.0.0.0/0, ::/0" }) },
      { proxies: ["failure", /trusts 0\.0\.0\.0\/0, ::\/0: .*proxies alone/] },
    ],
    "root, and processes": [
      { answers: { "service/": { user_id: 0 }, "projects/": local() } },
      { user: ["warning", /Root runs the steps of project "p"/] },
    ],
    "root, and containers": [
      { answers: { "service/": { user_id: 0 }, "projects/": local("docker") } },
      { user: ["ok", /no step does/] },
    ],
    "a user that is not known": [
      { answers: { "service/": { user_id: undefined } } },
      { user: ["not_checked", /does not know/] },
    ],
    "a full disk": [
      { answers: { "service/": { has_room: false } } },
      { disk: ["failure", /nearly full.*Free space/] },
    ],
    "another machine": [
      { data: empty },
      { disk: ["not_checked", /no data folder/], fsync: ["not_checked", /no data folder/] },
    ],
    "a folder into which this user cannot write": [
      { data: fullPath(folder) },
      { fsync: ["not_checked", /Cannot write into \/.*Run doctor as the user of the service/] },
    ],
    "tokens with and without an end": [
      {
        answers: {
          "tokens/": {
            results: [{ name: "ci" }, { name: "ada", expires_at: "2127-01-01T00:00:00Z" }],
          },
        },
      },
      { tokens: ["warning", /Without an end: token "ci" →/] },
    ],
    "a failure": [
      { answers: cause("failure", "It does not work") },
      { failures: ["failure", /trigger "t": It does not work.*Mend it/], senders: ["ok", /./] },
    ],
    "another warning": [
      { answers: cause("setup", "It could be better") },
      { triggers: ["warning", /1 warning, first trigger "t": It could be better/] },
    ],
  };
}

/** Makes a folder whose path is so long that it can have no file: root, too, cannot write into it. */
function fullPath(folder: string): string {
  let path = folder;
  while (path.length < PATH_MAX) path += `/${"d".repeat(Math.min(250, PATH_MAX - path.length))}`;
  Deno.mkdirSync(path, { recursive: true });
  return path;
}

/** Checks that data from the table reaches the words of people: what is said, and what to do. */
function assertResults(results: readonly NamedResult[], expected: Expected): void {
  for (const [check, [state, says]] of Object.entries(expected)) {
    const found = results.find((each) => each.check === check);
    const text = `${found?.text} → ${found?.advice ?? ""}`;
    assertEquals([found?.state, check], [state, check], text);
    assertMatch(text, says);
  }
}

Deno.test("doctor tells each state of a service that serves TLS", async (t) => {
  await using plain = await startService();
  await plain.service.close(0);
  const { Service } = await import("../../src/service/service.ts");
  const { settings, clock } = plain.service.parts;
  const service = await Service.start({ ...settings, dev: false, tls }, {
    clock,
    env: () => undefined,
  });
  using client = Deno.createHttpClient({ caCerts: [ca] });
  try {
    for (const [name, [changes, expected]] of Object.entries(casesOf(service.port, plain.folder))) {
      await t.step(name, async () => {
        const isWanted = (check: string) => Object.hasOwn(expected, check);
        const around = surroundings(service.url, client, changes);
        assertResults(await runChecks(around, isWanted), expected);
      });
    }
    const left = [...Deno.readDirSync(settings.data)].filter(({ name }) => name.startsWith("tmp-"));
    assertEquals(left, []);
  } finally {
    await service.close(0);
  }
});

Deno.test("the command prints one line a check, and its exit code tells of failures", async () => {
  await using service = await startService({ env: { SHORT: "only-eleven" } });
  const { uid } = await Deno.lstat(service.folder);
  assertEquals((await service.api("GET", "service/")).body.user_id, uid);
  await service.trigger({ name: "open" });
  await service.trigger({
    name: "short",
    conditions: [{ ...HMAC_CONDITION, secrets: ["{env:SHORT}"] }],
  });
  await service.api("POST", "tokens/", { name: "endless" });
  const { body: { token } } = await service.api("POST", "tokens/", {
    name: "reader",
    scope: "read",
    expires_at: new Date(Date.now() + DAY_MS).toISOString(),
  });
  const env = { HOOKLAUNCH_ADMIN_TOKEN: ADMIN_TOKEN };
  const run = (args: string[] = [], more: Record<string, string> = {}) =>
    runHosted(["doctor", "--url", service.url, ...args], { ...env, ...more });
  // Of one that does not answer nothing is known.
  const away = await run(["--url", "http://127.0.0.1:1"]);
  assertEquals(away.code, 1);
  assertMatch(away.printed, /^not checked +dns +The public URL is not known/m);
  const { code, printed } = await run(["--data", `${service.folder}/data`]);
  assertEquals(code, 0, printed);
  const lines = printed.trimEnd().split("\n");
  assertMatch(printed, /^ok +ready +\/readyz/m);
  assertMatch(printed, /^not checked +dns +.*→ Once senders/m);
  assertMatch(printed, /^(ok|warning) +fsync +The disk keeps a block within [\d.]+ ms/m);
  assertMatch(printed, /^warning +senders +.*trigger "open" →/m);
  assertMatch(printed, /^warning +secrets +.*trigger "short" are short: .*SHORT can be guessed/m);
  assertMatch(printed, /^warning +tokens +Without an end: token "endless" →/m);
  assertMatch(lines.at(-1) ?? "", /^no failures, \d warnings$/);

  const json: NamedResult[] = JSON.parse((await run(["--json"])).printed);
  assertEquals(json.length, lines.length - 1);
  assertEquals(
    json.map(({ check }) => check),
    lines.slice(0, -1).map((line) => line.slice(13).split(" ")[0]),
  );
  // A token checks what it may see.
  const limits = { name: "limited", projects: ["files"] };
  const { body: { token: limited } } = await service.api("POST", "tokens/", limits);
  for (const HOOKLAUNCH_ADMIN_TOKEN of [token, limited]) {
    const { code, printed } = await run([], { HOOKLAUNCH_ADMIN_TOKEN });
    assertEquals(code, 0, printed);
    assertMatch(printed, /^ok +api +The API answers/m);
    assertMatch(
      printed,
      /^not checked +tokens +.*→ Use a token with the scope admin and no limits$/m,
    );
  }
  // Without a token nothing is asked of the API, and so nothing of it fails.
  const without = await runHosted(["doctor", "--url", service.url], {});
  assertEquals(without.code, 0, without.printed);
  assertMatch(
    without.printed,
    /^not checked +api +.*Expected it in the variable HOOKLAUNCH_ADMIN/m,
  );
  assertMatch(without.printed, /^not checked +tokens +The API is not asked: see the check api$/m);
  const wrong = await run([], { HOOKLAUNCH_ADMIN_TOKEN: "a-token-that-is-not-known" });
  assertEquals(wrong.code, 1);
  assertMatch(wrong.printed, /^ok +ready/m);
  assertMatch(wrong.printed, /^failure +api +The service answered 401/m);
  assertMatch(wrong.printed, /^not checked +tokens +The API does not answer: see the check api$/m);
  assertStringIncludes(wrong.printed, "1 failure");
});
