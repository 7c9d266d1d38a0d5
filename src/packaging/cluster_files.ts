/**
 * What runs the image: the Helm chart, and the files of Compose, with the version of the release.
 *
 * @module
 */
import { dirname, join } from "node:path";
import config from "../../deno.json" with { type: "json" };
import { filesBelow, writeArchive } from "./archive.ts";
import type { Release } from "./release.ts";

const HERE = new URL(".", import.meta.url).pathname;

/** Makes the archive of the chart, as `helm package` does, and always with the same bytes. */
export async function makeChart(release: Release): Promise<void> {
  const name = `hooklaunch-chart-${release.version}`;
  const folder = `${await release.stage("chart")}/files`;
  for (const path of await filesBelow(join(HERE, "chart"))) {
    const text = await Deno.readTextFile(join(HERE, "chart", path));
    await Deno.mkdir(dirname(join(folder, path)), { recursive: true });
    await Deno.writeTextFile(join(folder, path), path === "Chart.yaml" ? stamped(text) : text);
  }
  await writeArchive(join(release.output, `${name}.tgz`), folder, "hooklaunch", release.time);
  release.say("chart");

  function stamped(text: string): string {
    return text.replaceAll(/(?<=^(?:version|appVersion): ).*/gm, release.version);
  }
}

/** Copies the files of Compose, which name the image of the release. */
export async function copyComposeFiles(release: Release): Promise<void> {
  const folder = join(release.output, "compose");
  for (const path of await filesBelow(join(HERE, "compose"))) {
    const text = await Deno.readTextFile(join(HERE, "compose", path));
    await Deno.mkdir(dirname(join(folder, path)), { recursive: true });
    const named = text.replaceAll(`hooklaunch:${config.version}`, `hooklaunch:${release.version}`);
    await Deno.writeTextFile(join(folder, path), named);
  }
  release.say("files of Compose");
}
