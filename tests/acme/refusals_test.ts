/** An authority that limits, refuses, fails or never ends: each is told with what to do, and asked again in time. */
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { exportJWK, generateKeyPair } from "@panva/jose";
import { type AccountKey, AcmeClient } from "../../src/acme/client.ts";
import { AcmeError } from "../../src/acme/error.ts";
import { CertificateKeeper } from "../../src/acme/keeper.ts";
import { newCertificateKey } from "../../src/acme/certificate_request.ts";
import { orderCertificate } from "../../src/acme/order.ts";
import { covers, readNames } from "../../src/acme/names.ts";
import { checkAcme, LETS_ENCRYPT } from "../../src/acme/settings.ts";
import { ACCOUNT_OWNER, CERTIFICATE_OWNER, sealAcmeAgain } from "../../src/acme/seal_again.ts";
import {
  getAccount,
  getCertificate,
  putAccount,
  putCertificate,
} from "../../src/store/records/acme.ts";
import { challengePortError } from "../../src/http/listen_error.ts";
import { secretBox } from "../../src/triggers/secrets.ts";
import { type Clock, systemClock } from "../../src/platform/clock.ts";
import { InvalidInputError } from "../../src/platform/errors.ts";
import { openTestStore } from "../store/fixture.ts";
import { TestClock } from "../surroundings.ts";

const pem = (name: string) =>
  Deno.readTextFileSync(new URL(`../http/${name}.pem`, import.meta.url));
const CA = pem("localhost_ca");
const NAME = "hooks.example.com";
const { signal } = new AbortController();

/** Answers of the server, by the path. */
type Answers = Record<string, (url: string) => Response>;

function problem(type: string, detail: string, status: number, headers = {}): Response {
  const document = { type: `urn:ietf:params:acme:error:${type}`, detail };
  return Response.json(document, { status, headers: { "replay-nonce": "n", ...headers } });
}

