/** Mirrors that outgrow `disk_mb`: the project's own actions fail, and nothing of what was taken stays. */
import { assertEquals, assertLess, assertRejects } from "@std/assert";
import { join } from "node:path";
import { systemClock } from "../../../src/platform/clock.ts";
import { ActionError } from "../../../src/platform/errors.ts";
import { Projects } from "../../../src/projects/projects.ts";
import type { Project } from "../../../src/store/records/projects.ts";
import { configFile, GitFixture, projectOf, TemporaryFolder } from "./git_fixture.ts";
import { GitServer } from "./http_server.ts";

const MIB = 1024 * 1024;
const TOO_LARGE =
  'Cannot fetch the repository of project "digits": it takes more than 1 MiB on disk: ' +
  "raise disk_mb of the project's engine, or make the repository smaller";

/** Text that cannot be compressed by much. */
function noise(bytes: number): string {
  let text = "";
  while (text.length < bytes) {
    text += crypto.getRandomValues(new Uint8Array(48 * 1024)).toBase64();
  }
  return text;
}

async function setUp(folder: TemporaryFolder, files: Record<string, string>) {
  const remote = await GitFixture.make(join(folder.path, "remote"), {
    "valohai.yaml": configFile("first"),
    ...files,
  });
  const dataFolder = join(folder.path, "data");
  const projects = new Projects({ dataFolder, clock: systemClock });
  const limited = (repository: string, disk_mb: number): Project => {
    return { ...projectOf(repository), engine: { type: "local", disk_mb } };
  };
  return { remote, dataFolder, projects, limited };
}

async function bytesIn(folder: string): Promise<number> {
  let bytes = 0;
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = join(folder, name);
    bytes += isDirectory ? await bytesIn(path) : (await Deno.lstat(path)).size;
  }
  return bytes;
}

Deno.test("mirror: a repository that is larger than disk_mb is not fetched, others are", async () => {
  await using folder = new TemporaryFolder();
  const { remote, dataFolder, projects, limited } = await setUp(folder, { large: noise(4 * MIB) });
  const project = limited(remote.path, 1);
  await assertRejects(() => projects.fetch(project), ActionError, TOO_LARGE);
  await assertRejects(() => projects.resolve(project, "main"), ActionError, TOO_LARGE);
  assertLess(await bytesIn(dataFolder), 10_000);
  const other = { ...limited(remote.path, 10), name: "other" };
  assertEquals([...(await projects.resolve(other, "main")).config.steps.keys()], ["first"]);
});

Deno.test("mirror: one that outgrows disk_mb keeps what it has, and goes on when the limit is raised", async () => {
  await using folder = new TemporaryFolder();
  const { remote, dataFolder, projects, limited } = await setUp(folder, {});
  const project = limited(remote.path, 1);
  const { commit } = await projects.resolve(project, "main");
  const newer = await remote.commit({ large: noise(4 * MIB) });
  await assertRejects(() => projects.fetch(project), ActionError, TOO_LARGE);
  await projects.checkout("digits", commit, join(dataFolder, "copy"));
  await assertRejects(() => projects.fetch(project), ActionError, TOO_LARGE);
  assertEquals((await projects.fetch(limited(remote.path, 10))).branches, { main: newer });
});

Deno.test("mirror: a fetch that takes more than disk_mb is ended while it runs", async () => {
  await using folder = new TemporaryFolder();
  const { dataFolder, projects, limited } = await setUp(folder, { large: noise(4 * MIB) });
  const goOn = Promise.withResolvers<void>();
  await using server = new GitServer(folder.path, {
    // The last bytes do not come.
    answer: (response) => {
      const body = response.body?.pipeThrough(
        new TransformStream<Uint8Array, Uint8Array>({
          async transform(chunk, controller) {
            controller.enqueue(chunk.subarray(0, -100));
            if (chunk.length > MIB) await goOn.promise;
            controller.enqueue(chunk.subarray(-100));
          },
        }),
      );
      return new Response(body ?? null, response);
    },
  });
  const project = limited(`http://${server.host}/remote/.git`, 1);
  await assertRejects(() => projects.fetch(project), ActionError, TOO_LARGE);
  assertLess(await bytesIn(dataFolder), 10_000);
  goOn.resolve();
});
