/** `serve --kv`: the database is a remote Deno KV, which several machines share. */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { Browser, textOf } from "../http/console/fixture.ts";
import { eventually, temporaryFolder } from "../surroundings.ts";
import { KV_TOKEN, RemoteKv } from "../store/kv_connect.ts";
import { runHosted } from "./hosted.ts";
import { hooklaunch } from "./process.ts";

const TOKEN = "an-operators-token-for-tests";
const ID = "01900000-0000-7000-8000-000000000001";
const ENV = {
  HOOKLAUNCH_ADMIN_TOKEN: TOKEN,
  HOOKLAUNCH_SECRET_KEY: "00".repeat(32),
  [KV_TOKEN.name]: KV_TOKEN.value,
};
const QUOTA = 10;
const LIMIT = { type: "rate_limit", period: 3_600, quota: QUOTA };
/** A machine that says nothing for a quarter of a minute is gone. */
const GONE_MS_MAX = 40_000;

/** A project and a trigger with a quota, and how to serve them from a machine of their own. */
async function setUp() {
  const folder = await temporaryFolder();
  await Deno.mkdir(`${folder.path}/p`);
  await Deno.writeTextFile(
    `${folder.path}/p/valohai.yaml`,
    "- step: { name: s, image: i, command: 'true' }\n",
  );
  const trigger = {
    id: ID,
    name: "t",
    project: "p",
    conditions: [LIMIT],
    actions: [{ type: "run_execution", step: "s" }],
    response: { type: "json", json: { run_id: "{run_id}" } },
  };
  const config = `${folder.path}/hooklaunch.yaml`;
  await Deno.writeTextFile(
    config,
    JSON.stringify({ projects: [{ name: "p", directory: "./p" }], triggers: [trigger] }),
  );
  const machine = (name: string, kv: string, ...more: string[]) => {
    const at = ["--port", "0", "--data", `${folder.path}/${name}`, "--config", config, "--dev"];
    return hooklaunch(["serve", "--kv", kv, ...at, ...more], ENV);
  };
  return { folder, machine };
}

const REACHED = /reached as (http:\/\/127\.0\.0\.1:\d+)/;

async function launch(url: string): Promise<string | undefined> {
  const answer = await fetch(`${url}/api/v0/launch/${ID}/`, { method: "POST", body: "{}" });
  const text = await answer.text();
  return answer.status === 200 ? JSON.parse(text).run_id : undefined;
}

/** Waits until a run has ended, asking one machine. */
function endOf(url: string, id: string | undefined) {
  return eventually(async () => {
    const headers = { authorization: `Bearer ${TOKEN}` };
    const run = await (await fetch(`${url}/api/v0/runs/${id}/`, { headers })).json();
    return run.status === "completed" ? run : undefined;
  }, { what: `the end of run ${id}` });
}

