/** Backups leave the disk to launches: they write long files to it in parts, and remove them in parts. */
import { assert, assertEquals } from "@std/assert";
import { join } from "node:path";
import { keys } from "../../src/store/keys.ts";
import { openStore } from "../../src/store/open_store.ts";
import { has } from "../needs.ts";
import { CONFIG_FLAGS, temporaryFolder } from "../surroundings.ts";

const SOURCE = new URL("../../src/", import.meta.url).pathname;
/** Makes a backup of the data folder that it is given, and proves it, as a service does. */
const SCHEDULED = `
  import { doBackupJob } from "${SOURCE}backup/scheduled/job.ts";
  const [data, folder] = Deno.args;
  const { signal } = new AbortController();
  const job = { data, place: { folder }, name: "hooklaunch-20260115T103000Z.tar.gz" };
  for (const kind of ["make", "prove"]) {
    const result = await doBackupJob({ ...job, kind }, signal);
    if ("failure" in result) throw new Error(result.failure);
  }`;
const MIB = 1024 * 1024;
/** A part, and what SQLite had in memory until then. */
const UNSYNCED_MAX = 12 * MIB;
const REMOVED_MAX = 16 * MIB;
const CALLS = "trace=write,pwrite64,fsync,fdatasync,ftruncate,?rename,?unlink,unlinkat";

/** The most bytes of each file that were on their way to the disk at once, and that a removal gave back at once. */
function mostOf(
  trace: string,
  folder: string,
): { unsynced: number; removed: number; files: number } {
  const unsynced = new Map<string, number>();
  const sizes = new Map<string, number>();
  const most = { unsynced: 0, removed: 0, files: 0 };
  for (const line of trace.split("\n")) {
    const [, call = "", path = "", rest = ""] =
      /^\d+ +(\w+)\((?:\d+<([^>]+)>(?:, )?|)(.*)/.exec(line) ?? [];
    const [first = "", second = ""] = [...rest.matchAll(/"([^"]+)"/g)].map(([, text = ""]) => text);
    const isNamed = call === "rename" || call.startsWith("unlink");
    const name = isNamed ? join(path, first) : path;
    if (!name.startsWith(folder)) continue;
    const size = sizes.get(name) ?? 0;
    // What it writes is left out of the trace: `""..., 16384, 65536)`.
    const [bytes = 0, place = 0] = [...rest.matchAll(/\d+/g)].map(Number);
    const offset = call === "write" ? size : place;
    if (call === "write" || call === "pwrite64") {
      sizes.set(name, Math.max(size, offset + bytes));
      unsynced.set(name, (unsynced.get(name) ?? 0) + bytes);
      most.unsynced = Math.max(most.unsynced, unsynced.get(name) ?? 0);
    } else if (call === "ftruncate") {
      most.removed = Math.max(most.removed, size - bytes);
      sizes.set(name, bytes);
    } else if (call === "rename") {
      sizes.delete(name);
      sizes.set(second, size);
    } else if (call.startsWith("unlink")) {
      most.removed = Math.max(most.removed, size);
      most.files += sizes.delete(name) ? 1 : 0;
    } else {
      unsynced.delete(name);
    }
  }
  return most;
}

Deno.test({
  name: "a backup has little on its way to the disk at once, and removes long files in parts",
  ignore: !has("strace"),
  async fn(t) {
    await using folder = await temporaryFolder();
    const [data, made, trace, script] = ["data", "made", "trace", "scheduled.ts"]
      .map((name) => join(folder.path, name));
    assert(data && made && trace && script);
    {
      await using store = await openStore(data);
      for (let id = 0; id < 700; id++) {
        await store.kv.set(["record", id], crypto.getRandomValues(new Uint8Array(60_000)));
      }
      await store.kv.set(keys.backupSentinel(), "hooklaunch-20260115T103000Z.tar.gz");
    }
    await Deno.mkdir(made);
    await Deno.writeTextFile(script, SCHEDULED);
    const cases = {
      "by hand": [`${SOURCE}main.ts`, "backup", join(made, "backup.tar.gz"), "--data", data],
      "scheduled, and proven": [script, data, made],
    };
    for (const [name, args] of Object.entries(cases)) {
      await t.step(name, async () => {
        const strace = ["-f", "-y", "-qq", "-s", "0", "-o", trace, "-e", CALLS];
        const deno = [Deno.execPath(), "run", ...CONFIG_FLAGS, "--allow-all", ...args];
        const { success, stderr } = await new Deno.Command("sh", {
          args: ["-c", 'exec strace "$@"', "sh", ...strace, ...deno],
        }).output();
        assert(success, new TextDecoder().decode(stderr));
        const { unsynced, removed, files } = mostOf(await Deno.readTextFile(trace), folder.path);
        const told = `${unsynced} written, ${removed} removed at once`;
        const found = [
          unsynced > MIB,
          unsynced <= UNSYNCED_MAX,
          removed > 0,
          removed <= REMOVED_MAX,
        ];
        assertEquals(found, [true, true, true, true], told);
        assert(files >= 2);
      });
    }
  },
});
