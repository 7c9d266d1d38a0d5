/**
 * `backup` beside a service that is at work, and what it leaves when it cannot be made. What is
 * stopped, or beside a service, runs as a process of its own.
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { delay } from "@std/async/delay";
import { unpackTar } from "modern-tar";
import { createHash } from "node:crypto";
import {
  ADMIN_TOKEN,
  eventually,
  SECRET,
  signature,
  startService,
  temporaryFolder,
} from "../data.ts";
import { runHosted } from "./hosted.ts";
import { HOOKLAUNCH, hooklaunch, type Running } from "./process.ts";

const ENV = { HOOKLAUNCH_ADMIN_TOKEN: ADMIN_TOKEN };
/** How many launches are acknowledged before the backup begins. */
const BEFORE = 16;
const SENDERS = 4;

const PROJECT = `
- step:
    name: copy
    image: debian
    command: cp "$VH_INPUTS_DIR"/labels/* "$VH_OUTPUTS_DIR/"
    inputs:
      - name: labels
- step:
    name: slow
    image: debian
    command: echo begun && sleep 60
`;

const CONFIG = (folder: string) => `
projects:
  - { name: files, directory: ${folder}/project }
triggers:
  - name: copy
    project: files
    conditions: [{ type: hmac, algorithm: sha256, header: X-Signature, prefix: "sha256=", secrets: [${SECRET}] }]
    actions: [{ type: run_execution, step: copy, payload_input_name: labels }]
    response: { type: json, json: { run: "{run_id}" } }
  - name: slow
    project: files
    conditions: [{ type: hmac, algorithm: sha256, header: X-Signature, prefix: "sha256=", secrets: [${SECRET}] }]
    actions: [{ type: run_execution, step: slow }]
    response: { type: json, json: { run: "{run_id}" } }
`;

/** A service that runs as a process of its own. */
interface Served extends AsyncDisposable {
  url: string;
  process: Running;
  // The tests look into it by the API's contract.
  // deno-lint-ignore no-explicit-any
  api(path: string): Promise<any>;
  stop(): Promise<void>;
}

async function serve(data: string, more: string[] = []): Promise<Served> {
  const flags = ["--dev", "--port", "0", "--max-executions", "4", "--stop-timeout", "0"];
  const process = hooklaunch(["serve", ...flags, "--data", data, ...more], ENV);
  const [, url = ""] = await process.expect(/reached as (http:\/\/127\.0\.0\.1:\d+)/);
  return {
    url,
    process,
    async api(path) {
      const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
      const answer = await fetch(`${url}/api/v0/${path}`, { headers });
      assertEquals(answer.status, 200, path);
      return await answer.json();
    },
    async stop() {
      process.child.kill("SIGTERM");
      await process.end();
    },
    [Symbol.asyncDispose]: () => process[Symbol.asyncDispose](),
  };
}

/** Sends a launch and answers the run's id. */
async function launch(url: string, body: string): Promise<string> {
  const answer = await fetch(url, { method: "POST", body, headers: signature(body) });
  const text = await answer.text();
  assertEquals(answer.status, 200, text);
  return JSON.parse(text).run;
}

async function launchUrls({ api }: Served): Promise<Record<string, string>> {
  const { results } = await api("triggers/");
  return Object.fromEntries(
    results.map(({ name, url }: { name: string; url: string }) => [name, new URL(url).pathname]),
  );
}

/** All elements of a list. */
async function all<T>({ url, api }: Served, path: string): Promise<T[]> {
  const found: T[] = [];
  for (let next: string | null = `${url}/api/v0/${path}?limit=200`; next !== null;) {
    const page: { results: T[]; next: string | null } = await api(next.split("/api/v0/")[1] ?? "");
    found.push(...page.results);
    next = page.next;
  }
  return found;
}

interface Execution {
  id: string;
  run_id: string;
  step: string;
  status: string;
  reason?: string;
  outputs: { path: string; size: number; sha256: string }[];
}

