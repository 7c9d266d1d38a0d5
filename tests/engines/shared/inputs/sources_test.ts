/**
 * Files that are not fetched: outputs, datums, files of this machine, and what none of them is.
 *
 * @module
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { derivedId, newId } from "../../../../src/platform/ids.ts";
import {
  datumId,
  type Execution,
  findDatum,
  saveExecution,
} from "../../../../src/store/records/executions.ts";
import { payloadWrites } from "../../../../src/store/records/payloads.ts";
import { executionOf } from "../../../store/execution.ts";
import { Bench, messageOf, sha256 } from "./fixture.ts";

/** An output of an execution as an input file. */
function outputOf({ id, outputs }: Execution, path: string, name = path) {
  const output = outputs.find((each) => each.path === path);
  if (output === undefined) throw new Error(`There is no output ${path}`);
  return { name, output_of: id, ...output };
}

Deno.test("output: it is copied, and known by its datum id", async () => {
  await using bench = await Bench.make();
  const earlier = await bench.ended({ "model/weights.bin": "weights", "b": "" });
  const { texts, files } = await bench.bring([
    outputOf(earlier, "model/weights.bin", "weights.bin"),
    outputOf(earlier, "b"),
    outputOf(earlier, "model/weights.bin"),
  ]);
  assertEquals(texts, { "weights.bin": "weights", "b": "", "model/weights.bin": "weights" });
  const id = datumId(earlier.id, "model/weights.bin");
  assertEquals(files[0], {
    name: "weights.bin",
    size: 7,
    sha256: sha256("weights"),
    uri: `datum://${id}`,
    datumId: id,
    artifact: `executions/${earlier.id}/outputs/model/weights.bin`,
  });
  assertEquals(bench.told, []);
});

const spoiled: { name: string; spoil: (path: string) => Promise<void>; message: string }[] = [
  { name: "removed", spoil: (path) => Deno.remove(path), message: "is not there any more" },
  {
    name: "longer",
    spoil: (path) => Deno.writeTextFile(path, "weights and more"),
    message: "was changed",
  },
  { name: "shorter", spoil: (path) => Deno.truncate(path, 3), message: "was changed" },
  { name: "other", spoil: (path) => Deno.writeTextFile(path, "Weights"), message: "was changed" },
  {
    name: "a link",
    spoil: async (path) => {
      await Deno.rename(path, `${path}.moved`);
      await Deno.symlink(`${path}.moved`, path);
    },
    message: "is not there any more",
  },
  {
    name: "behind a link",
    spoil: async (path) => {
      await Deno.rename(join(path, ".."), join(path, "..", "..", "moved"));
      await Deno.symlink("moved", join(path, ".."));
    },
    message: "is not there any more",
  },
  {
    name: "a pipe",
    spoil: async (path) => {
      await Deno.remove(path);
      await new Deno.Command("sh", { args: ["-c", `mkfifo '${path}'`] }).output();
    },
    message: "is not there any more",
  },
];

for (const { name, spoil, message } of spoiled) {
  Deno.test(`output: one that is ${name} by now is refused`, async () => {
    await using bench = await Bench.make();
    const earlier = await bench.ended({ "model/weights": "weights" });
    await spoil(bench.outputPath(earlier.id, "model/weights"));
    const failure = await messageOf(bench.bring([outputOf(earlier, "model/weights")]));
    assertStringIncludes(failure, `the output "model/weights" of execution ${earlier.id}`);
    assertStringIncludes(failure, message);
  });
}

Deno.test("output: what a record says leads nowhere else", async () => {
  await using bench = await Bench.make();
  const earlier = await bench.ended({ a: "text" });
  await Deno.writeTextFile(join(bench.folder, "executions", earlier.id, "secret"), "text");
  const file = outputOf(earlier, "a");
  for (
    const changed of [
      { path: "../secret" },
      { path: "x/../a" },
      { path: "/etc/passwd" },
      { path: "" },
      { output_of: `${earlier.id}/../${earlier.id}` },
      { output_of: ".." },
    ]
  ) {
    const failure = await messageOf(bench.bring([{ ...file, ...changed }]));
    assertStringIncludes(failure, "is not there any more");
  }
});

Deno.test("datum: an output is found by its id, and has its own name unless another is declared", async () => {
  await using bench = await Bench.make();
  const earlier = await bench.ended({ "deep/a.csv": "text" });
  const id = datumId(earlier.id, "deep/a.csv");
  const { texts, files } = await bench.bring([
    { name: "file", url: `datum://${id}` },
    { name: "mine.csv", url: `datum://${id}/` },
    { name: "file", url: `datum://${id.toUpperCase()}` },
  ]);
  assertEquals(texts, { "a.csv": "text", "mine.csv": "text", "a-2.csv": "text" });
  assertEquals(files[0]?.datumId, id);
});

