/**
 * Packages of Linux systems, `.deb` and `.rpm`, by nfpm (https://nfpm.goreleaser.com): the command, and a service of
 * systemd that its user switches on.
 *
 * @module
 */
import { join } from "node:path";
import { stringify } from "yaml";
import operating from "../docs/operating.md" with { type: "text" };
import { FAST, type Release } from "./release.ts";
import { ReleaseError, run } from "./run.ts";

const ARCHITECTURES: readonly [target: string, name: string][] = [
  ["x86_64-unknown-linux-gnu", "amd64"],
  ["aarch64-unknown-linux-gnu", "arm64"],
];

/**
 * Makes the packages of those systems whose archive could be made.
 *
 * @param folders the content of the archives, by their systems
 */
export async function makeSystemPackages(
  release: Release,
  folders: ReadonlyMap<string, string>,
): Promise<void> {
  for (const [target, arch] of ARCHITECTURES) {
    const folder = folders.get(target);
    // The packager takes the rights as they are: those of a strict umask let nobody but root run the command.
    if (folder !== undefined) await run("chmod", ["-R", "u=rwX,go=rX", folder]);
    for (const packager of folder === undefined ? [] : ["deb", "rpm"]) {
      const file = join(folder ?? "", `../nfpm-${arch}.yaml`);
      const unit = join(folder ?? "", "../hooklaunch.service");
      await Deno.writeTextFile(unit, documentedUnit());
      await Deno.writeTextFile(file, stringify(settings(release, folder ?? "", unit, arch)));
      const args = [
        "package",
        "--config",
        file,
        "--packager",
        packager,
        "--target",
        `${release.output}/`,
      ];
      try {
        await run("nfpm", args, { SOURCE_DATE_EPOCH: String(release.time.getTime() / 1000) });
        release.say(`.${packager} for ${arch}`);
      } catch (error) {
        if (!(error instanceof ReleaseError) || !error.message.endsWith("is not installed")) {
          throw error;
        }
        release.say(`.${packager} for ${arch}: left out, since ${error.message}`);
      }
    }
  }
}

/** Returns the unit of systemd that the page about operating prints. */
function documentedUnit(): string {
  const [, unit = ""] = /```ini\n([\s\S]*?)```/.exec(operating) ?? [];
  return unit.replace("/usr/local/bin/", "/usr/bin/");
}

/** Writes the configuration of nfpm (https://nfpm.goreleaser.com/docs/configuration/). */
function settings(
  { version, time, level }: Release,
  folder: string,
  unit: string,
  arch: string,
): unknown {
  const own = (name: string) => new URL(name, import.meta.url).pathname;
  const mtime = time.toISOString();
  const file_info = { mtime };
  return {
    name: "hooklaunch",
    arch,
    platform: "linux",
    version,
    version_schema: "semver",
    section: "net",
    maintainer: "The Hooklaunch authors",
    description: "A self-hosted webhook trigger service",
    license: "MIT",
    mtime,
    depends: ["git"],
    contents: [
      { src: folder, dst: "/usr/lib/hooklaunch", type: "tree" },
      {
        src: "/usr/lib/hooklaunch/hooklaunch",
        dst: "/usr/bin/hooklaunch",
        type: "symlink",
        file_info,
      },
      {
        src: unit,
        dst: "/usr/lib/systemd/system/hooklaunch.service",
        file_info: { mode: 0o644, mtime },
      },
      { dst: "/etc/hooklaunch", type: "dir", file_info: { mode: 0o750, mtime } },
    ],
    deb: { compression: level === FAST ? "none" : "zstd" },
    rpm: { compression: level === FAST ? "zstd:fastest" : "zstd" },
    scripts: { postinstall: own("./postinstall.sh"), preremove: own("./preremove.sh") },
  };
}