function sha256(bytes: string | Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function bodyOf(place: number): string {
  return JSON.stringify({ place, text: `${place} `.repeat(place % 7 === 0 ? 30_000 : 20) });
}

Deno.test("a backup that is made while launches arrive has all that was acknowledged before", async (t) => {
  await using folder = await temporaryFolder();
  const at = (name: string) => `${folder.path}/${name}`;
  await Deno.mkdir(at("project"));
  await Deno.writeTextFile(at("project/valohai.yaml"), PROJECT);
  await Deno.writeTextFile(at("hooklaunch.yaml"), CONFIG(folder.path));
  /** What was sent with each run. */
  const sent = new Map<string, string>();
  const before = new Set<string>();
  let slow = "";

  await t.step("launches arrive before and during the backup, and none is refused", async () => {
    await using service = await serve(at("data"), ["--config", at("hooklaunch.yaml")]);
    const urls = await launchUrls(service);
    slow = await launch(service.url + urls.slow, "slow");
    await eventually(async () => {
      const executions = await all<Execution>(service, "executions/");
      return executions.find(({ status }) => status === "started");
    }, { what: "the start of the slow step" });
    let place = 0;
    let isOver = false;
    const send = async (isEnough: () => boolean, pause_ms: number) => {
      while (!isEnough()) {
        const body = bodyOf(place++);
        sent.set(await launch(service.url + urls.copy, body), body);
        await delay(pause_ms);
      }
    };
    const senders = (isEnough: () => boolean, pause_ms: number) =>
      Promise.all(Array.from({ length: SENDERS }, () => send(isEnough, pause_ms)));
    await senders(() => place >= BEFORE, 0);
    for (const id of sent.keys()) before.add(id);
    const sending = senders(() => isOver, 200);
    const args = ["backup", at("backup.tar.gz"), "--data", at("data"), "--json"];
    const { code, stdout, stderr } = await output(args);
    isOver = true;
    await sending;
    assertEquals(code, 0, new TextDecoder().decode(stderr));
    const report = JSON.parse(new TextDecoder().decode(stdout));
    assertEquals(report.flaws, []);
    assertEquals(report.sha256, sha256(await Deno.readFile(at("backup.tar.gz"))));
    assertEquals(((await Deno.stat(at("backup.tar.gz"))).mode ?? 0) & 0o777, 0o600);
    assert(sent.size > before.size, "launches arrived while it was made");
    assert(!service.process.printed().includes("locked"), service.process.printed());
    // It would outlive the service.
    const executions = await all<Execution>(service, "executions/");
    const stopped = executions.find(({ run_id }) => run_id === slow);
    const answer = await fetch(`${service.url}/api/v0/executions/${stopped?.id}/stop/`, {
      method: "POST",
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
    });
    assertEquals(answer.status, 202);
    await answer.body?.cancel();
    await service.stop();
  });

  await t.step("what is restored from it goes on where the backup was made", async () => {
    const restored = await runHosted(["restore", at("backup.tar.gz"), "--data", at("restored")]);
    assertEquals(restored.code, 0, restored.printed);
    assertStringIncludes(restored.printed, "running in the backup");
    await using service = await serve(at("restored"));
    for (const id of before) {
      const ended = await eventually(async () => {
        const found = await service.api(`runs/${id}/`);
        return found.status === "pending" ? undefined : found;
      }, { what: `the end of run ${id}` });
      assertEquals(ended.status, "completed");
    }
    const executions = await eventually(async () => {
      const found = await all<Execution>(service, "executions/");
      return found.every(({ status }) => ["complete", "error"].includes(status))
        ? found
        : undefined;
    }, { what: "the end of all executions" });

    const byRun = Map.groupBy(executions, ({ run_id }) => run_id);
    for (const [id, of] of byRun) assertEquals(of.length, 1, `executions of run ${id}`);
    const [ran] = byRun.get(slow) ?? [];
    assertEquals(ran?.status, "error", "what ran is not started again");
    assertStringIncludes(ran?.reason ?? "", "its data came from a backup");
    for (const id of before) {
      const body = sent.get(id) ?? "";
      const answer = await fetch(`${service.url}/api/v0/runs/${id}/payload/`, {
        headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
      });
      assertEquals(sha256(await answer.bytes()), sha256(body), `the payload of run ${id}`);
      const [execution] = byRun.get(id) ?? [];
      assert(execution, `run ${id} has its execution`);
      if (execution.status === "complete") {
        assertEquals(execution.outputs[0]?.sha256, sha256(body), `the output of run ${id}`);
        const path = `executions/${execution.id}/outputs/${execution.outputs[0]?.path}`;
        const output = await fetch(`${service.url}/api/v0/${path}`, {
          headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
        });
        assertEquals(sha256(await output.bytes()), sha256(body));
      } else assertStringIncludes(execution.reason ?? "", "restarted");
    }
    const urls = await launchUrls(service);
    assert(await launch(service.url + urls.copy, "with the secret that was restored"));
    await service.stop();
  });
});

/** A data folder with an execution that has ended, and nobody who has it open. */
async function dataFolder(): Promise<AsyncDisposable & { path: string; execution: string }> {
  const service = await startService();
  const { url } = await service.trigger();
  const answer = await fetch(url, { method: "POST", body: "the payload" });
  await answer.body?.cancel();
  const execution = await eventually(async () => {
    const { body } = await service.api("GET", "executions/");
    return body.results[0]?.status === "complete" ? body.results[0].id : undefined;
  });
  await service.service.close();
  return {
    path: service.folder,
    execution,
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}

async function namesIn(folder: string): Promise<string[]> {
  return (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name).sort();
}

Deno.test("backup of a stopped service", async (t) => {
  await using folder = await dataFolder();
  const data = `${folder.path}/data`;
  const target = `${folder.path}/backups/a.tar.gz`;
  await Deno.mkdir(`${folder.path}/backups`);
  const backup = (...args: string[]) => runHosted(["backup", ...args, "--data", data]);

  await t.step("says how much it has, with a checksum", async () => {
    const { code, printed } = await backup(target);
    assertEquals(code, 0, printed);
    const [, files, digest] = /^Backed up (\d+) files to .*: \d.* KiB, sha256 ([0-9a-f]{64})$/m
      .exec(printed) ?? [];
    const archive = await Deno.readFile(target);
    assertEquals(digest, sha256(archive));
    // Three say what the backup is.
    const names = (await entriesOf(archive)).filter((name) => !name.endsWith("/"));
    assertEquals(Number(files), names.length - 3);
  });
  await t.step("refuses to replace a file", async () => {
    const kept = await Deno.readFile(target);
    const { code, printed } = await backup(target);
    assertEquals(code, 1);
    assertStringIncludes(printed, "--force");
    assertEquals(await Deno.readFile(target), kept);
    const inPlaceOfAll = await backup(`${folder.path}/backups`, "--force");
    assertEquals(inPlaceOfAll.code, 1);
    assertStringIncludes(inPlaceOfAll.printed, "backups: it is a folder");
  });
  await t.step("replaces it when it is told to, without the key", async () => {
    const { code, printed } = await backup(target, "--force", "--without-key", "--json");
    assertEquals(code, 0, printed);
    assertStringIncludes(printed, "HOOKLAUNCH_SECRET_KEY");
    assertEquals(JSON.parse(printed.slice(printed.indexOf("{"))).has_key, false);
    const names = await entriesOf(await Deno.readFile(target));
    assert(!names.includes("secret.key"));
    assert(names.includes("hooklaunch.kv"));
  });
  await t.step("to standard output", async () => {
    const { stdout, stderr } = await output(["backup", "-", "--data", data]);
    const names = await entriesOf(stdout);
    assertEquals(names.at(0), "backup.json");
    assertEquals(names.at(-1), "manifest.jsonl");
    assert(names.includes("secret.key"));
    assertStringIncludes(new TextDecoder().decode(stderr), `sha256 ${sha256(stdout)}`);
  });
  await t.step("tells what is not there any more", async () => {
    const path = `executions/${folder.execution}/outputs/payload.txt`;
    await Deno.rename(`${data}/${path}`, `${folder.path}/kept`);
    const missing = await backup(`${folder.path}/flawed.tar.gz`);
    await Deno.writeTextFile(`${data}/${path}`, "other bytes");
    const changed = await backup(`${folder.path}/flawed.tar.gz`, "--force");
    await Deno.rename(`${folder.path}/kept`, `${data}/${path}`);
    assertMatch(missing.printed, /Flaw in the backup: .*outputs are not there any more/);
    assertMatch(
      changed.printed,
      /Flaw in the backup: .*payload.txt": It is not what its record says/,
    );
  });
  await t.step("leaves nothing when it fails", async () => {
    const before = await namesIn(`${folder.path}/backups`);
    const database = await Deno.readFile(`${data}/hooklaunch.kv`);
    await Deno.writeFile(`${data}/hooklaunch.kv`, database.slice(0, database.length / 2));
    const damaged = await backup(`${folder.path}/backups/b.tar.gz`);
    await Deno.writeFile(`${data}/hooklaunch.kv`, database);
    assertEquals(damaged.code, 1);
    assertMatch(damaged.printed, /hooklaunch: Cannot (copy|back up) the database/);
    const noFolder = await backup(`${folder.path}/backups/none/b.tar.gz`);
    assertMatch(noFolder.printed, /hooklaunch: Cannot write to/);
    const noData = await runHosted([
      "backup",
      `${folder.path}/backups/b.tar.gz`,
      "--data",
      folder.path,
    ]);
    assertMatch(noData.printed, /hooklaunch: Cannot back up .*no hooklaunch.kv/);
    assertEquals(await namesIn(`${folder.path}/backups`), before);
  });
  await t.step("leaves nothing when it is stopped", async () => {
    const before = await namesIn(`${folder.path}/backups`);
    await using file = await bigFile(`${data}/executions/${folder.execution}/outputs/big`);
    const args = ["backup", `${folder.path}/backups/b.tar.gz`, "--data", data];
    await using running = hooklaunch(args);
    await eventually(async () =>
      (await namesIn(`${folder.path}/backups`)).length > before.length || undefined
    );
    running.child.kill("SIGTERM");
    const { code } = await running.end();
    assertEquals(code, 1, running.printed());
    assertStringIncludes(running.printed(), "Stopped by SIGTERM");
    assertEquals(await namesIn(`${folder.path}/backups`), before);
    assert(file);
  });
  await t.step("says what to look at where it has no folder for temporary files", async () => {
    const { code, printed } = await runHosted(["backup", "-", "--data", data], {
      TMPDIR: "/nowhere",
    });
    assertEquals(code, 1);
    assertMatch(printed, /^hooklaunch: Cannot make a temporary folder, look at TMPDIR: .*\n$/);
  });
  await t.step("leaves nothing when it is stopped while nobody reads it", async () => {
    await using file = await bigFile(`${data}/executions/${folder.execution}/outputs/big`);
    const TMPDIR = `${folder.path}/temporary`;
    await Deno.mkdir(TMPDIR);
    const child = spawn(["backup", "-", "--data", data], { TMPDIR });
    const errors = new Response(child.stderr).text();
    const reader = child.stdout.getReader();
    await reader.read();
    // Until its output holds as much as an output holds that nobody reads.
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    child.kill("SIGINT");
    const timer = setTimeout(() => child.kill("SIGKILL"), 10_000);
    const { code } = await child.status;
    clearTimeout(timer);
    await reader.cancel();
    assertEquals(code, 1);
    assertEquals(await errors, "hooklaunch: Stopped by SIGINT\n");
    assertEquals(await namesIn(TMPDIR), []);
    assert(file);
  });
  await t.step("knows everything that a data folder has", async () => {
    const known = ["executions", "hooklaunch.kv", "lock", "projects", "secret.key"];
    // The last two are left by whoever reads the database while nobody writes it.
    const names = (await namesIn(data)).filter((name) => !/-(wal|shm)$/.test(name));
    assertEquals(names, known);
  });
});

/** A file without any content that takes long to be compressed. */
async function bigFile(path: string): Promise<AsyncDisposable> {
  await Deno.writeFile(path, new Uint8Array());
  await Deno.truncate(path, 1024 ** 3);
  return { [Symbol.asyncDispose]: () => Deno.remove(path) };
}

function spawn(args: string[], env: Record<string, string> = {}): Deno.ChildProcess {
  return new Deno.Command(Deno.execPath(), {
    args: [...HOOKLAUNCH, ...args],
    env,
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

async function output(args: string[]): Promise<Deno.CommandOutput> {
  return await spawn(args).output();
}

async function entriesOf(archive: Uint8Array<ArrayBuffer>): Promise<string[]> {
  const tar = new Blob([archive]).stream().pipeThrough(new DecompressionStream("gzip"));
  return (await unpackTar(tar, { strict: true })).map(({ header }) => header.name);
}
