/** The backups that `serve` makes by itself, and the commands that list, make and restore them. */
import {
  assert,
  assertEquals,
  assertLessOrEqual,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { ADMIN_TOKEN, eventually, temporaryFolder } from "../data.ts";
import { runHosted } from "./hosted.ts";
import { hooklaunch, type Running } from "./process.ts";

const ENV = { HOOKLAUNCH_ADMIN_TOKEN: ADMIN_TOKEN };
const ID = "01900000-0000-7000-8000-000000000001";
const PAYLOADS = 3;
const PAYLOAD_BYTES = 4 * 1024 * 1024;
const NAME = /^hooklaunch-\d{8}T\d{6}Z\.tar\.gz$/;

/** A service that makes backups once a day, but for those that it is asked for. */
class Served implements AsyncDisposable {
  private constructor(readonly process: Running, readonly url: string) {}

  static async start(folder: string): Promise<Served> {
    const at = ["--port", "0", "--data", `${folder}/data`, "--dev", "--log-format", "text"];
    const process = hooklaunch(["serve", "--config", `${folder}/hooklaunch.yaml`, ...at], ENV);
    const [, url = ""] = await process.expect(/reached as (http:\/\/127\.0\.0\.1:\d+)/);
    return new Served(process, url);
  }

  async api(method: string, path: string): Promise<Response> {
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
    return await fetch(`${this.url}/api/v0/${path}`, { method, headers });
  }

  [Symbol.asyncDispose]() {
    return this.process[Symbol.asyncDispose]();
  }
}

/** Random bytes, which take their size in an archive, too. */
function payload(): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(PAYLOAD_BYTES);
  for (let at = 0; at < bytes.length; at += 65_536) {
    crypto.getRandomValues(bytes.subarray(at, at + 65_536));
  }
  return bytes;
}

async function namesIn(folder: string): Promise<string[]> {
  const entries = await Array.fromAsync(Deno.readDir(folder)).catch(() => []);
  return entries.map(({ name }) => name).sort();
}