Deno.test("serve --kv: several machines accept launches, one leads, and another one goes on where it has stopped", async () => {
  await using remote = new RemoteKv();
  const { folder, machine } = await setUp();
  await using _folder = folder;
  await using first = machine("first", remote.way().url);
  const [, firstUrl = ""] = await first.expect(REACHED);
  await using twin = machine("first", remote.way().url);
  assertEquals((await twin.end()).code, 1, "two machines with one data folder are refused");
  assertMatch(twin.printed(), /another (Hooklaunch )?process is using it/);
  await using second = machine("second", remote.way().url);
  await second.expect(/Following: another instance leads/);
  const [, url = ""] = await second.expect(REACHED);
  const accepted = await Promise.all(
    Array.from({ length: 5 }, (_, n) => launch(n % 2 === 0 ? firstUrl : url)),
  );
  // The machine that follows asks the leader.
  for (const id of accepted) await endOf(url, id);
  const headers = { authorization: `Bearer ${TOKEN}` };
  const read = async (path: string) =>
    await (await fetch(`${url}/api/v0/${path}/`, { headers })).json();
  // The leader has not seen this one.
  accepted.push(await launch(url));
  const { quotas: [{ left }] } = await read(`triggers/${ID}/quotas`);
  assertEquals(left, QUOTA - accepted.length, "what is left counts what both have accepted");
  const { results } = await read("instances");
  assertEquals(results.map(({ leads }: { leads: boolean }) => leads).sort(), [false, true]);
  const browser = new Browser(firstUrl);
  await browser.logIn(TOKEN);
  let seen = "";
  await eventually(async () => {
    const page = await browser.get("instances");
    assertStringIncludes(page.text, 'href="instances" aria-current="page"');
    seen = textOf(page);
    // It shows what each has told with its last beat.
    return ["✓ leads", "– follows", url, firstUrl, "the same"].every((part) =>
      seen.includes(part)
    ) ||
      undefined;
  }).catch((error) => {
    throw new Error(seen, { cause: error });
  });
  // A change at the leader counts for the next launch at the other machine.
  const change = async (changed: Record<string, unknown>) => {
    const { status, body } = await fetch(`${url}/api/v0/triggers/${ID}/`, {
      method: "PATCH",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify(changed),
    });
    await body?.cancel();
    return status;
  };
  const refusing = { type: "payload_filter", expression: "has(body.launches)" };
  const refusals = [
    [{ enabled: false }, { enabled: true }],
    [{ conditions: [LIMIT, refusing] }, { conditions: [LIMIT] }],
  ];
  for (const [refuse = {}, accept = {}] of refusals) {
    assertEquals(await change(refuse), 200);
    assertEquals([await launch(url), await launch(firstUrl)], [undefined, undefined]);
    assertEquals(await change(accept), 200);
    accepted.push(await launch(url));
    assertEquals(accepted.at(-1) !== undefined, true, JSON.stringify(accept));
  }

  first.child.kill("SIGSTOP");
  while (accepted.length < QUOTA) accepted.push(await launch(url));
  assertEquals(new Set(accepted).size, QUOTA, "all are accepted, as runs of their own");
  assertEquals(await launch(url), undefined, "the quota counts what both have accepted");
  await second.expect(/Leading: this instance performs the work/, GONE_MS_MAX);
  for (const id of accepted) await endOf(url, id);
  const rotated = () => {
    const keys = { HOOKLAUNCH_SECRET_KEY: `${"11".repeat(32)},${ENV.HOOKLAUNCH_SECRET_KEY}` };
    const args = ["--kv", remote.way().url, "--data", `${folder.path}/rotating`];
    return runHosted(["secret-key", "rotate", ...args], { ...ENV, ...keys });
  };
  const busy = await rotated();
  assertMatch(busy.printed, /another Hooklaunch process is using it/);
  assertEquals(busy.code, 1);
  first.child.kill("SIGCONT");
  assertEquals((await first.end()).code, 1, first.printed());
  assertMatch(first.printed(), /Another (process|instance) has taken/);
  second.child.kill("SIGTERM");
  assertEquals((await second.end()).code, 0, second.printed());
  const free = await rotated();
  assertMatch(free.printed, /Encrypted the secrets of 1 triggers/);
  assertEquals(free.code, 0);
});

Deno.test("serve --kv: it is stopped though its database does not answer", async () => {
  await using remote = new RemoteKv();
  const { folder, machine } = await setUp();
  await using _folder = folder;
  const way = remote.way();
  await using service = machine("only", way.url, "--stop-timeout", "0");
  const [, url = ""] = await service.expect(REACHED);
  way.isClosed = true;
  const waiting = launch(url).catch(() => "cut off");
  await eventually(async () => {
    const { status, body } = await fetch(`${url}/readyz`);
    await body?.cancel();
    return status === 503 ? true : undefined;
  }, { what: "that it is not ready" });
  service.child.kill("SIGTERM");
  assertEquals((await service.end()).code, 0, service.printed());
  const answered = await waiting;
  const isTold = answered !== undefined && answered !== "cut off";
  assertEquals(isTold, false, "nobody was told that a launch is stored");
});

Deno.test("--kv: what it needs beside the URL", async (t) => {
  await using folder = await temporaryFolder();
  const data = ["--data", `${folder.path}/data`];
  const cases: [name: string, url: string, env: Record<string, string>, says: RegExp][] = [
    [
      "a key",
      "https://kv.example.com",
      { HOOKLAUNCH_SECRET_KEY: "" },
      /SECRET_KEY.*Expected a key/,
    ],
    ["a URL", "kv.example.com", {}, /--kv: .*Expected the URL of a Deno KV/],
    ["no password", "https://a:secret@kv.example.com", {}, /--kv: .*without a query/],
    [
      "a token",
      "http://127.0.0.1:1",
      { [KV_TOKEN.name]: "" },
      /DENO_KV_ACCESS_TOKEN: .*found none/,
    ],
    ["one that answers", "http://127.0.0.1:1", {}, /--kv: .*Deno KV that answers.*refused/],
  ];
  for (const [name, url, env, says] of cases) {
    await t.step(name, async () => {
      const all = { ...ENV, ...env };
      const rotated = await runHosted(["secret-key", "rotate", "--kv", url, ...data], all);
      assertMatch(rotated.printed, says);
      assertEquals(rotated.code, 1);
      const { code, printed } = await runHosted(["serve", "--kv", url, ...data], all);
      assertMatch(printed, says);
      assertEquals([code, printed.includes("secret@"), printed.includes("    at ")], [
        1,
        false,
        false,
      ]);
    });
  }
});
