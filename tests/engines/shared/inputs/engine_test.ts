/**
 * Inputs of executions that really run: what the command and the owner see of them, and what becomes of
 * them when the execution is stopped or the service restarted meanwhile.
 *
 * @module
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { parse } from "yaml";
import { datumId, type Execution } from "../../../../src/store/records/executions.ts";
import { payloadWrites } from "../../../../src/store/records/payloads.ts";
import { EngineFixture, lives, textOf, until } from "../../fixture.ts";
import { sha256, TestServer } from "./fixture.ts";

const ENGINE = { type: "local", inputs: { private_networks: true } };
const COPY = 'cp -R "$VH_INPUTS_DIR"/. "$VH_OUTPUTS_DIR"';

/** Fields of an execution that fetches one file. */
function fetching(url: string): Partial<Execution> {
  return { engine: ENGINE, inputs: { data: [{ name: "data.csv", url }] } };
}

/** A server that sends a beginning, and the rest when it is told to, unless its client has gone. */
class SlowServer extends TestServer {
  cancelled = 0;
  readonly #streams: ReadableStreamDefaultController<Uint8Array>[] = [];

  constructor() {
    super(() =>
      new Response(
        new ReadableStream<Uint8Array>({
          start: (stream) => {
            stream.enqueue(new TextEncoder().encode("begin"));
            this.#streams.push(stream);
          },
          cancel: () => void this.cancelled++,
        }),
      )
    );
  }

