/**
 * What the tests of backups share: a data folder that has a little of everything, and archives that are
 * like a backup of it, but for one thing.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { packTar, type ParsedTarEntryWithData, type TarHeader } from "modern-tar";
import { createHash } from "node:crypto";
import { backUp } from "../../src/backup/backup.ts";
import { type Entry, manifestLine } from "../../src/backup/manifest.ts";
import { restore } from "../../src/backup/restore.ts";
import { newId } from "../../src/platform/ids.ts";
import { firstAttempt } from "../../src/store/records/attempts.ts";
import { executionWrites } from "../../src/store/records/executions.ts";
import { openStore } from "../../src/store/open_store.ts";
import { executionOf } from "../store/execution.ts";
import { temporaryFolder } from "../surroundings.ts";

/** What tests back up and restore with, unless they say otherwise. */
export const OPTIONS = {
  withoutKey: false,
  force: false,
  signal: new AbortController().signal,
  onProgress() {},
};

/** The path of the snapshot in the data folder. */
export const SNAPSHOT = `projects/files/trees/~${"0".repeat(64)}`;
/** An execution that has ended. */
export const ENDED = newId(Date.UTC(2026, 0, 1));
/** An execution that has begun. */
export const STARTED = newId(Date.UTC(2026, 0, 2));
/** An execution that was asked to stop. */
export const STOPPING = newId(Date.UTC(2026, 0, 3));
/** An execution whose first attempt has failed, and left a file. The second one waits for its time. */
export const RETRIED = firstAttempt(executionOf({
  id: newId(Date.UTC(2026, 0, 4)),
  retry: { attempts: 2, first: 86_400, factor: 1, exit_codes: "*" },
}));
/** A folder that its command has closed to its owner. */
export const CLOSED = `executions/${STARTED}/outputs/closed`;

/** Writes a data folder by hand that has a little of everything. */
async function writeDataFolder(data: string): Promise<void> {
  const output = "the output";
  const sha256 = createHash("sha256").update(output).digest("hex");
  {
    await using store = await openStore(data);
    for (
      const execution of [
        executionOf({
          id: ENDED,
          status: "complete",
          outputs: [{ path: "a/b", size: output.length, sha256 }],
        }),
        executionOf({
          id: STARTED,
          status: "started",
          engine_state: { boot_id: "a", start_id: "b", more: 1 },
        }),
        executionOf({
          id: STOPPING,
          status: "stopping",
          engine_state: { boot_id: "a", start_id: "b", more: 1 },
        }),
        {
          ...RETRIED,
          status: "error" as const,
          ended_at: RETRIED.created_at,
          outputs: [{ path: "a/b", size: output.length, sha256 }],
        },
      ]
    ) await store.committer.write(executionWrites(execution));
  }
  const files: [path: string, text: string, mode: number][] = [
    ["secret.key", `${new Uint8Array(32).toBase64()}\n`, 0o600],
    [`executions/${ENDED}/control/log`, "{}\n", 0o600],
    [`executions/${ENDED}/config/parameters.json`, "{}", 0o600],
    [`executions/${ENDED}/outputs/a/b`, output, 0o640],
    [`executions/${ENDED}/repository/left.out`, "", 0o600],
    [`executions/${RETRIED.id}/control/log`, "{}\n", 0o600],
    [`executions/${RETRIED.id}/outputs/a/b`, output, 0o640],
    [`executions/${STARTED}/control/started`, "1 x\n", 0o600],
    ["projects/fetched/origin.json", "{}", 0o600],
    ["projects/files/origin.json", "{}", 0o600],
    ["projects/files/known_hosts", "x\n", 0o600],
    [`projects/files/trees/${"1".repeat(40)}/left.out`, "", 0o600],
    ["projects/files/mirror.git/left.out", "", 0o600],
    [`${SNAPSHOT}/run.sh`, "echo\n", 0o755],
    [`${SNAPSHOT}/ä/${"long ".repeat(40)}`, "", 0o644],
  ];
  for (const [path, text, mode] of files) {
    await Deno.mkdir(`${data}/${path}`.replace(/[^/]*$/, ""), { recursive: true, mode: 0o700 });
    await Deno.writeTextFile(`${data}/${path}`, text);
    await Deno.chmod(`${data}/${path}`, mode);
  }
  await Deno.utime(`${data}/executions/${ENDED}/outputs/a/b`, 1_700_000_000, 1_700_000_000);
  await Deno.mkdir(`${data}/${SNAPSHOT}/empty`);
  await Deno.mkdir(`${data}/${CLOSED}`, { recursive: true });
  await Deno.chmod(`${data}/${CLOSED}`, 0o555);
  await Deno.symlink("../run.sh", `${data}/${SNAPSHOT}/ä/link`);
  await Deno.symlink("..", `${data}/${SNAPSHOT}/ä/top`);
  await Deno.symlink("none", `${data}/${SNAPSHOT}/ä/nowhere`);
  await Deno.symlink("a/b", `${data}/executions/${ENDED}/outputs/left.out`);
}

