/**
 * Executions that run to their ends: what a command finds, how it is run, and what becomes of it.
 *
 * @module
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { delay } from "@std/async/delay";
import { hash } from "node:crypto";
import { existsSync } from "node:fs";
import { basename } from "node:path";
import { parse } from "yaml";
import { payloadWrites, uploadPayload } from "../../../src/store/records/payloads.ts";
import { EngineFixture, lives, QUICK, textOf, until } from "../fixture.ts";
import { atOnce } from "../../at_once.ts";

const test = atOnce("executions of the local engine");

const endings: { command: string; status: string; exit_code: number; reason?: RegExp }[] = [
  { command: "true", status: "complete", exit_code: 0 },
  { command: "", status: "complete", exit_code: 0 },
  { command: "exit 3", status: "error", exit_code: 3, reason: /exit code 3/ },
  { command: "false\necho not reached", status: "error", exit_code: 1, reason: /exit code 1/ },
  { command: "(exit 7)\ntrue", status: "error", exit_code: 7, reason: /exit code 7/ },
  { command: "nonsense-command", status: "error", exit_code: 127, reason: /exit code 127/ },
  { command: "kill -TERM $$", status: "error", exit_code: 143, reason: /exit code 143/ },
  { command: "kill -KILL $$", status: "error", exit_code: 137, reason: /exit code 137/ },
  { command: "#!/bin/sh\nfalse\nexit 5", status: "error", exit_code: 5, reason: /exit code 5/ },
  { command: "#!/no/such/thing\n", status: "error", exit_code: 127, reason: /exit code 12[67]/ },
  { command: "x=(1 2)\n[[ ${#x[@]} == 2 ]]", status: "complete", exit_code: 0 },
];

test("run: how commands end", async () => {
  await using fixture = await EngineFixture.make({ executionsMax: 4 });
  await Promise.all(endings.map(async ({ command, status, exit_code, reason }) => {
    const execution = await fixture.run(command);
    if (command.startsWith("#!/no")) assertMatch(String(execution.exit_code), /^12[67]$/);
    else assertEquals(execution.exit_code, exit_code, command);
    assertEquals(execution.status, status, command);
    if (reason) assertMatch(execution.reason ?? "", reason);
    else assertEquals(execution.reason, undefined);
    assertEquals(await fixture.printed(execution.id, "stdout"), []);
    assertEquals(execution.engine_state, undefined);
    assert((execution.duration ?? -1) >= 0);
    assert((execution.started_at ?? "") <= (execution.ended_at ?? ""));
  }));
});

test("run: a record goes from queued to started to its end", async () => {
  await using fixture = await EngineFixture.make();
  const { id } = await fixture.run("true");
  // It is told a moment after it is stored.
  await until(() => fixture.states.length >= 2);
  assertEquals(fixture.states, [`${id} started`, `${id} complete`]);
});

test("run: an object nested thousands deep is printed, and does not keep a command from its end", async () => {
  await using fixture = await EngineFixture.make();
  const command = `printf '{"a":'; printf '[%.0s' $(seq 7000); printf ']%.0s' $(seq 7000)
echo '}'; echo '{"b":1}'`;
  const execution = await fixture.run(command);
  assertEquals(execution.status, "complete");
  assertEquals(execution.metadata, { b: 1 });
});

Deno.test("run: the environment is clean", async () => {
  const language = Deno.env.get("LANG");
  Deno.env.set("HOOKLAUNCH_TEST_SECRET", "s3cr3t");
  Deno.env.set("LANG", "C.UTF-8");
  await using fixture = await EngineFixture.make();
  const command = `env -0 >$VH_OUTPUTS_DIR/env; pwd >$VH_OUTPUTS_DIR/pwd
cd "$TMPDIR"; pwd -P >$VH_OUTPUTS_DIR/tmp`;
  const { id } = await fixture.run(command, {
    environment_variables: {
      MODE: "it's\na $(test) é",
      PATH: "/usr/bin:/bin",
      VH_JOB_ID: "mine",
      VH_OUTPUTS_DIR: "/mine",
    },
  });
  Deno.env.delete("HOOKLAUNCH_TEST_SECRET");
  if (language === undefined) Deno.env.delete("LANG");
  else Deno.env.set("LANG", language);
  const variables = new Map(
    textOf(fixture.path(id, "outputs", "env")).split("\0").filter(Boolean).map((line) =>
      [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)] as const
    ),
  );
  assertEquals(variables.get("MODE"), "it's\na $(test) é");
  assertEquals(variables.get("PATH"), "/usr/bin:/bin");
  assertEquals(variables.get("LANG"), "C.UTF-8");
  assertEquals(variables.get("HOME"), fixture.path(id, "home"));
  assertEquals(variables.get("VH_CONFIG_DIR"), fixture.path(id, "config"));
  assertEquals(variables.get("VH_INPUTS_DIR"), fixture.path(id, "inputs"));
  assertEquals(variables.get("VH_OUTPUTS_DIR"), fixture.path(id, "outputs"));
  assertEquals(variables.get("VH_REPOSITORY_DIR"), fixture.path(id, "repository"));
  assertEquals(variables.get("VH_JOB_ID"), `exec-${id}`);
  assertEquals(variables.get("VH_EXECUTION_ID"), id);
  assertEquals(variables.get("VH_PROJECT_ID"), "files");
  assertEquals(textOf(fixture.path(id, "outputs", "pwd")).trim(), fixture.path(id, "repository"));
  const folder = Deno.realPathSync(fixture.path(id));
  assertEquals(textOf(fixture.path(id, "outputs", "tmp")).trim(), `${folder}/tmp`);
  const others = [...variables.keys()].filter((name) => !/^(VH_|MODE|PATH|HOME|TMPDIR)/.test(name));
  // The shell itself sets some.
  const known = ["LANG", "TZ", "PWD", "OLDPWD", "SHLVL", "_"];
  assertEquals(others.filter((name) => !known.includes(name)), []);
});

test("run: what it works with, such as its variables, is its owner's alone", async () => {
  await using fixture = await EngineFixture.make();
  const execution = fixture.execution("true", { environment_variables: { TOKEN: "s3cr3t" } });
  const { path } = await fixture.prepare(execution);
  const found: string[] = [];
  const look = (at: string) => {
    const { isDirectory, mode } = Deno.lstatSync(at);
    found.push(`${((mode ?? 0) & 0o777).toString(8)} ${isDirectory ? "folder" : basename(at)}`);
    if (isDirectory) { for (const { name } of Deno.readDirSync(at)) look(`${at}/${name}`); }
  };
  // What `checkout` makes is the project's.
  Deno.removeSync(`${path}/repository`);
  look(path);
  const expected = /^(700 (folder|command)|600 .*)$/;
  assertEquals(found.filter((each) => !expected.test(each)), []);
  assert(found.includes("600 environment"));

  const { id } = await fixture.run(`echo '{"a": 1}'`);
  for (const name of ["log", "metadata.jsonl"]) {
    assertEquals((Deno.lstatSync(fixture.path(id, "control", name)).mode ?? 0) & 0o777, 0o600);
  }
});

test({
  name: "run: sockets can be made in its temporary folder, wherever the data is",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const root = await Deno.makeTempDir();
    const long = `${root}/${"long".repeat(20)}`;
    await Deno.mkdir(long);
    for (const folder of [`${root}/s`, long]) {
      await Deno.mkdir(folder, { recursive: true });
      await using fixture = await EngineFixture.make({}, folder);
      const command = 'echo "$TMPDIR/pymp-12345678/listener-12345678"; : >"$TMPDIR/x"; ls ../tmp';
      const { id } = await fixture.run(command);
      const [path = "", ...there] = await fixture.printed(id, "stdout");
      assert(path.length <= 107, path);
      assertEquals(there, ["x"]);
    }
    await Deno.remove(root, { recursive: true });
  },
});

test("run: variables that shells do not let set end the command, not the wrapper", async () => {
  await using fixture = await EngineFixture.make();
  for (const name of ["IFS", "CDPATH", "shell", "code", "stat", "ENV", "LD_LIBRARY_PATH"]) {
    const { status } = await fixture.run(`[ "$${name}" = 1 ]`, {
      environment_variables: { [name]: "1" },
    });
    assertEquals(status, name === "IFS" ? "error" : "complete", name);
  }
});

for (const size of [0, 1, 61_440, 61_441, 16 * 1024 * 1024]) {
  test(`run: a payload of ${size} bytes is an input file, byte by byte`, async () => {
    await using fixture = await EngineFixture.make();
    const body = new Uint8Array(size);
    for (let at = 0; at < size; at += 65_536) {
      crypto.getRandomValues(body.subarray(at, at + 65_536));
    }
    const { run_id } = fixture.execution("");
    if (size > 61_440) await uploadPayload(fixture.store, run_id, body);
    await fixture.store.committer.write(payloadWrites(run_id, body));
    const { id, status } = await fixture.run(
      'cp "$VH_INPUTS_DIR/my labels/payload.bin" $VH_OUTPUTS_DIR/copy',
      { inputs: { "my labels": [{ name: "payload.bin", payload_of: run_id, size }] } },
    );
    assertEquals(status, "complete");
    assert(
      await Deno.readFile(fixture.path(id, "outputs", "copy")).then((copy) =>
        copy.length === size && copy.every((byte, at) => byte === body[at])
      ),
    );
  });
}

test("run: the configuration files say what runs", async () => {
  await using fixture = await EngineFixture.make();
  const execution = await fixture.run("", {
    title: "yes",
    time_limit: 60,
    parameters: { epochs: 5, spec: "a b", list: [1, 2], on: true, tricky: "no" },
  });
  const names = [...Deno.readDirSync(fixture.path(execution.id, "config"))].map(({ name }) => name);
  const kinds = ["api", "execution", "inputs", "parameters", "runtime"];
  const expected = kinds.flatMap((kind) => [`${kind}.json`, `${kind}.yaml`]);
  assertEquals(names.sort(), [...expected, "request.json"].sort());
  for (const kind of kinds) {
    const json = textOf(fixture.path(execution.id, "config", `${kind}.json`));
    const yaml = textOf(fixture.path(execution.id, "config", `${kind}.yaml`));
    assertEquals(parse(yaml, { version: "1.1" }), JSON.parse(json));
  }
  const parameters = textOf(fixture.path(execution.id, "config", "parameters.json"));
  assertEquals(JSON.parse(parameters), execution.parameters);
  const about = JSON.parse(textOf(fixture.path(execution.id, "config", "execution.json")));
  assertEquals(about["valohai.execution-id"], execution.id);
  assertEquals(about["valohai.execution-step"], "train");
  assertEquals(about["valohai.execution-title"], "yes");
  assertEquals(about["valohai.execution-status"], "created");
  // What scripts split at the slash.
  assertEquals(about["valohai.project-name"], "hooklaunch/files");
});

test("run: inputs.json says where the files are", async () => {
  await using fixture = await EngineFixture.make();
  const run_id = fixture.execution("").run_id;
  await fixture.store.committer.write(payloadWrites(run_id, new TextEncoder().encode("abc")));
  const { id } = await fixture.run("", {
    inputs: { labels: [{ name: "a.csv", payload_of: run_id, size: 3 }] },
  });
  assertEquals(JSON.parse(textOf(fixture.path(id, "config", "inputs.json"))), {
    labels: {
      input_id: "labels",
      files: [{
        name: "a.csv",
        path: fixture.path(id, "inputs", "labels", "a.csv"),
        size: 3,
        checksums: { sha256: hash("sha256", "abc") },
      }],
    },
  });
});

test("run: outputs are listed with size and hash, links are not followed", async () => {
  await using fixture = await EngineFixture.make();
  const execution = await fixture.run(
    `cd $VH_OUTPUTS_DIR; mkdir -p deep/er; printf abc >deep/er/model; : >empty; printf x >'a b'
     ln -s /etc/passwd link; ln -s deep folder; mkfifo pipe; exit 1`,
  );
  assertEquals(execution.status, "error");
  assertEquals(execution.outputs.map(({ path, size }) => [path, size]), [
    ["a b", 1],
    ["deep/er/model", 3],
    ["empty", 0],
  ]);
  assertEquals(
    execution.outputs[1]?.sha256,
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
  );
  const read = async (path: string) => {
    const output = await fixture.engine.output(execution.id, path);
    return output === undefined ? undefined : await new Response(output.stream).text();
  };
  assertEquals(await read("deep/er/model"), "abc");
  for (
    const path of [
      "link",
      "folder/er/model",
      "../control/log",
      "deep/../empty",
      "deep",
      "/etc/passwd",
      "deep/er/model/x",
      "nothing",
      "",
      "pipe",
      "a\0b",
    ]
  ) assertEquals(await read(path), undefined, path);
});

test("run: a link in place of the outputs folder is not followed", async () => {
  await using fixture = await EngineFixture.make();
  const { id, outputs } = await fixture.run(
    "echo x >file; rmdir $VH_OUTPUTS_DIR; ln -s $VH_CONFIG_DIR $VH_OUTPUTS_DIR",
  );
  assertEquals(outputs, []);
  assertEquals(await fixture.engine.output(id, "api.json"), undefined);
});

test("run: no more outputs are listed than a record holds", async () => {
  await using fixture = await EngineFixture.make();
  const execution = await fixture.run(
    `cd $VH_OUTPUTS_DIR; for i in $(seq 200); do : >${"x".repeat(240)}-$i; done`,
  );
  const { length } = execution.outputs;
  assert(length > 150 && length < 200);
  // What comes behind it would go on with a part of them.
  assertEquals([execution.status, execution.exit_code], ["error", 0]);
  assertStringIncludes(execution.reason ?? "", `Too many outputs: ${length} of 200 can be listed`);
  assertEquals(await fixture.printed(execution.id, "event"), [execution.reason]);
});

test("run: a name that is not Latin-1 takes no room from other outputs", async () => {
  await using fixture = await EngineFixture.make();
  const { status, outputs } = await fixture.run(
    "cd $VH_OUTPUTS_DIR; for i in $(seq -w 300); do : >shard-$i.csv; done; : >итог.txt",
  );
  assertEquals([status, outputs.length, outputs.at(-1)?.path], ["complete", 301, "итог.txt"]);
});

test("run: what is no output is told", async () => {
  await using fixture = await EngineFixture.make();
  const { id, status, outputs } = await fixture.run(
    `cd $VH_OUTPUTS_DIR; : >model; ln -s model latest; mkfifo pipe; : >$'caf\\xe9'
     mkdir $'th\\xe9'; : >$'th\\xe9/green'`,
  );
  assertEquals([status, outputs.map(({ path }) => path)], ["complete", ["model"]]);
  assertEquals(await fixture.printed(id, "event"), [
    'Not listed as outputs: "caf\ufffd", "latest", "pipe", "th\ufffd"',
  ]);
});

test("run: metadata that the record has no room for fails, and is not left out", async () => {
  await using fixture = await EngineFixture.make();
  const { run_id } = await fixture.run("true");
  const files = Array.from({ length: 420 }, (_, at) => {
    return { name: `${at}-${"x".repeat(40)}`, payload_of: run_id, size: 0 };
  });
  await fixture.store.committer.write(payloadWrites(run_id, new Uint8Array()));
  const { status, reason, metadata } = await fixture.run(
    `printf '{"list": "%0*d"}\\n' 12000 0`,
    { inputs: { all: files } },
  );
  assertEquals([status, metadata], ["error", {}]);
  assertEquals(reason, "Too much metadata for its record beside its inputs");
});

test("run: no more outputs are listed than are allowed", async () => {
  await using fixture = await EngineFixture.make({ settings: { ...QUICK, outputsMax: 3 } });
  const { status, reason, outputs } = await fixture.run("cd $VH_OUTPUTS_DIR; touch e d c b a");
  assertEquals(outputs.map(({ path }) => path), ["a", "b", "c"]);
  assertEquals(status, "error");
  assertStringIncludes(reason ?? "", "Too many outputs: 3 of 5 can be listed");
});

test("run: outputs longer than the execution may take on disk are not read to their ends", async () => {
  await using fixture = await EngineFixture.make();
  const { status, reason, outputs } = await fixture.run(
    "cd $VH_OUTPUTS_DIR; echo 1 >a; truncate -s 1T b; echo 1 >c",
  );
  assertEquals(outputs.map(({ path }) => path), ["a"]);
  assertEquals(status, "error");
  assertEquals(reason, "The outputs are longer than 20480 MiB together");
  const within = await fixture.run("truncate -s 1M $VH_OUTPUTS_DIR/a", {
    engine: { type: "local", disk_mb: 1 },
  });
  assertEquals([within.status, within.outputs[0]?.size], ["complete", 1024 ** 2]);
});

test("run: afterwards only what the command left behind is kept", async () => {
  await using fixture = await EngineFixture.make();
  const { id } = await fixture.run(
    `echo '{"a": 1}'; mkdir -p $TMPDIR/x/y; : >$TMPDIR/x/y/z; chmod 0 $TMPDIR/x/y`,
  );
  const left = (...parts: string[]) =>
    [...Deno.readDirSync(fixture.path(id, ...parts))].map(({ name }) => name).sort();
  await until(() => left().length === 3 && left("control").length === 5);
  assertEquals(left(), ["config", "control", "outputs"]);
  assertEquals(left("control"), ["command", "exit_code", "log", "metadata.jsonl", "started"]);
  // As services leave them that are killed while they prepare one, or prepare it anew.
  for (const name of [`tmp-${id}`, `old-${id}`]) Deno.mkdirSync(fixture.path(id, "..", name));
  await fixture.engine.forget(id);
  assertEquals([...Deno.readDirSync(fixture.path(id, ".."))], []);
  assertEquals((await fixture.engine.log(id)).lines, []);
});

test("run: folders however deep are removed, and end nothing else", async () => {
  await using fixture = await EngineFixture.make();
  // Twenty times a thousand levels, since no path may be so long.
  const { id } = await fixture.run(`
    levels=$(printf 'd/%.0s' $(seq 1000))
    cd "$TMPDIR"
    for _ in $(seq 20); do
      mkdir -p "new/$levels"
      [ ! -e d ] || mv d "new/$levels"
      mv new/d .; rmdir new
    done`);
  await until(() => !existsSync(fixture.path(id, "tmp")));
});

test("run: a command that makes its output longer than any disk still ends, and is stopped", async () => {
  await using fixture = await EngineFixture.make({ settings: { ...QUICK, logBytesMax: 20_000 } });
  const lengthen = (stream: string) =>
    `until [ -e ../control/${stream} ]; do sleep 0.01; done
     dd if=/dev/null of=../control/${stream} bs=1 seek=8000000000000 2>/dev/null; : >"$VH_OUTPUTS_DIR/long"`;
  const { status } = await fixture.run(`${lengthen("stdout")}; ${lengthen("stderr")}`);
  assertEquals(status, "complete");
  const id = await fixture.submit(`${lengthen("stdout")}; exec sleep 60`);
  await until(() => existsSync(fixture.path(id, "outputs", "long")));
  await delay(10 * QUICK.poll_ms);
  await fixture.engine.stop(id);
  assertEquals((await fixture.ended(id)).status, "stopped");
});

test("run: pipes in place of what the wrapper writes are not waited for", async () => {
  await using fixture = await EngineFixture.make();
  const id = await fixture.submit(
    `cd ../control; until [ -e stdout ] && [ -e stderr ]; do sleep 0.01; done; rm stdout stderr
     mkfifo stdout stderr exit_code; echo yes >$VH_OUTPUTS_DIR/replaced
     until [ -e $VH_OUTPUTS_DIR/seen ]; do sleep 0.01; done; echo said; rm exit_code`,
  );
  await until(() => textOf(fixture.path(id, "outputs", "replaced")) !== "");
  // A service that has opened the files before keeps reading them. One that starts finds the pipes.
  await fixture.restart();
  await delay(10 * QUICK.poll_ms);
  Deno.writeTextFileSync(fixture.path(id, "outputs", "seen"), "");
  assertEquals((await fixture.ended(id)).status, "complete");
  assertEquals(await fixture.printed(id, "stdout"), []);
});

test("run: a command gives way to the service", async () => {
  await using fixture = await EngineFixture.make();
  const autogroup = "! [ -e /proc/self/autogroup ] || cat /proc/self/autogroup";
  const { id } = await fixture.run(`nice; ${autogroup}`);
  const [own = "", given = "", session = "nice 10"] = [
    new TextDecoder().decode(
      (await new Deno.Command("sh", { args: ["-c", "nice"] }).output()).stdout,
    ),
    ...await fixture.printed(id, "stdout"),
  ];
  assert(Number(given) >= Math.min(19, Number(own) + 10), given);
  assertMatch(session, /nice 10$/);
});

test("run: what a command leaves running is ended", async () => {
  await using fixture = await EngineFixture.make();
  const { id, status } = await fixture.run(`
    sleep 100 & echo $! >$VH_OUTPUTS_DIR/own
    (trap '' TERM; echo $BASHPID >$VH_OUTPUTS_DIR/stubborn; exec sleep 100) &
    set -m
    sleep 100 & echo $! >$VH_OUTPUTS_DIR/grouped
    until [ -s $VH_OUTPUTS_DIR/stubborn ]; do sleep 0.01; done
    echo done`);
  assertEquals(status, "complete");
  assertEquals(await fixture.printed(id, "stdout"), ["done"]);
  for (const name of ["own", "stubborn", "grouped"]) {
    const pid = Number(textOf(fixture.path(id, "outputs", name)));
    assert(pid > 1);
    await until(async () => !await lives(pid));
  }
});

test("run: what cannot be prepared ends that execution alone", async () => {
  await using fixture = await EngineFixture.make({
    executionsMax: 1,
    projects: {
      checkout: (_project, commit, destination) =>
        commit.startsWith("f")
          ? Promise.reject(new Error("no such code"))
          : Deno.mkdir(destination),
    },
  });
  const bad = await fixture.submit("true", { commit: "f".repeat(40) });
  const corrupt = await fixture.submit("true", {
    inputs: { labels: [{ name: "a", payload_of: fixture.execution("").run_id, size: 5 }] },
  });
  const outside = await fixture.submit("true", {
    inputs: { "..": [{ name: "a", payload_of: "x", size: 0 }] },
  });
  const inside = await fixture.submit("true", {
    inputs: { a: [{ name: "../../b", payload_of: "x", size: 0 }] },
  });
  const good = await fixture.submit("true");
  assertStringIncludes((await fixture.ended(bad)).reason ?? "", "Cannot run: no such code");
  assertStringIncludes((await fixture.ended(corrupt)).reason ?? "", "chunk 0 should have 5 bytes");
  assertStringIncludes((await fixture.ended(outside)).reason ?? "", "cannot be used in a path");
  assertStringIncludes((await fixture.ended(inside)).reason ?? "", "cannot be used in a path");
  const failed = [bad, corrupt, outside, inside];
  for (const id of failed) {
    const { status, reason = "" } = await fixture.record(id);
    assertEquals(status, "error");
    // The log is all that is left of it.
    assertEquals(await fixture.printed(id, "event"), [reason]);
    assertEquals(namesIn(fixture.path(`tmp-${id}`)), ["control"]);
    assertEquals(namesIn(fixture.path(`tmp-${id}`, "control")), ["log"]);
    assertEquals(textOf(fixture.path(id, "control", "command")), "");
  }
  assertEquals((await fixture.ended(good)).status, "complete");
  const left = [good, ...failed.map((id) => `tmp-${id}`)];
  assertEquals(namesIn(fixture.path("")), left.sort());
});

/** The names of what a folder holds. */
function namesIn(folder: string): string[] {
  return Array.from(Deno.readDirSync(folder), ({ name }) => name).sort();
}
