/**
 * What commands print: the log, its paging, its limits, and metadata.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { deadline } from "@std/async/deadline";
import { ignoreTimeout } from "../../../src/platform/waiting/promises.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import { readLog } from "../../../src/engines/shared/log_reader.ts";
import { LogWriter } from "../../../src/engines/shared/log_writer.ts";
import { shell, unmount } from "../../faults/served.ts";
import { has } from "../../needs.ts";
import { temporaryFolder } from "../../surroundings.ts";
import { EngineFixture, QUICK, textOf, until } from "../fixture.ts";

Deno.test("log: it grows while the command runs", async () => {
  await using fixture = await EngineFixture.make();
  const id = await fixture.submit(
    "echo one; until [ -e $VH_OUTPUTS_DIR/go ]; do sleep 0.01; done; echo two",
  );
  await until(async () => (await fixture.engine.log(id)).lines.length === 1);
  const first = await fixture.engine.log(id);
  assertEquals(first.lines.map(({ stream, message }) => [stream, message]), [["stdout", "one"]]);
  assertMatch(first.lines[0]?.time ?? "", /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  assertEquals(await fixture.engine.log(id, { after: first.next }), {
    lines: [],
    next: first.next,
  });
  await Deno.writeTextFile(fixture.path(id, "outputs", "go"), "");
  await fixture.ended(id);
  const second = await fixture.engine.log(id, { after: first.next });
  assertEquals(second.lines.map(({ message }) => message), ["two"]);
});

Deno.test("log: it is read in pages, from the position of any line", async () => {
  await using fixture = await EngineFixture.make();
  const { id } = await fixture.run("seq 2500");
  const read: string[] = [];
  let after = "0";
  for (const expected of [1_000, 1_000, 500, 0]) {
    const page = await fixture.engine.log(id, { after });
    assertEquals(page.lines.length, expected);
    read.push(...page.lines.map(({ message }) => message));
    after = page.next;
  }
  assertEquals(read, Array.from({ length: 2_500 }, (_, index) => String(index + 1)));
  const two = await fixture.engine.log(id, { limit: 2 });
  assertEquals(two.lines.map(({ message }) => message), ["1", "2"]);
  const third = await fixture.engine.log(id, { after: two.next, limit: 1 });
  assertEquals(third.lines[0]?.message, "3");
  const whole = await fixture.engine.log(id, { limit: 3_000 });
  for (const [index, { next }] of whole.lines.entries()) {
    const behind = await fixture.engine.log(id, { after: next, limit: 1 });
    assertEquals(behind.lines[0]?.message, whole.lines[index + 1]?.message);
  }
});

Deno.test("log: one that an earlier version wrote is read from its positions, and continued", async () => {
  await using folder = await temporaryFolder();
  const path = `${folder.path}/log`;
  const time = "2026-01-01T00:00:00.000Z";
  const old = [
    { time, stream: "event", message: "Fetching a" },
    { time, stream: "stdout", message: "one", end: 4 },
    { time, stream: "stderr", message: 'two "é"', end: 10 },
    { time, stream: "stdout", message: "three", end: 10 },
  ].map((line) => `${JSON.stringify(line)}\n`);
  const offsets = old.map((_line, index) =>
    new TextEncoder().encode(old.slice(0, index).join("")).length
  );
  // The last line is incomplete, as a power cut leaves it.
  await Deno.writeTextFile(path, `${old.join("")}{"time":"${time}","stream":"st`);
  const read = async (after?: string) =>
    (await readLog(path, after === undefined ? {} : { after })).lines.map(({ message }) => message);
  const all = ["Fetching a", "one", 'two "é"', "three"];
  assertEquals(await read(), all);
  for (const [index, offset] of offsets.entries()) {
    assertEquals(await read(`${offset}`), all.slice(index));
    // As the id of an event that followed the log: so many lines behind a position.
    assertEquals(await read(`0.${index}`), all.slice(index));
  }
  const ends = { stdout: 0, stderr: 0 };
  const log = await LogWriter.open(path, 100_000, (record) => {
    if ("line" in record && record.line.stream !== "event") {
      ends[record.line.stream] = record.line.end ?? 0;
    }
  });
  assertEquals(ends, { stdout: 10, stderr: 10 });
  const content = new TextEncoder().encode("four\nfive\n");
  await log.addChunk({ time, stream: "stdout", end: 20, content });
  await log.close();
  assertEquals(await read(), [...all, "four", "five"]);
  assertEquals(await read(`${offsets[3]}.2`), ["five"]);
});

/** Waits until the service has the log open: what puts something in its place earlier cannot run. */
const UNTIL_LOGGED = "until [ -s $VH_OUTPUTS_DIR/../control/log ]; do sleep 0.01; done";

