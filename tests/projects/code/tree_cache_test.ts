/** Trees that cleanup removes while somebody comes to use them: a copy is whole or made anew. */
import { assertEquals } from "@std/assert";
import { join } from "node:path";
import { TreeCache, type TreeSource } from "../../../src/projects/code/tree_cache.ts";
import { temporaryFolder, TestClock } from "../../surroundings.ts";

const FILES = 1_000;
const HOUR_MS = 60 * 60_000;

/** The source of a tree that is whole once it is there. */
function source(make: TreeSource["make"]): TreeSource {
  return { make, isWhole: () => Promise.resolve(true) };
}

function countOf(folder: string): number {
  try {
    return [...Deno.readDirSync(folder)].length;
  } catch {
    return 0;
  }
}

Deno.test("a tree that is being removed is made anew for who needs it", async () => {
  await using folder = await temporaryFolder();
  const root = join(folder.path, "trees");
  const make = (to: string): Promise<void> => {
    for (let at = 0; at < FILES; at++) Deno.writeTextFileSync(join(to, `file-${at}`), "x");
    return Promise.resolve();
  };
  const clock = new TestClock();
  clock.time_ms = Date.now();
  await new TreeCache(root, clock).ensure("commit", source(make));
  clock.time_ms += 2 * HOUR_MS;
  // As after a restart: when it was used last is not known.
  const trees = new TreeCache(root, clock);
  const pruning = trees.prune(() => false, HOUR_MS);
  while (countOf(trees.pathOf("commit")) === FILES) {
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
  await trees.ensure("commit", source(make));
  const copy = join(folder.path, "copy");
  await trees.copy("commit", copy);
  assertEquals(countOf(copy), FILES);
  assertEquals(await pruning, 1);
  assertEquals(countOf(root), 1);
});

Deno.test("trees however deep are removed, and keep no others", async () => {
  await using folder = await temporaryFolder();
  // Twenty times a thousand levels: more than a stack and the files that may be open have room for.
  const script = `levels=$(printf 'd/%.0s' $(seq 1000))
    cd "$1"
    for _ in $(seq 20); do
      mkdir -p "new/$levels"
      [ ! -e d ] || mv d "new/$levels"
      mv new/d .; rmdir new
    done`;
  const clock = new TestClock();
  const trees = new TreeCache(folder.path, clock);
  const makeDeep: TreeSource["make"] = async (to) => {
    await new Deno.Command("sh", { args: ["-c", script, "sh", to] }).output();
  };
  await trees.ensure("deep", source(makeDeep));
  await trees.ensure("other", source(() => Promise.resolve()));
  clock.time_ms += 2 * HOUR_MS;
  assertEquals(await trees.prune(() => false, HOUR_MS), 2);
  assertEquals(countOf(folder.path), 0);
});

Deno.test("a tree that was used not long ago stays, however old it is", async () => {
  await using folder = await temporaryFolder();
  const clock = new TestClock(Date.now());
  const trees = new TreeCache(join(folder.path, "trees"), clock);
  for (const commit of ["used", "unused"]) {
    await trees.ensure(commit, source(() => Promise.resolve()));
  }
  clock.time_ms += 2 * HOUR_MS;
  await trees.ensure("used", source(() => Promise.reject(new Error("It is there"))));
  assertEquals(await trees.prune(() => false, HOUR_MS), 1);
  assertEquals([...Deno.readDirSync(join(folder.path, "trees"))].map(({ name }) => name), ["used"]);
});