Deno.test("datum: executions of the same millisecond, and of those around it", async () => {
  await using bench = await Bench.make();
  const time_ms = Date.now();
  const at = (shift_ms: number) => {
    const id = derivedId(newId(time_ms + shift_ms), 0, "execution");
    return bench.ended({ "a.csv": id }, { id });
  };
  const executions = [];
  for (let count = 0; count < 40; count++) executions.push(await at(count % 4 === 0 ? 1 : 0));
  executions.push(await at(-1));
  for (const { id } of executions) {
    const found = await findDatum(bench.store, datumId(id, "a.csv"));
    assertEquals([found?.execution.id, found?.output.path], [id, "a.csv"]);
  }
});

Deno.test("datum: ids that stand for nothing", async () => {
  await using bench = await Bench.make();
  const earlier = await bench.ended({ a: "text" });
  const running = executionOf({ status: "started" });
  await bench.store.committer.commit(saveExecution(running));
  for (
    const id of [
      datumId(earlier.id, "b"),
      datumId(running.id, "a"),
      earlier.id,
      newId(0),
      "ffffffff-ffff-ffff-ffff-ffffffffffff",
      "00000000-0000-0000-0000-000000000000",
    ]
  ) {
    assertEquals(await findDatum(bench.store, id), undefined);
    assertStringIncludes(await bench.failure(`datum://${id}`), "has this datum_id");
  }
  assertEquals(await findDatum(bench.store, "latest"), undefined);
  for (const url of ["datum://latest", "datum:", `datum://${earlier.id}/x`, "datum://"]) {
    assertStringIncludes(await bench.failure(url), "expected datum:// and the datum_id", url);
  }
});

Deno.test("datum: the data of another project is refused", async () => {
  await using bench = await Bench.make();
  const { id } = await bench.ended({ a: "text" }, { project: "letters" });
  const url = `datum://${datumId(id, "a")}`;
  assertStringIncludes(await bench.failure(url), "it is of another project");
  assertEquals((await bench.fetch(url, { project: "letters" })).texts, { "data.csv": "text" });
});

/** A folder with files, and one beside it. */
async function folders(bench: Bench): Promise<{ inside: string; outside: string }> {
  const [inside, outside] = [join(bench.folder, "in side"), join(bench.folder, "in side more")];
  await Deno.mkdir(join(inside, "deep"), { recursive: true });
  await Deno.mkdir(outside);
  await Deno.writeTextFile(join(inside, "deep", "a.csv"), "inside");
  await Deno.writeTextFile(join(outside, "secret"), "outside");
  return { inside, outside };
}

function fileUrl(...parts: string[]): string {
  return `file://${join(...parts).split("/").map(encodeURIComponent).join("/")}`;
}

Deno.test("file: what is inside of a folder that the project names", async () => {
  await using bench = await Bench.make();
  const { inside, outside } = await folders(bench);
  await Deno.symlink(join(inside, "deep", "a.csv"), join(inside, "link"));
  await Deno.symlink(inside, join(outside, "door"));
  const given = [[inside], [`${inside}/`], ["/nowhere", inside], ["/"], [join(outside, "door")]];
  for (const settings of given.map((folders) => ({ folders }))) {
    const url = fileUrl(inside, "deep", "a.csv");
    const { texts, files } = await bench.fetch(url, { settings });
    assertEquals(texts, { "data.csv": "inside" });
    assertEquals(files[0], { name: "data.csv", size: 6, sha256: sha256("inside"), uri: url });
    assertEquals((await bench.fetch(fileUrl(inside, "link"), { settings })).texts, texts);
  }
  const through = fileUrl(outside, "door", "deep", "a.csv");
  const settings = { folders: [join(outside, "door")] };
  assertEquals((await bench.fetch(through, { settings })).texts, { "data.csv": "inside" });
});

Deno.test("file: what is not inside is refused, and the message says what to change", async () => {
  await using bench = await Bench.make();
  const { inside, outside } = await folders(bench);
  await Deno.symlink(join(outside, "secret"), join(inside, "leak"));
  await Deno.symlink(outside, join(inside, "door"));
  const settings = { folders: [inside] };
  for (
    const url of [
      fileUrl(outside, "secret"),
      fileUrl(outside, "no-such-file"),
      fileUrl(inside, "leak"),
      fileUrl(inside, "door", "secret"),
      fileUrl(inside),
      `${fileUrl(inside)}/`,
      `${fileUrl(inside)}/../in%20side%20more/secret`,
      `${fileUrl(inside)}/%2e%2e/in%20side%20more/secret`,
      "file:///etc/passwd",
      "file:/etc/passwd",
      "file:///",
    ]
  ) {
    const message = await bench.failure(url, { settings });
    assertStringIncludes(message, "the setting inputs.folders of the project's engine", url);
  }
  assertStringIncludes(
    await bench.failure(fileUrl(inside, "deep", "a.csv"), { settings: {} }),
    "the setting inputs.folders of the project's engine is empty",
  );
});

