/** Mounts of steps: folders of the machine that the owner of the project's engine allows. */
import { assertEquals, assertRejects } from "@std/assert";
import { engineRefusals } from "../../../src/engines/kinds.ts";
import { resolveMounts } from "../../../src/engines/local/mounts.ts";
import { ActionError } from "../../../src/platform/errors.ts";

const mounts = [{ source: "/srv/data/images", destination: "/data" }];

Deno.test("mounts: a step gets them where its engine has them, and is refused elsewhere", () => {
  const refusals = (engine: Record<string, unknown>, needs = mounts) =>
    engineRefusals({ type: "local", ...engine }, { mounts: needs });
  assertEquals(refusals({ runner: "process" }), [
    'it has mounts, which the runner "process" does not support: expected docker or podman',
  ]);
  const outside = "its mount /srv/data/images is in none of the folders that the setting " +
    "mounts.folders of the project's engine names";
  assertEquals(refusals({ runner: "docker" }), [outside]);
  assertEquals(refusals({ runner: "docker", mounts: { folders: ["/srv/dat"] } }), [outside]);
  assertEquals(refusals({ runner: "docker", mounts: { folders: ["/srv/data"] } }), []);
  const above = [{ source: "/srv/data/../secret", destination: "/data" }];
  assertEquals(refusals({ runner: "docker", mounts: { folders: ["/srv/data"] } }, above).length, 1);
  assertEquals(refusals({ runner: "process" }, []), []);
});

Deno.test("mounts: a link leads to nothing that is not allowed", async () => {
  const folder = await Deno.realPath(await Deno.makeTempDir());
  await Deno.mkdir(`${folder}/in/data`, { recursive: true });
  await Deno.mkdir(`${folder}/out`);
  await Deno.symlink(`${folder}/out`, `${folder}/in/link`);
  await Deno.symlink(`${folder}/in/data`, `${folder}/in/inner`);
  const settings = { mounts: { folders: [`${folder}/in`] } };
  const resolve = (name: string) =>
    resolveMounts([{ source: `${folder}/in/${name}`, destination: "/data" }], settings);
  assertEquals(await resolve("inner"), [{ source: `${folder}/in/data`, destination: "/data" }]);
  await assertRejects(() => resolve("link"), ActionError, `it leads to ${folder}/out`);
  await assertRejects(() => resolve("none"), ActionError, "nothing is there");
  await Deno.remove(folder, { recursive: true });
});
