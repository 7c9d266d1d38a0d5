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

/** A mirror, and two repositories: the new one answers when it is told to. */
async function setUp(folder: TemporaryFolder) {
  const old = await GitFixture.make(join(folder.path, "old"), {
    "valohai.yaml": configFile("old"),
  });
  await GitFixture.make(join(folder.path, "new"), { "valohai.yaml": configFile("new") });
  const goOn = Promise.withResolvers<void>();
  const server = new GitServer(folder.path, { before: () => goOn.promise });
  const mirror = new Mirror({
    projectName: "digits",
    folder: join(folder.path, "project/mirror.git"),
    fetchTimeout_ms: 60_000,
    limits: TREE_LIMITS,
    env: () => undefined,
  });
  const before = originOf(projectOf(old.path));
  const after = originOf(projectOf(`http://${server.host}/new/.git`));
  return { old, mirror, server, goOn, before, after };
}

Deno.test("the old address of a mirror is answered at once, whatever is set and fetched in the same moment", async () => {
  await using folder = new TemporaryFolder();
  const { old, mirror, server, goOn, before, after } = await setUp(folder);
  await using _server = server;
  using stack = new DisposableStack();
  stack.defer(() => goOn.resolve());
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

Deno.test("the old address of a mirror has its own branches, also while the mirror of the new one takes its place", async () => {
  await using folder = new TemporaryFolder();
  const { old, mirror, server, goOn, before, after } = await setUp(folder);
  await using _server = server;
  using stack = new DisposableStack();
  stack.defer(() => goOn.resolve());
  await mirror.fetch(before);
  const fetching = mirror.fetch(after);
  await eventually(() => server.requests.length > 0 || undefined);
  assertEquals(await mirror.isFetched(before), true);
  using syncs = holdSyncs(join(folder.path, "project"));
  goOn.resolve();
  // The new mirror has the place of the old one.
  await eventually(() => syncs.held.length > 0 || undefined);
  const asked = mirror.refs(before);
  const letGo = setInterval(() => syncs.held.splice(0).forEach((end) => end()), 5);
  stack.defer(() => clearInterval(letGo));
  assertEquals((await deadline(asked, 20_000)).branches.get("main"), await old.head());
  assertEquals((await fetching).branches.size, 1);
  assertEquals((await mirror.refs(before)).branches.get("main"), await old.head());
  await mirror.close();
});