Deno.test("file: what is no regular file of this machine", async () => {
  await using bench = await Bench.make();
  const { inside } = await folders(bench);
  await new Deno.Command("sh", { args: ["-c", `mkfifo '${inside}/pipe'`] }).output();
  const settings = { folders: [inside] };
  for (
    const [url, message] of [
      [fileUrl(inside, "deep"), "it is not a regular file"],
      [fileUrl(inside, "pipe"), "it is not a regular file"],
      [fileUrl(inside, "nothing"), "there is no such file"],
      [fileUrl(inside, "deep", "a.csv", "x"), "there is no such file"],
      [`file://other.example${inside}/deep/a.csv`, "expected file:/// and the path"],
      [`${fileUrl(inside)}%2fdeep/a.csv`, "expected file:/// and the path"],
      [`${fileUrl(inside)}/a%00b`, ""],
      [`${fileUrl(inside)}/a%ff`, ""],
    ] as const
  ) {
    assertStringIncludes(await bench.failure(url, { settings }), message, url);
  }
});

Deno.test("file: the limit of all files counts", async () => {
  await using bench = await Bench.make();
  const { inside } = await folders(bench);
  await Deno.truncate(join(inside, "deep", "a.csv"), 1024 * 1024);
  await Deno.writeTextFile(join(inside, "one"), "1");
  const settings = { folders: [inside], max_mb: 1 };
  const files = ["deep/a.csv", "one"].map((path) => ({ name: "a", url: fileUrl(inside, path) }));
  await bench.bring(files.slice(0, 1), { settings });
  const message = await messageOf(bench.bring(files, { settings }));
  assertStringIncludes(message, "more than 1 MiB, the limit of the setting inputs.max_mb");
  // An output and a payload count before they are brought.
  const limit = "more than 1 MiB";
  const earlier = await bench.ended({ a: "x".repeat(700 * 1024) });
  const outputs = [outputOf(earlier, "a"), outputOf(earlier, "a")];
  assertStringIncludes(await messageOf(bench.bring(outputs, { settings })), limit);
  const payload = { name: "p", payload_of: newId(1), size: 2 * 1024 ** 2 };
  assertStringIncludes(await messageOf(bench.bring([payload], { settings })), limit);
});

Deno.test("other sources: the message says which schemes there are", async () => {
  await using bench = await Bench.make();
  for (const url of ["s3://bucket/key", "gs://b/k", "azure://a/b", "dataset://x/y", "ftp://h/f"]) {
    assertStringIncludes(
      await bench.failure(url),
      `"${new URL(url).protocol}" is unknown: expected one of datum:, file:, http:, https:`,
    );
  }
  for (const url of ["", "data.csv", "/etc/passwd", "http://", "http://[", "https://a b/"]) {
    const message = await bench.failure(url);
    assertEquals(message, `Cannot fetch data.csv: the URL of input "data" cannot be read`);
  }
});

Deno.test("names: files of several sources that have the same one", async () => {
  await using bench = await Bench.make();
  const earlier = await bench.ended({ "a.csv": "output" });
  const { run_id } = executionOf();
  await bench.store.committer.write(payloadWrites(run_id, new TextEncoder().encode("payload")));
  const { texts, files } = await bench.bring([
    { name: "a.csv", payload_of: run_id, size: 7 },
    outputOf(earlier, "a.csv"),
    { name: "a.csv", url: `datum://${datumId(earlier.id, "a.csv")}` },
    { name: "deep/a.csv", payload_of: run_id, size: 7 },
  ]);
  assertEquals(texts, {
    "a.csv": "payload",
    "a-2.csv": "output",
    "a-3.csv": "output",
    "deep/a.csv": "payload",
  });
  assertEquals(files.map(({ name }) => name), ["a.csv", "a-2.csv", "a-3.csv", "deep/a.csv"]);
});

Deno.test("names: none leads out of the inputs folder, whatever the source", async () => {
  await using bench = await Bench.make();
  const earlier = await bench.ended({ a: "text" });
  const datum = `datum://${datumId(earlier.id, "a")}`;
  for (const name of ["../x", "/tmp/x", "a/../../x", "..", "", "a\0"]) {
    const message = await messageOf(bench.bring([{ name, url: datum }]));
    assertStringIncludes(message, "cannot be used in a path");
  }
  assert(![...Deno.readDirSync(bench.folder)].some(({ name }) => name === "x"));
});