/** What a folder holds, with modes, but for the lock. */
export async function contentsOf(folder: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const inner of ["", ...await pathsIn(folder)]) {
    const path = `${folder}/${inner}`;
    const { isDirectory, isSymlink, mode } = await Deno.lstat(path);
    const digest = async () => createHash("sha256").update(await Deno.readFile(path)).digest("hex");
    const what = isSymlink ? await Deno.readLink(path) : isDirectory ? "folder" : await digest();
    if (inner !== "lock") found[inner] = `${((mode ?? 0) & 0o777).toString(8)} ${what}`;
  }
  return found;
}

/** The paths of all that a folder holds, however deep. */
export async function pathsIn(folder: string, inside = ""): Promise<string[]> {
  const found: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(`${folder}/${inside}`)) {
    const path = inside === "" ? name : `${inside}/${name}`;
    found.push(path, ...isDirectory ? await pathsIn(folder, path) : []);
  }
  return found.sort();
}

/** A data folder and a backup of it. */
export interface Prepared extends AsyncDisposable {
  path: string;
  data: string;
  /** The backup. */
  archive: Uint8Array<ArrayBuffer>;
  /** Restores an archive to a folder of its own, which it answers. */
  restore(archive: Uint8Array<ArrayBuffer>, to?: string): Promise<string>;
}

/** Makes a data folder and a backup of it. */
export async function prepare(): Promise<Prepared> {
  const folder = await temporaryFolder();
  const { path } = folder;
  const data = `${path}/data`;
  await writeDataFolder(data);
  const report = await backUp({ data, target: `${path}/backup`, ...OPTIONS });
  assertEquals(report.flaws, []);
  let count = 0;
  return {
    path,
    data,
    archive: await Deno.readFile(`${path}/backup`),
    async restore(archive, to = `${path}/restored-${count++}`) {
      const source = new Blob([archive]).stream();
      await restore({ data: to, source, ...OPTIONS });
      return to;
    },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

/** The tar archive in a backup. */
export async function gunzip(archive: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const tar = new Blob([archive]).stream().pipeThrough(new DecompressionStream("gzip"));
  return await new Response(tar).bytes();
}

/** Packs entries anew, with a manifest that is true of them. */
export async function pack(entries: ParsedTarEntryWithData[]): Promise<Uint8Array<ArrayBuffer>> {
  const lines = entries.map(({ header: { name, mode = 0o600, type, linkname = "" }, data }) => {
    const bytes = data ?? new Uint8Array();
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    const entry: Entry = type === "directory"
      ? { type: "folder", path: name.replace(/\/$/, ""), mode }
      : type === "symlink"
      ? { type: "link", path: name, target: linkname }
      : { type: "file", path: name, mode, size: bytes.length, sha256 };
    return manifestLine(entry);
  });
  const tar = await packTar([...entries, file("manifest.jsonl", lines.join(""))]);
  const gzip = new Blob([tar]).stream().pipeThrough(new CompressionStream("gzip"));
  return await new Response(gzip).bytes();
}

/** An entry with this text. */
export function file(
  name: string,
  text: string,
  rest: Partial<TarHeader> = {},
): ParsedTarEntryWithData {
  const data = new TextEncoder().encode(text);
  return { header: { name, size: data.length, mode: 0o600, type: "file", ...rest }, data };
}
