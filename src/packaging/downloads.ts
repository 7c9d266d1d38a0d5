/**
 * Installers of published archives: a script for shells, and a formula for Homebrew.
 *
 * @module
 */
import { join } from "node:path";
import type { Release } from "./release.ts";
import installer from "./install.sh" with { type: "text" };

/** Homebrew's blocks, by the systems of the archives. */
const BLOCKS: readonly [system: string, processor: string, target: string][] = [
  ["on_macos", "on_arm", "aarch64-apple-darwin"],
  ["on_macos", "on_intel", "x86_64-apple-darwin"],
  ["on_linux", "on_arm", "aarch64-unknown-linux-gnu"],
  ["on_linux", "on_intel", "x86_64-unknown-linux-gnu"],
];

/**
 * Writes `install.sh` and `hooklaunch.rb`.
 *
 * @param url the folder of the published files, such as https://hooks.example.com/1.0.0
 * @param sums the checksums of the files, by their names
 */
export async function writeDownloads(
  { output, version }: Release,
  url: string,
  sums: ReadonlyMap<string, string>,
): Promise<void> {
  const script = installer.replaceAll("@VERSION@", version).replaceAll("@URL@", url);
  await Deno.writeTextFile(join(output, "install.sh"), script, { mode: 0o755 });
  await Deno.writeTextFile(join(output, "hooklaunch.rb"), formula(version, url, sums));
}

/** Writes the formula (https://docs.brew.sh/Formula-Cookbook) for those systems that have an archive. */
function formula(version: string, url: string, sums: ReadonlyMap<string, string>): string {
  const blocks = BLOCKS.flatMap(([system, processor, target]) => {
    const name = `hooklaunch-${version}-${target}.tar.gz`;
    const sum = sums.get(name);
    if (sum === undefined) return [];
    return [`  ${system} do
    ${processor} do
      url "${url}/${name}"
      sha256 "${sum}"
    end
  end
`];
  });
  return `class Hooklaunch < Formula
  desc "Self-hosted webhook trigger service"
  homepage "${url}"
  version "${version}"
  license "MIT"
${blocks.join("")}
  def install
    libexec.install Dir["*"]
    bin.install_symlink libexec/"hooklaunch"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/hooklaunch version")
  end
end
`;
}