Deno.test("a service that is killed while it makes a backup leaves none, and the next ones are whole", async (test) => {
  const began_ms = performance.now();
  await using folder = await temporaryFolder();
  const { path } = folder;
  const target = `${path}/backups`;
  await Deno.mkdir(`${path}/project`);
  await Deno.mkdir(target);
  await Deno.writeTextFile(
    `${path}/project/valohai.yaml`,
    "- step: { name: s, image: i, command: 'true' }\n",
  );
  await Deno.writeTextFile(
    `${path}/hooklaunch.yaml`,
    JSON.stringify({
      backup: { to: "./backups", every: "7d" },
      projects: [{ name: "p", directory: "./project" }],
      triggers: [{
        id: ID,
        name: "t",
        project: "p",
        actions: [{ type: "run_execution", step: "s" }],
      }],
    }),
  );
  {
    await using served = await Served.start(path);
    for (let sent = 0; sent < PAYLOADS; sent++) {
      const answer = await fetch(`${served.url}/api/v0/launch/${ID}/`, {
        method: "POST",
        body: payload(),
      });
      assertEquals([answer.status, await answer.text()], [200, '{"status":"accepted"}']);
    }
    await stoppedWhileWriting(served, target);
    served.process.child.kill("SIGKILL");
    await served.process.end();
  }
  // A rename that had begun when the process stopped has made the backup whole.
  const before = (await namesIn(target)).filter((name) => name !== ".tmp");
  assert((await namesIn(`${target}/.tmp`)).length + before.length > 0);
  for (const name of before) {
    const restored = await runHosted(["restore", `${target}/${name}`, "--data", `${path}/${name}`]);
    assertEquals(restored.code, 0, restored.printed);
  }
  assert((await namesIn(`${path}/data`)).some((name) => name.startsWith("tmp-backup-")));

  await using served = await Served.start(path);
  await test.step("now and list", async () => {
    const at = ["--url", served.url];
    // The one that the schedule makes may be under way.
    const now = await eventually(async () => {
      const ended = await runHosted(["backup", "now", ...at], ENV);
      return ended.code === 0 ? ended : undefined;
    });
    assertMatch(
      now.printed,
      /^Made hooklaunch-\S+\.tar\.gz: .+, \d+ files, \d+ records\. It was restored into a temporary folder and checked\n$/,
    );
    const listed = await runHosted(["backup", "list", ...at, "--json"], ENV);
    const backups: { name: string; state: string }[] = JSON.parse(listed.printed);
    const [newest] = backups;
    assertEquals(newest?.state, "proven");
    assertMatch(newest?.name ?? "", NAME);
    // Of those of one hour the newest is kept.
    const there = (await namesIn(target)).filter((name) => NAME.test(name)).toReversed();
    assertEquals(backups.map(({ name }) => name), there);
    const { printed } = await runHosted(["backup", "list", ...at, "-q"], ENV);
    assertEquals(printed.split("\n", 1), [newest?.name]);
    assertEquals((await namesIn(`${path}/data`)).filter((name) => name.startsWith("tmp-")), []);
  });

  await test.step("what others read of them", async () => {
    const { backup } = await (await served.api("GET", "service/")).json();
    assertEquals([backup.to, backup.every_seconds, backup.failures], [target, 7 * 86_400, []]);
    assertEquals(backup.last.name, backup.proof.name);
    const metrics = await (await fetch(`${served.url}/metrics`, {
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
    })).text();
    const made_s = Date.parse(backup.last.made_at) / 1_000;
    assertStringIncludes(metrics, `\nhooklaunch_backup_last_timestamp_seconds ${made_s}\n`);
    const proven_s = Date.parse(backup.proof.proven_at) / 1_000;
    assertStringIncludes(metrics, `\nhooklaunch_backup_proof_timestamp_seconds ${proven_s}\n`);
    assertStringIncludes(metrics, "\nhooklaunch_backup_interval_seconds 604800\n");
    assertStringIncludes(metrics, `\nhooklaunch_backup_size_bytes ${backup.last.size}\n`);
    assertMatch(metrics, /^hooklaunch_backup_jobs_total{job="prove",outcome="succeeded"} [1-9]/m);
    const doctor = await runHosted(["doctor", "--url", served.url, "--json"], ENV);
    const results = JSON.parse(doctor.printed);
    const found = results.find(({ check }: { check: string }) => check === "backup");
    assertEquals(found.state, "ok");
    const told =
      /^The last backup in .+ is (\d+) min old; one was restored and checked (\d+) min ago$/;
    const ages_min = told.exec(found.text)?.slice(1).map(Number) ?? [];
    assertEquals(ages_min.length, 2, found.text);
    assertLessOrEqual(
      Math.max(...ages_min),
      Math.round((performance.now() - began_ms) / 60_000),
      found.text,
    );
  });

  await test.step("restore says what it does, and takes the newest or the named one", async () => {
    const [newest = ""] = (await namesIn(target)).toReversed();
    const restored = await runHosted(["restore", target, "--data", `${path}/new`], ENV);
    assertStringIncludes(restored.printed, `Restoring ${newest}, the newest of `);
    assertStringIncludes(restored.printed, ` in ${target}, made at `);
    assertMatch(restored.printed, /^Restored \d+ files to /m);
    const missing = "hooklaunch-20200101T000000Z.tar.gz";
    const cases: [named: string, says: string][] = [
      [`${target}/${missing}`, `found no ${missing} there; the newest is ${newest}`],
      [path, `found none in ${path}`],
      [`${path}/none`, `Cannot read ${path}/none`],
      ["s3://bucket/prefix", "AWS_ACCESS_KEY_ID"],
    ];
    for (const [named, says] of cases) {
      const { code, printed } = await runHosted(["restore", named, "--data", `${path}/no`], ENV);
      assertEquals(code, 1, named);
      assertStringIncludes(printed, says);
    }
  });
});

/** Has a service make backups until its process is stopped while one is written. */
async function stoppedWhileWriting(served: Served, target: string): Promise<void> {
  const { child } = served.process;
  for (;;) {
    const before = (await namesIn(target)).filter((name) => NAME.test(name)).length;
    using watcher = Deno.watchFs(target, { recursive: true });
    await eventually(async () => {
      // The proof of the one before may be under way.
      const { status, body } = await served.api("POST", "backups/");
      await body?.cancel();
      return status === 202 ? true : undefined;
    });
    for await (const _ of watcher) {
      child.kill("SIGSTOP");
      if ((await namesIn(`${target}/.tmp`)).length > 0) return;
      child.kill("SIGCONT");
      // It was whole before the process stopped: another one is made.
      if ((await namesIn(target)).filter((name) => NAME.test(name)).length > before) break;
    }
  }
}

Deno.test("backup now goes on over a moment in which its service is away", async () => {
  const name = "hooklaunch-20270131T093000Z.tar.gz";
  const status = { to: "/backups", every_seconds: 3_600, failures: [] };
  const last = { name, made_at: "2027-01-31T09:30:00Z", size: 1, files: 0, records: 2 };
  const answers = [
    { backup: { ...status, working: false } },
    { ...status, working: true },
    { backup: { ...status, working: true } },
    undefined,
    { backup: { ...status, working: false, last, proof: { name, proven_at: last.made_at } } },
  ];
  await using server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, () => {
    const next = answers.shift();
    return next ? Response.json(next) : new Response(null, { status: 503 });
  });
  const url = `http://127.0.0.1:${server.addr.port}`;
  const { code, printed } = await runHosted(["backup", "now", "--url", url], ENV);
  assertEquals(code, 0, printed);
  assertMatch(printed, /^Made hooklaunch-20270131T093000Z\.tar\.gz: /);
});