/** A server of ACME that answers as it is told. */
function authority(answers: Answers) {
  const asked: string[] = [];
  const server: Deno.HttpServer<Deno.NetAddr> = Deno.serve({
    hostname: "127.0.0.1",
    port: 0,
    cert: pem("localhost_cert"),
    key: pem("localhost_key"),
    onListen() {},
  }, async (request) => {
    await request.body?.cancel();
    const url = `https://127.0.0.1:${server.addr.port}`;
    const { pathname } = new URL(request.url);
    asked.push(pathname);
    const told = answers[pathname]?.(url);
    if (told !== undefined) return told;
    const headers = { "replay-nonce": "n", location: `${url}${pathname}/1` };
    if (pathname !== "/dir") return Response.json({}, { headers });
    const names = ["newNonce", "newAccount", "newOrder"];
    return Response.json(Object.fromEntries(names.map((name) => [name, `${url}/${name}`])));
  });
  return {
    directory: `https://127.0.0.1:${server.addr.port}/dir`,
    asked,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

async function accountKey(): Promise<AccountKey> {
  const { privateKey } = await generateKeyPair("ES256", { extractable: true });
  // A key of this kind has these fields.
  return await exportJWK(privateKey) as AccountKey;
}

/** Orders a certificate at a server. */
async function order(directory: string, clock = systemClock): Promise<string> {
  const key = await accountKey();
  using client = await AcmeClient.open({ directory, ca: CA, key, signal });
  await client.signUp();
  const nothing = () => Promise.resolve();
  return await orderCertificate({
    client,
    accountKey: key,
    names: [NAME],
    key: newCertificateKey(),
    prover: { type: "http-01", present: nothing, cleanUp: nothing },
    clock,
    signal,
  });
}

const headers = { "replay-nonce": "n" };

Deno.test("each refusal of an authority says what to do", async (test) => {
  const authorization = (challenges: unknown[], status = "pending") => (): Response =>
    Response.json({ status, identifier: { type: "dns", value: NAME }, challenges }, { headers });
  const withOrder = (answers: Answers): Answers => ({
    "/newOrder": (url) =>
      Response.json({ status: "pending", authorizations: [`${url}/authorization`] }, {
        headers: { ...headers, location: `${url}/order` },
      }),
    ...answers,
  });
  const http = (url = "") => ({ type: "http-01", token: "t", url: `${url}/challenge` });
  const error = { type: "urn:ietf:params:acme:error:dns", detail: "no such name" };
  const rows: [name: string, answers: Answers, message: RegExp][] = [
    [
      "a directory that is none",
      { "/dir": () => new Response("hello") },
      /Expected the directory .*--acme-directory/,
    ],
    ["a directory that fails", { "/dir": () => new Response("", { status: 503 }) }, /answers 503/],
    [
      "an account from elsewhere",
      { "/newAccount": () => problem("externalAccountRequired", "no", 403) },
      /externalAccountRequired.*--acme-eab-kid and --acme-eab-hmac/,
    ],
    [
      "a name that nobody knows",
      withOrder({ "/authorization": authorization([{ ...http(), error }], "invalid") }),
      /no such name \(dns\).*A or AAAA record/,
    ],
    [
      "no challenge over HTTP",
      withOrder({ "/authorization": authorization([{ type: "dns-01" }]) }),
      /no challenge http-01 for hooks\.example\.com/,
    ],
    [
      "a nonce that is never good",
      { "/newOrder": () => problem("badNonce", "again", 400) },
      /badNonce/,
    ],
  ];
  for (const [name, answers, message] of rows) {
    await test.step(name, async () => {
      await using server = authority(answers);
      const thrown = await assertRejects(() => order(server.directory), AcmeError);
      assertMatch(thrown.message, message);
    });
  }

  await test.step("an order that stays pending", async () => {
    // A minute passes with each wait.
    let waited = 0;
    const clock: Clock = {
      ...systemClock,
      steady: () => 60_000 * waited,
      after: (_, call) => systemClock.after(0, () => (waited++, call())),
    };
    await using server = authority(withOrder({
      "/authorization": authorization([http("https://127.0.0.1")], "valid"),
      "/order": () => Response.json({ status: "pending" }, { headers }),
    }));
    const thrown = await assertRejects(() => order(server.directory, clock), AcmeError);
    assertMatch(thrown.message, /still pending after 5 minutes.*tries again by itself/);
  });
});

Deno.test("a limit of the authority is kept, also over a restart", async () => {
  let isLimited = true;
  await using server = authority({
    "/newOrder": () =>
      isLimited
        ? problem("rateLimited", "too many certificates", 429, { "retry-after": "7200" })
        : problem("rejectedIdentifier", "not this one", 400),
  });
  await using opened = await openTestStore();
  const { store } = opened;
  const secrets = secretBox([new Uint8Array(32)]);
  const clock = new TestClock();
  const settings = checkAcme({ names: [NAME], directory: server.directory, ca: CA, port: 80 });
  const orders = () => server.asked.filter((path) => path === "/newOrder").length;
  const start = async (abort: AbortSignal, directory = server.directory) => {
    const given = { ...settings, directory };
    const keeper = await CertificateKeeper.open(given, { store, secrets, clock });
    keeper.start({ serve: () => Promise.resolve(), leads: () => true, signal: abort });
    await keeper.tick();
    return keeper;
  };
  for (const _ of ["first", "restarted"]) {
    const closing = new AbortController();
    const keeper = await start(closing.signal);
    assertMatch(
      keeper.trouble?.text ?? "",
      /too many certificates \(rateLimited\)\. Wait: .*\. The next try is at 2026-01-01T02:00:00/,
    );
    assertEquals([keeper.failed_ms, keeper.until_ms], [Date.UTC(2026, 0, 1), undefined]);
    closing.abort();
    await keeper.close();
  }
  assertEquals(orders(), 1);

  isLimited = false;
  const closing = new AbortController();
  const keeper = await start(closing.signal);
  clock.time_ms += 2 * 3_600_000;
  await keeper.tick();
  assertMatch(keeper.trouble?.text ?? "", /not this one \(rejectedIdentifier\)/);
  assertEquals(orders(), 2);
  await keeper.tick();
  assertEquals(orders(), 2);
  clock.time_ms += 4 * 60_000;
  await keeper.tick();
  assertEquals(orders(), 3);
  closing.abort();
  await keeper.close();
  // Of an order that failed while the clock was wrong, no time is right once it is set.
  clock.time_ms += 400 * 24 * 3_600_000;
  const ahead = new AbortController();
  const wrong = await start(ahead.signal);
  assertEquals(orders(), 4);
  clock.time_ms -= 400 * 24 * 3_600_000;
  await wrong.tick();
  assertEquals(orders(), 5);
  ahead.abort();
  await wrong.close();
  // Who starts it again may have mended what failed.
  const again = new AbortController();
  await (await start(again.signal)).close();
  again.abort();
  assertEquals(orders(), 6);
  // The time that an authority has named is not that of another one.
  isLimited = true;
  const other = server.directory.replace("127.0.0.1", "localhost");
  for (const [directory, expected] of [[undefined, 7], [undefined, 7], [other, 8]] as const) {
    const abort = new AbortController();
    const keeper = await start(abort.signal, directory);
    assertEquals(orders(), expected);
    abort.abort();
    await keeper.close();
  }
});

Deno.test("the keys of the account and of the certificate are encrypted with a new key", async () => {
  await using opened = await openTestStore();
  const { store } = opened;
  const [before, after] = [new Uint8Array(32), new Uint8Array(32).fill(1)];
  const box = secretBox([before]);
  await putAccount(store, LETS_ENCRYPT, box.seal("account", ACCOUNT_OWNER));
  const key = box.seal("certificate", CERTIFICATE_OWNER);
  await putCertificate(store, { names: [NAME], directory: LETS_ENCRYPT, chain: CA, key });
  await sealAcmeAgain(store, secretBox([after, before]));
  const alone = secretBox([after]);
  assertEquals(
    alone.open(await getAccount(store, LETS_ENCRYPT) ?? "", ACCOUNT_OWNER),
    "account",
  );
  const stored = await getCertificate(store);
  assertEquals(alone.open(stored?.key ?? "", CERTIFICATE_OWNER), "certificate");
});

Deno.test("names and settings that cannot be ordered are refused at the start", () => {
  const rows: [names: string[], expected: string[] | RegExp][] = [
    [["Hooks.Example.com.", "hooks.example.com"], ["hooks.example.com"]],
    [["[2001:DB8::1]", "192.0.2.7"], ["2001:db8::1", "192.0.2.7"]],
    [["localhost"], /found "localhost"/],
    [["https://hooks.example.com"], /Expected a domain/],
    [["bücher.example"], /xn--/],
    [Array.from({ length: 101 }, (_, index) => `a${index}.example.com`), /at most 100/],
  ];
  for (const [given, expected] of rows) {
    const read = readNames(given);
    if (expected instanceof RegExp) assertMatch("wrong" in read ? read.wrong : "", expected);
    else assertEquals(read, { names: expected });
  }
  for (
    const [name, host, isCovered] of [
      ["a.example.com", "a.example.com", true],
      ["*.example.com", "a.example.com", true],
      ["*.example.com", "a.b.example.com", false],
      ["*.example.com", "example.com", false],
      ["*.example.com", "aexample.com", false],
    ] as const
  ) assertEquals(covers(name, host), isCovered, `${name} ${host}`);
  const settings = { directory: LETS_ENCRYPT, port: 80, names: [NAME] };
  for (
    const [change, message] of [
      [{ names: ["*.example.com"] }, /--acme-dns-hook for \*\.example\.com/],
      [{ names: ["192.0.2.7"], dnsHook: "hook" }, /domains alone.*found 192\.0\.2\.7/],
      [{ directory: "http://ca.example.com/dir" }, /--acme-directory.*found "http:/],
      [{ email: "me" }, /--acme-email.*found "me"/],
      [{ eab: { kid: "a b", hmac: "aGVsbG8" } }, /--acme-eab-kid: .*ASCII/],
      [{ eab: { kid: "a", hmac: "no-base64!" } }, /--acme-eab-hmac: .*another text$/],
    ] as const
  ) {
    const thrown = assertThrowsInvalid(() => checkAcme({ ...settings, ...change }));
    assertMatch(thrown, message);
  }
});

Deno.test("a port of challenges that cannot be listened on is told with what to do", () => {
  const { AddrInUse, PermissionDenied, NotCapable, AddrNotAvailable } = Deno.errors;
  const rows: [error: Error, says: RegExp][] = [
    [new AddrInUse("in use"), /another process listens on port 80 of 0\.0\.0\.0\. End it, or /],
    [new PermissionDenied("no"), /this user may not listen .*AmbientCapabilities=CAP_NET_BIND/],
    [new NotCapable("no"), /--allow-net does not have 0\.0\.0\.0:80\. Add it there$/],
    [new AddrNotAvailable("no such address"), /no such address\. Look at --acme-port and --host$/],
  ];
  for (const [error, says] of rows) {
    assertMatch(challengePortError(error, { host: "0.0.0.0", port: 80 }), says);
  }
});

function assertThrowsInvalid(call: () => unknown): string {
  try {
    call();
  } catch (error) {
    assert(error instanceof InvalidInputError);
    return error.message;
  }
  throw new Error("It was accepted");
}