for (const [what, put] of [["a folder", "mkdir"], ["a pipe", "mkfifo"], ["a link", "ln -s /"]]) {
  Deno.test(`log: a command that puts ${what} in its place has none`, async () => {
    await using fixture = await EngineFixture.make();
    const log = "$VH_OUTPUTS_DIR/../control/log";
    const { id, status } = await fixture.run(
      `echo a; ${UNTIL_LOGGED}; rm ${log}; ${put} ${log}; echo b`,
    );
    assertEquals(status, "complete");
    // To read a pipe would wait for who writes into it.
    const page = deadline(fixture.engine.log(id), 1_000).catch(ignoreTimeout);
    assertEquals(await page, { lines: [], next: "0" });
  });
}

Deno.test("log: a pipe in its place does not hold up a service that takes over", async () => {
  await using fixture = await EngineFixture.make();
  const log = "$VH_OUTPUTS_DIR/../control/log";
  const id = await fixture.submit(
    `echo a; ${UNTIL_LOGGED}; rm ${log}; mkfifo ${log}; echo >$VH_OUTPUTS_DIR/made; ` +
      "seq 50000; sleep 100",
  );
  await until(() => textOf(fixture.path(id, "outputs", "made")) !== "");
  await fixture.restart();
  const { status, reason } = await fixture.ended(id);
  assertEquals(status, "error");
  assertEquals(reason, "Cannot run: something else is in the place of its log");
});

for (const end of ["It ends", undefined]) {
  Deno.test({
    name: `log: it says that lines are missing which had no room, ${end ?? "when it is closed"}`,
    ignore: !has("mount"),
    async fn() {
      await using folder = await temporaryFolder();
      await shell(`mount -t tmpfs -o size=1m tmpfs '${folder.path}'`);
      try {
        const path = `${folder.path}/log`;
        const time = "2030-01-01T00:00:00.000Z";
        const log = await LogWriter.open(path, 1_000_000);
        await shell(`cat /dev/zero >'${folder.path}/all' || true`);
        for (const text of ["a\n", "b\n"]) {
          const content = new TextEncoder().encode(text);
          await log.addChunk({ time, stream: "stdout", end: 2, content });
        }
        await Deno.remove(`${folder.path}/all`);
        if (end !== undefined) await log.addLine({ time, stream: "event", message: end });
        await log.close();
        const note = "The disk was full: what was printed from here on is left out";
        const expected = end === undefined ? [note] : [note, end];
        assertEquals((await readLog(path)).lines.map(({ message }) => message), expected);
      } finally {
        await unmount(folder.path);
      }
    },
  });
}

const printed: { name: string; command: string; lines: string[] }[] = [
  { name: "a last line without a break", command: "printf 'a\\nb'", lines: ["a", "b"] },
  { name: "blank lines", command: "printf '\\n\\na\\n'", lines: ["", "", "a"] },
  { name: "lines of Windows", command: "printf 'a\\r\\nb\\r\\n'", lines: ["a", "b"] },
  {
    name: "a progress bar, and an error behind its last state",
    command: "for i in $(seq 2000); do printf '\\r%s of 2000' $i; done; echo ': failed'",
    lines: ["2000 of 2000: failed"],
  },
  {
    name: "what is not UTF-8",
    command: "printf '\\303\\251 \\377\\376\\nx'",
    lines: ["é \ufffd\ufffd", "x"],
  },
  {
    name: "a line of just the length",
    command: "head -c 16384 /dev/zero | tr '\\0' x; echo; echo y",
    lines: ["x".repeat(16_384), "y"],
  },
  {
    name: "a line that is too long",
    command: "head -c 200000 /dev/zero | tr '\\0' x; echo; echo y",
    lines: [`${"x".repeat(16_384)} [cut: longer than 16384 bytes]`, "y"],
  },
];

for (const { name, command, lines } of printed) {
  Deno.test(`log: ${name}`, async () => {
    await using fixture = await EngineFixture.make();
    const { id } = await fixture.run(command);
    assertEquals(await fixture.printed(id, "stdout"), lines);
  });
}

Deno.test("log: a command that prints too much is neither blocked nor ended by that", async () => {
  await using fixture = await EngineFixture.make({ settings: { ...QUICK, logBytesMax: 20_000 } });
  const execution = await fixture.run(
    "yes 'a line of thirty characters...' | head -n 200000; echo on stderr >&2; echo last",
  );
  assertEquals(execution.status, "complete");
  const lines = await fixture.printed(execution.id, "stdout");
  assert(lines.length > 50 && lines.length < 700, `${lines.length}`);
  assertEquals(await fixture.printed(execution.id, "event"), [
    "The log is full: what is printed from here on is left out",
    "Too much was printed to stdout: what comes from here on is left out",
  ]);
  const { size } = await Deno.stat(fixture.path(execution.id, "control", "log"));
  assert(size <= 20_000, `${size}`);
});

