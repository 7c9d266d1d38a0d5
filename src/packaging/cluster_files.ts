/**
 * Files that run the image: the Helm chart, and those of Compose, with the version of the release.
 *
 * @module
 */
import { dirname, join } from "node:path";
import { filesBelow, writeArchive } from "./archive.ts";
import type { Release } from "./release.ts";

const HERE = new URL(".", import.meta.url).pathname;

/** Makes the archive of the chart, as `helm package` does, and always with the same bytes. */
export async function makeChart(release: Release): Promise<void> {
  const name = `hooklaunch-chart-${release.version}`;
  const folder = `${await release.stage("chart")}/files`;
  await copyFiles(
    "chart",
    folder,
    (path, text) =>
      path === "Chart.yaml"
        ? text.replaceAll(/(?<=^(?:version|appVersion): ).*/gm, release.version)
        : text,
  );
  await writeArchive(release, `${name}.tgz`, { folder, root: "hooklaunch" });
  release.say("chart");
}

/** Makes the archive of the files of Compose, which name the image of the release. */
export async function makeCompose(release: Release): Promise<void> {
  const name = `hooklaunch-compose-${release.version}`;
  const folder = `${await release.stage("compose")}/files`;
  await copyFiles(
    "compose",
    folder,
    (_path, text) => text.replaceAll("hooklaunch:latest", `hooklaunch:${release.version}`),
  );
  await writeArchive(release, `${name}.tar.gz`, { folder, root: "hooklaunch" });
  release.say("files of Compose");
}

/** Copies the files of a folder beside this module, with what a release changes in them. */
async function copyFiles(
  from: string,
  to: string,
  changed: (path: string, text: string) => string,
): Promise<void> {
  for (const path of await filesBelow(join(HERE, from))) {
    const text = await Deno.readTextFile(join(HERE, from, path));
    await Deno.mkdir(dirname(join(to, path)), { recursive: true });
    await Deno.writeTextFile(join(to, path), changed(path, text));
  }
}
