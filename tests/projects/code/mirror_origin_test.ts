/** A mirror whose address changes while others ask for it. */
import { assertEquals } from "@std/assert";
import { deadline } from "@std/async/deadline";
import { join } from "node:path";
import { Mirror } from "../../../src/projects/code/mirror.ts";
import { originOf } from "../../../src/projects/code/remote.ts";
import { TREE_LIMITS } from "../../../src/projects/code/tree.ts";
import { eventually } from "../../surroundings.ts";
import { configFile, GitFixture, projectOf, TemporaryFolder } from "./git_fixture.ts";
import { GitServer } from "./http_server.ts";

/** Keeps the syncs of a folder from ending until they are let go, in the order in which they came. */
function holdSyncs(folder: string): Disposable & { held: (() => void)[] } {
  const held: (() => void)[] = [];
  const { open } = Deno;
  Deno.open = async (path, options) => {
    const file = await open(path, options);
    if (path === folder) {
      const sync = file.sync.bind(file);
      file.sync = async () => {
        await sync();
        await new Promise<void>((resolve) => held.push(resolve));
      };
    }
    return file;
  };
  return { held, [Symbol.dispose]: () => void (Deno.open = open) };
}

Deno.test("the old address of a mirror is answered at once, whatever is set and fetched in the same moment", async () => {
  await using folder = new TemporaryFolder();
  const old = await GitFixture.make(join(folder.path, "old"), {
    "valohai.yaml": configFile("old"),
  });
  await GitFixture.make(join(folder.path, "new"), { "valohai.yaml": configFile("new") });
  const goOn = Promise.withResolvers<void>();
  await using server = new GitServer(folder.path, { before: () => goOn.promise });
  using stack = new DisposableStack();
  stack.defer(() => goOn.resolve());
  const mirror = new Mirror({
    projectName: "digits",
    folder: join(folder.path, "project/mirror.git"),
    fetchTimeout_ms: 60_000,
    limits: TREE_LIMITS,
    env: () => undefined,
  });
  const [before, after] = [old.path, `http://${server.host}/new/.git`].map((path) =>
    originOf(projectOf(path))
  );
  if (before === undefined || after === undefined) throw new Error("Expected two origins");
  await mirror.fetch(before);
  using syncs = holdSyncs(join(folder.path, "project"));
  const { held } = syncs;
  const fetches = [mirror.fetch(after), mirror.fetch(after)];
  await eventually(() => held.length === 2 || undefined);
  held[0]?.();
  await eventually(() => server.requests.length > 0 || undefined);
  const asked = mirror.refs(before);
  await eventually(() => held.length === 3 || undefined);
  // Both are over in the same turn of the loop: the new address is set once more, just behind the old one.
  held[2]?.();
  held[1]?.();
  const letGo = setInterval(() => held.splice(0).forEach((end) => end()), 5);
  stack.defer(() => clearInterval(letGo));
  assertEquals((await deadline(asked, 20_000)).branches.get("main"), await old.head());
  goOn.resolve();
  const [first, second] = await Promise.all(fetches);
  assertEquals(first?.branches.size, 1);
  assertEquals(second, first);
  await mirror.close();
});
