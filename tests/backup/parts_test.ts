/** A backup leaves the disk to launches: what it writes goes there in parts, and so goes what it removes. */
import { assert, assertEquals } from "@std/assert";
import { join } from "node:path";
import { openStore } from "../../src/store/open_store.ts";
import { has } from "../needs.ts";
import { CONFIG_FLAGS, temporaryFolder } from "../surroundings.ts";

const MAIN = new URL("../../src/main.ts", import.meta.url).pathname;
const MIB = 1024 * 1024;
/** A part, and what SQLite had in memory until then. */
const UNSYNCED_MAX = 12 * MIB;
const REMOVED_MAX = 16 * MIB;
const CALLS = "trace=write,pwrite64,fsync,fdatasync,ftruncate,?unlink,unlinkat";

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
    const name = call.startsWith("unlink") ? join(path, /"([^"]+)"/.exec(rest)?.[1] ?? "") : path;
    if (!name.startsWith(folder)) continue;
    const size = sizes.get(name) ?? 0;
    // What it writes is left out of the trace: `""..., 16384, 65536)`.
    const [bytes = 0, offset = size] = [...rest.matchAll(/\d+/g)].map(Number);
    if (call === "write" || call === "pwrite64") {
      sizes.set(name, Math.max(size, offset + bytes));
      unsynced.set(name, (unsynced.get(name) ?? 0) + bytes);
      most.unsynced = Math.max(most.unsynced, unsynced.get(name) ?? 0);
    } else if (call === "ftruncate") {
      most.removed = Math.max(most.removed, size - bytes);
      sizes.set(name, bytes);
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
  async fn() {
    await using folder = await temporaryFolder();
    const [data, made, trace] = ["data", "made", "trace"].map((name) => join(folder.path, name));
    assert(data && made && trace);
    {
      await using store = await openStore(data);
      for (let id = 0; id < 700; id++) {
        await store.kv.set(["record", id], crypto.getRandomValues(new Uint8Array(60_000)));
      }
    }
    await Deno.mkdir(made);
    const { success, stderr } = await new Deno.Command("sh", {
      args: [
        ...["-c", 'exec strace "$@"', "sh", "-f", "-y", "-qq", "-s", "0", "-o", trace, "-e", CALLS],
        ...[Deno.execPath(), "run", ...CONFIG_FLAGS, "--allow-all", MAIN],
        ...["backup", join(made, "backup.tar.gz"), "--data", data],
      ],
    }).output();
    assert(success, new TextDecoder().decode(stderr));
    const { unsynced, removed, files } = mostOf(await Deno.readTextFile(trace), made);
    const found = [unsynced > MIB, unsynced <= UNSYNCED_MAX, removed > 0, removed <= REMOVED_MAX];
    assertEquals(
      found,
      [true, true, true, true],
      `${unsynced} written, ${removed} removed at once`,
    );
    assert(files >= 2);
  },
});