for (const hasRoom of [true, false]) {
  Deno.test(`log: an empty mark of a cut stream, ${hasRoom ? "being written" : "for want of room"}`, async () => {
    await using fixture = await EngineFixture.make();
    const id = await fixture.submit(
      `: >../control/stdout.cut; echo one; until [ -e $VH_OUTPUTS_DIR/go ]; do sleep 0.01; done` +
        (hasRoom ? "; echo >../control/stdout.cut" : ""),
    );
    await until(async () => (await fixture.printed(id, "stdout")).length === 1);
    assertEquals(await fixture.printed(id, "event"), []);
    await Deno.writeTextFile(fixture.path(id, "outputs", "go"), "");
    assertEquals((await fixture.ended(id)).status, "complete");
    const events = ["Too much was printed to stdout: what comes from here on is left out"];
    assertEquals(await fixture.printed(id, "event"), hasRoom ? [] : events);
  });
}

Deno.test("log: what is kept is bounded also while no service runs", async () => {
  await using fixture = await EngineFixture.make({ settings: { ...QUICK, logBytesMax: 20_000 } });
  const id = await fixture.submit(
    "echo begun; until [ -e $VH_OUTPUTS_DIR/go ]; do sleep 0.01; done; " +
      "head -c 1000000 /dev/zero; echo; : >$VH_OUTPUTS_DIR/done; sleep 100",
  );
  await until(async () => (await fixture.printed(id, "stdout")).length === 1);
  await fixture.close();
  await Deno.writeTextFile(fixture.path(id, "outputs", "go"), "");
  await until(() => [...Deno.readDirSync(fixture.path(id, "outputs"))].length === 2);
  await until(() => textOf(fixture.path(id, "control", "stdout")).length === 20_480);
  await fixture.restart();
  await fixture.engine.stop(id);
  assertEquals((await fixture.ended(id)).status, "stopped");
});

Deno.test("log: silence beyond the limit does not count as silence", async () => {
  await using fixture = await EngineFixture.make({ settings: { ...QUICK, logBytesMax: 10_000 } });
  const { status } = await fixture.run("head -c 100000 /dev/zero; sleep 2; echo", {
    no_output_timeout: 1,
  });
  assertEquals(status, "complete");
});

Deno.test("metadata: the latest value of each key is kept, from stdout alone", async () => {
  await using fixture = await EngineFixture.make();
  const { id, metadata } = await fixture.run(`
    echo '{"accuracy": 0.5, "epoch": 1}'
    echo 'text {"a": 1}'
    echo '{"broken": '
    echo '[1, 2]'
    echo '{"error": 1}' >&2
    echo ' {"accuracy": 0.9, "deep": {"list": [1, null]}, "__proto__": 1} '
  `);
  assertEquals(metadata, { accuracy: 0.9, epoch: 1, deep: { list: [1, null] } });
  assertEquals(await fixture.printed(id, "event"), [
    'Metadata with the key "__proto__" is left out: expected another key',
  ]);
  const events = textOf(fixture.path(id, "control", "metadata.jsonl")).trim().split("\n")
    .map((line) => JSON.parse(line));
  assertEquals(events.map(({ accuracy }) => accuracy), [0.5, 0.9]);
  for (const { _time } of events) assertMatch(_time, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
});

Deno.test("metadata: it is stored while the command runs", async () => {
  // A clock that runs twenty times as fast, because metadata is stored every few seconds.
  const start_ms = systemClock.steady();
  const steady = () => start_ms + 20 * (systemClock.steady() - start_ms);
  await using fixture = await EngineFixture.make({ clock: { ...systemClock, steady } });
  const id = await fixture.submit(`echo '{"accuracy": 0.5}'; sleep 100`);
  await until(async () => (await fixture.record(id)).metadata["accuracy"] === 0.5);
  assertEquals((await fixture.record(id)).status, "started");
  await fixture.engine.stop(id);
  assertEquals((await fixture.ended(id)).metadata, { accuracy: 0.5 });
});

Deno.test("metadata: too much of it is left out and told of once", async () => {
  await using fixture = await EngineFixture.make();
  const { id, metadata } = await fixture.run(`
    for i in $(seq 600); do echo "{\\"k$i\\": $i}"; done
    echo '{"k1": "new", "more": 1}'
  `);
  assertEquals(Object.keys(metadata).length, 500);
  assertEquals(metadata["k1"], "new");
  assertEquals(await fixture.printed(id, "event"), [
    "There is too much metadata: some of it is left out",
  ]);
  const long = await fixture.run(`printf '{"a": "%15000s"}\\n{"b": "%15000s", "c": 1}\\n'`);
  assertEquals(Object.keys(long.metadata), ["a", "c"]);
});