  /** Ends an answer, once it was asked for one. */
  async finish(): Promise<void> {
    await until(() => this.#streams.length > 0);
    const stream = this.#streams.pop();
    stream?.enqueue(new TextEncoder().encode(" and end"));
    stream?.close();
  }
}

Deno.test("engine: files of all sources are there, and inputs.json says what they are", async () => {
  await using fixture = await EngineFixture.make();
  await using server = new TestServer(() => new Response("fetched"));
  const local = join(fixture.folder, "local.csv");
  await Deno.writeTextFile(local, "local");
  const earlier = await fixture.run("mkdir $VH_OUTPUTS_DIR/m; printf made >$VH_OUTPUTS_DIR/m/out");
  const { run_id } = earlier;
  await fixture.store.committer.write(payloadWrites(run_id, new TextEncoder().encode("payload")));
  const [output] = earlier.outputs;
  assert(output);
  const datum = datumId(earlier.id, "m/out");
  const url = `http://user:s3cr3t@${server.host}/deep/data.csv`;
  const { id, status } = await fixture.run(COPY, {
    engine: { ...ENGINE, inputs: { private_networks: true, folders: [fixture.folder] } },
    inputs: {
      "my data": [
        { name: "a", payload_of: run_id, size: 7 },
        { name: "deep/data.csv", url },
        { name: "a", output_of: earlier.id, ...output },
        { name: "file", url: `datum://${datum}` },
      ],
      more: [{ name: "local.csv", url: `file://${local}` }],
    },
  });
  assertEquals(status, "complete");
  const copied = (...path: string[]) => textOf(fixture.path(id, "outputs", ...path));
  assertEquals(copied("my data", "a"), "payload");
  assertEquals(copied("my data", "deep", "data.csv"), "fetched");
  assertEquals(copied("my data", "a-2"), "made");
  assertEquals(copied("my data", "out"), "made");
  assertEquals(copied("more", "local.csv"), "local");

  const described = JSON.parse(textOf(fixture.path(id, "config", "inputs.json")));
  const yaml = textOf(fixture.path(id, "config", "inputs.yaml"));
  assertEquals(parse(yaml, { version: "1.1" }), described);
  const at = (...parts: string[]) => fixture.path(id, "inputs", ...parts);
  const made = {
    size: 4,
    uri: `datum://${datum}`,
    checksums: { sha256: sha256("made") },
    datum_id: datum,
  };
  assertEquals(described, {
    "my data": {
      input_id: "my data",
      files: [
        {
          name: "a",
          path: at("my data", "a"),
          size: 7,
          checksums: { sha256: sha256("payload") },
        },
        {
          name: "deep/data.csv",
          path: at("my data", "deep", "data.csv"),
          size: 7,
          uri: server.at("/deep/data.csv"),
          checksums: { sha256: sha256("fetched") },
        },
        { name: "a-2", path: at("my data", "a-2"), ...made },
        { name: "out", path: at("my data", "out"), ...made },
      ],
    },
    more: {
      input_id: "more",
      files: [{
        name: "local.csv",
        path: at("more", "local.csv"),
        size: 5,
        uri: `file://${local}`,
        checksums: { sha256: sha256("local") },
      }],
    },
  });
  const events = await fixture.printed(id, "event");
  assertEquals(events[0], `Fetching deep/data.csv from ${server.host}/deep/data.csv`);
  assert(/^Fetched deep\/data\.csv: 7 B in \d+\.\d s$/.test(events[1] ?? ""));
  assertEquals(events.length, 2);
  assert(!JSON.stringify([described, events]).includes("s3cr3t"));
});

Deno.test("engine: nothing is kept or told for payloads alone", async () => {
  await using fixture = await EngineFixture.make();
  const { run_id } = fixture.execution("");
  await fixture.store.committer.write(payloadWrites(run_id, new TextEncoder().encode("abc")));
  const { id, status } = await fixture.run(COPY, {
    inputs: { data: [{ name: "a", payload_of: run_id, size: 3, sha256: sha256("abc") }] },
  });
  assertEquals(status, "complete");
  assertEquals(await fixture.printed(id, "event"), []);
  const names = [...Deno.readDirSync(join(fixture.folder, "data"))].map(({ name }) => name);
  assert(!names.includes("input_cache"));
  const described = JSON.parse(textOf(fixture.path(id, "config", "inputs.json")));
  assertEquals(described.data.files[0].checksums, { sha256: sha256("abc") });
});

Deno.test("engine: the log can be read while a file is fetched, and goes on when it is there", async () => {
  await using fixture = await EngineFixture.make();
  await using server = new SlowServer();
  const id = await fixture.submit("echo ran", fetching(server.at("/data.csv")));
  await until(() => server.asked.length === 1);
  const { lines, next } = await fixture.engine.log(id);
  assertEquals(lines.map(({ message, stream }) => [stream, message]), [
    ["event", `Fetching data.csv from ${server.host}/data.csv`],
  ]);
  await server.finish();
  assertEquals((await fixture.ended(id)).status, "complete");
  const after = await fixture.engine.log(id, { after: next });
  assertEquals(after.lines.map(({ stream }) => stream), ["event", "stdout"]);
});

Deno.test("engine: without the setting, this machine's own servers are out of reach", async () => {
  await using fixture = await EngineFixture.make();
  await using server = new TestServer(() => new Response("internal"));
  const { id, status, reason } = await fixture.run("true", {
    ...fetching(server.at("/data.csv")),
    engine: { type: "local" },
  });
  assertEquals(status, "error");
  assertStringIncludes(
    reason ?? "",
    `Cannot run: Cannot fetch data.csv from ${server.host}/data.csv: its host has no public address`,
  );
  assertEquals(server.asked, []);
  // The log is what is left of it, until it is forgotten.
  assertEquals((await fixture.printed(id, "event")).at(-1), reason);
  const left = () => [...Deno.readDirSync(fixture.path(id, ".."))].map(({ name }) => name);
  assertEquals(left(), [`tmp-${id}`]);
  await fixture.engine.forget(id);
  assertEquals(left(), []);
  assertEquals((await fixture.engine.log(id)).lines, []);
});

Deno.test("engine: stopping ends a fetch at once, and nobody else's", async () => {
  await using fixture = await EngineFixture.make({ executionsMax: 3 });
  await using server = new SlowServer();
  const command = `echo ran >>${fixture.folder}/ran`;
  const stopped = await fixture.submit(command, fetching(server.at("/mine")));
  await until(() => server.asked.length === 1);
  const other = await fixture.submit(command, fetching(server.at("/other")));
  await until(() => server.asked.length === 2);
  assertEquals(await fixture.engine.stop(stopped), true);
  const { status, reason, outputs } = await fixture.ended(stopped);
  assertEquals([status, reason, outputs], ["stopped", "Stopped by request", []]);
  await until(() => server.cancelled === 1);
  assertEquals(await fixture.printed(stopped, "event"), [
    `Fetching data.csv from ${server.host}/mine`,
    "Stopped by request",
  ]);
  assertEquals(await fixture.engine.stop(stopped), false);
  await server.finish();
  assertEquals((await fixture.ended(other)).status, "complete");
  assertEquals(textOf(`${fixture.folder}/ran`), "ran\n");
});

Deno.test("engine: the time limit counts while inputs are fetched", async () => {
  await using fixture = await EngineFixture.make();
  await using server = new SlowServer();
  const { status, reason, exit_code, id } = await fixture.run(`echo ran >${fixture.folder}/ran`, {
    ...fetching(server.at("/data.csv")),
    time_limit: 1,
  });
  assertEquals([status, exit_code], ["error", undefined]);
  assertEquals(reason, "Stopped: time limit of 1 s reached");
  assertEquals((await fixture.printed(id, "event")).at(-1), reason);
  assertEquals(textOf(`${fixture.folder}/ran`), "");
  await until(() => server.cancelled === 1);
});

Deno.test("engine: a service that closes leaves a fetch to the next, which runs it once", async () => {
  await using fixture = await EngineFixture.make();
  await using server = new SlowServer();
  const id = await fixture.submit(
    `cat $VH_INPUTS_DIR/data/data.csv >>${fixture.folder}/ran`,
    fetching(server.at("/data.csv")),
  );
  await until(() => server.asked.length === 1);
  const { next } = await fixture.engine.log(id);
  const began_ms = performance.now();
  await fixture.engine.close(60_000);
  assert(performance.now() - began_ms < 30_000);
  await until(() => server.cancelled === 1);
  assertEquals((await fixture.record(id)).status, "started");
  await fixture.restart();
  await until(() => server.asked.length === 2);
  // Who reads the log goes on where it was.
  const { lines } = await fixture.engine.log(id, { after: next });
  assertEquals(lines.map(({ message }) => message), [
    `Fetching data.csv from ${server.host}/data.csv`,
  ]);
  await server.finish();
  assertEquals((await fixture.ended(id)).status, "complete");
  assertEquals(textOf(`${fixture.folder}/ran`), "begin and end");
  const cached = [...Deno.readDirSync(join(fixture.folder, "data", "input_cache", "files"))];
  assertEquals(cached.map(({ name }) => name), [sha256("begin and end")]);
});

Deno.test("engine: one that was asked to stop before a restart fetches nothing more", async () => {
  await using fixture = await EngineFixture.make();
  await using server = new SlowServer();
  const id = await fixture.submit("true", fetching(server.at("/data.csv")));
  await until(() => server.asked.length === 1);
  await fixture.close();
  await fixture.open();
  const execution = await fixture.record(id);
  const ending = { status: "stopped", reason: "Stopped by request" };
  await fixture.store.kv.set(["execution", id], {
    ...execution,
    status: "stopping",
    engine_state: { ...execution.engine_state, ending },
  });
  await fixture.engine.start();
  assertEquals((await fixture.ended(id)).status, "stopped");
  assertEquals(server.asked.length, 1);
});

Deno.test("engine: what has no code fetches no inputs", async () => {
  await using server = new SlowServer();
  await using fixture = await EngineFixture.make({
    projects: {
      checkout: async () => {
        await until(() => server.asked.length === 1);
        throw new Error("no such code");
      },
    },
  });
  const { status, reason } = await fixture.run("true", fetching(server.at("/data.csv")));
  assertEquals([status, reason], ["error", "Cannot run: no such code"]);
  await until(() => server.cancelled === 1);
});

Deno.test("engine: executions that need the same at the same time fetch it once", async () => {
  await using fixture = await EngineFixture.make({ executionsMax: 3 });
  await using server = new SlowServer();
  const ids: string[] = [];
  for (let count = 0; count < 3; count++) {
    ids.push(await fixture.submit(COPY, fetching(server.at("/data.csv"))));
  }
  await until(async () =>
    (await Promise.all(ids.map((id) => fixture.printed(id, "event")))).every(({ length }) => length)
  );
  await server.finish();
  for (const id of ids) {
    assertEquals((await fixture.ended(id)).status, "complete");
    assertEquals(textOf(fixture.path(id, "outputs", "data", "data.csv")), "begin and end");
  }
  assertEquals(server.asked.length, 1);
});

Deno.test("engine: one that is run again has its inputs again, and its log goes on", async () => {
  await using fixture = await EngineFixture.make();
  await using server = new TestServer((request) =>
    request.headers.has("if-none-match")
      ? new Response(null, { status: 304 })
      : new Response("fetched", { headers: { etag: '"1"' } })
  );
  const ran = `${fixture.folder}/ran`;
  const id = await fixture.submit(
    `cat $VH_INPUTS_DIR/data/data.csv >>${ran}; rm $VH_INPUTS_DIR/data/data.csv
     [ "$(cat ${ran})" = fetchedfetched ] || sleep 100`,
    { ...fetching(server.at("/data.csv")), rerun: true },
  );
  await until(() => textOf(ran) === "fetched");
  const [pid] = textOf(fixture.path(id, "control", "started")).split(" ");
  assert(Number(pid) > 1);
  await fixture.close();
  // As after a restart of the machine: nothing of it runs any more.
  await new Deno.Command("sh", { args: ["-c", `kill -KILL -${pid}`] }).output();
  await until(async () => !await lives(Number(pid)));
  await fixture.open();
  const execution = await fixture.record(id);
  await fixture.store.kv.set(["execution", id], {
    ...execution,
    engine_state: { ...execution.engine_state, boot_id: "other" },
  });
  await fixture.engine.start();
  assertEquals((await fixture.ended(id)).status, "complete");
  assertEquals(textOf(ran), "fetchedfetched");
  const events = (await fixture.printed(id, "event")).map((line) => line.split(/ from |: /)[0]);
  assertEquals(events, [
    "Fetching data.csv",
    "Fetched data.csv",
    "The machine may have been restarted while the command ran, or its data came",
    "Fetching data.csv",
    "data.csv was in the cache",
  ]);
});

Deno.test("engine: restarts while one that is run again fetches its inputs are no further runs", async () => {
  await using fixture = await EngineFixture.make();
  await using server = new SlowServer();
  const ran = `${fixture.folder}/ran`;
  const id = await fixture.submit(
    `echo ran >>${ran}; [ "$(wc -l <${ran})" = 2 ] || exec sleep 100`,
    { ...fetching(server.at("/data.csv")), rerun: true },
  );
  await until(() => server.asked.length === 1);
  await server.finish();
  await until(() => textOf(ran) === "ran\n");
  const [pid] = textOf(fixture.path(id, "control", "started")).split(" ");
  assert(Number(pid) > 1);
  await new Deno.Command("sh", { args: ["-c", `kill -KILL -${pid}`] }).output();
  for (let asked = 2; asked < 6; asked++) {
    await until(() => server.asked.length === asked);
    await fixture.restart();
  }
  await until(() => server.asked.length === 6);
  await server.finish();
  const { status, reason } = await fixture.ended(id);
  assertEquals([status, reason], ["complete", undefined]);
  assertEquals(textOf(ran), "ran\nran\n");
  const events = await fixture.printed(id, "event");
  assertEquals(events.map((line) => line.match(/[1-3] of 3/)?.[0]).join(""), "1 of 3");
});
