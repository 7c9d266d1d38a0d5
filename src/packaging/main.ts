/**
 * `deno task release VERSION`: makes what a release consists of, in a folder. The same commit gives the same
 * bytes.
 *
 * @module
 */
import { Command } from "commander";
import { dirname, join } from "node:path";
import config from "../../deno.json" with { type: "json" };
import { filesBelow } from "./archive.ts";
import { makeArchive, TARGETS } from "./archives.ts";
import { makeBundle } from "./bundle.ts";
import { makeChart, makeCompose } from "./cluster_files.ts";
import { makeImage, PROCESSORS } from "./image.ts";
import { componentsOf, licensesOf, materialsOf } from "./materials.ts";
import { releaseNotes } from "./notes.ts";
import { writeDownloads } from "./downloads.ts";
import { makeNpmPackage } from "./npm_package.ts";
import { FAST, type Release, SMALL } from "./release.ts";
import { ReleaseError, run } from "./run.ts";
import { makeSystemPackages } from "./system_packages.ts";

interface Options {
  fast?: boolean;
  image: string[];
  output: string;
  snapshot?: boolean;
  target?: string[];
  url?: string;
}

/** In place of processors: no image. */
const NONE = "none";
const VERSION = /^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/;

async function release(
  version: string,
  { fast = false, image, output, snapshot = false, target, url }: Options,
): Promise<void> {
  const changelog = await Deno.readTextFile(fileOf("CHANGELOG.md"));
  if (!snapshot) await check(version, changelog);
  const targets = target ?? [...TARGETS];
  for (const [named, known] of [[targets, TARGETS], [image, [...PROCESSORS, NONE]]] as const) {
    const other = named.find((each) => !known.includes(each));
    if (other !== undefined) {
      throw new ReleaseError(`Expected one of ${known.join(", ")}, found ${other}`);
    }
  }
  const [commit = "", seconds = ""] = (await run("git", ["log", "-1", "--format=%H %ct"])).trim()
    .split(" ");
  const work = await Deno.makeTempDir({ prefix: "hooklaunch-release-" });
  try {
    await Deno.remove(output, { recursive: true }).catch(ignoreMissing);
    await Deno.mkdir(output, { recursive: true });
    const components = await componentsOf();
    const licenses = licensesOf(components);
    const bundle = join(work, "bundle");
    console.log("Bundle");
    await makeBundle(bundle, commit);
    const made: Release = {
      version,
      deno: Deno.version.deno,
      time: new Date(Number(seconds) * 1000),
      output,
      level: fast ? FAST : SMALL,
      stage: (part, to) => stage(join(work, part), bundle, to, made.time, licenses),
      say: (text) => console.log(text),
    };
    made.say("npm package");
    await makeNpmPackage(made);
    const folders = new Map<string, string>();
    for (const each of targets) {
      const folder = await makeArchive(made, each);
      if (folder !== undefined) folders.set(each, folder);
    }
    await makeSystemPackages(made, folders);
    for (const each of image.filter((name) => name !== NONE)) await makeImage(made, each);
    await makeChart(made);
    await makeCompose(made);
    const materials = materialsOf(components, version, made.time);
    await Deno.writeTextFile(join(output, `hooklaunch-${version}.cdx.json`), materials);
    await Deno.writeTextFile(join(output, "NOTES.md"), releaseNotes(changelog, version) ?? "");
    const sums = await checksums(output);
    if (url !== undefined) await writeDownloads(made, url.replace(/\/+$/, ""), sums);
    else {made.say(
        "Installer and formula of Homebrew: left out, since no --url says where the archives will be",
      );}
    const lines = [...await checksums(output)].map(([path, sum]) => `${sum}  ${path}\n`);
    await Deno.writeTextFile(join(output, "SHA256SUMS"), lines.join(""));
    made.say(`Release ${version} of ${commit.slice(0, 12)} is in ${output}`);
  } finally {
    await Deno.remove(work, { recursive: true });
  }
}

/** Refuses what would publish another version than it says, or other files than the commit has. */
async function check(version: string, changelog: string): Promise<void> {
  if (!VERSION.test(version)) {
    throw new ReleaseError(`Expected a version such as 1.2.3 or 1.2.3-rc.1, found ${version}`);
  }
  if (config.version !== version) {
    throw new ReleaseError(
      `deno.json has version ${config.version}: set it to ${version}, and commit`,
    );
  }
  if (releaseNotes(changelog, version) === undefined) {
    throw new ReleaseError(`CHANGELOG.md has no section "## ${version}": name it so, and commit`);
  }
  const changes = await run("git", ["status", "--porcelain"]);
  if (changes !== "") {
    throw new ReleaseError(`The checkout has changes that no commit has:\n${changes}`);
  }
}

async function stage(
  folder: string,
  bundle: string,
  to: string | undefined,
  time: Date,
  licenses: string,
): Promise<string> {
  await Deno.mkdir(folder, { recursive: true });
  const ours = ["README.md", "LICENSE"].map((name) => [fileOf(name), name]);
  const bundled = to === undefined
    ? []
    : (await filesBelow(bundle)).map((path) => [join(bundle, path), join(to, path)]);
  for (const [from = "", path = ""] of [...ours, ...bundled]) {
    await Deno.mkdir(dirname(join(folder, path)), { recursive: true });
    await Deno.copyFile(from, join(folder, path));
    await Deno.utime(join(folder, path), time, time);
  }
  await Deno.writeTextFile(join(folder, "LICENSES.txt"), licenses);
  await Deno.utime(join(folder, "LICENSES.txt"), time, time);
  return folder;
}

function fileOf(name: string): string {
  return new URL(`../../${name}`, import.meta.url).pathname;
}

/** Returns the checksums of the files in a folder, as `sha256sum -c` compares them. */
async function checksums(folder: string): Promise<Map<string, string>> {
  const sums = new Map<string, string>();
  for (const path of await filesBelow(folder)) {
    const digest = await crypto.subtle.digest("SHA-256", await Deno.readFile(join(folder, path)));
    sums.set(path, new Uint8Array(digest).toHex());
  }
  return sums;
}

function ignoreMissing(error: unknown): void {
  if (!(error instanceof Deno.errors.NotFound)) throw error;
}

const program = new Command("release")
  .description(
    "Make what a release consists of: packages, archives, checksums, a list of materials, notes",
  )
  .argument("<version>", "the version that deno.json and CHANGELOG.md name")
  .option("--output <folder>", "where it is written; what is there is removed", "dist")
  .option("--target <target...>", `the systems of the archives (default: ${TARGETS.join(", ")})`)
  .option("--image <processor...>", "the processors of the images, or none", [...PROCESSORS])
  .option("--url <url>", "the folder that the files will be downloaded from: makes the installers")
  .option("--fast", "compress as fast as can be: larger files, to be tried")
  .option(
    "--snapshot",
    "check neither the version nor the changelog, and allow changes in the checkout",
  )
  .action(release);
try {
  await program.parseAsync(Deno.args, { from: "user" });
} catch (error) {
  if (!(error instanceof ReleaseError)) throw error;
  console.error(`release: ${error.message}`);
  Deno.exit(1);
}
