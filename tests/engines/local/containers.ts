/**
 * Containers for tests, on machines that cannot fetch images: an image is made of what is installed here.
 *
 * @module
 */
import { CONFIG_FLAGS, temporaryFolder } from "../../surroundings.ts";
import { join } from "node:path";
import { systemClock } from "../../../src/platform/clock.ts";
import { LocalEngine } from "../../../src/engines/local/mod.ts";
import { has } from "../../needs.ts";
import { checkoutOfContract, CONTRACT_SETTINGS, engineContract } from "../contract.ts";
import type { HostedRun, Ran } from "./run_host.ts";

/** A program that runs containers. */
export type Containers = "docker" | "podman";

/** What a test's image has. */
export interface ImageOptions {
  /** Programs with the libraries that they need, beside busybox. */
  programs?: readonly string[];
  /** Whether it has a shell. */
  shell?: boolean;
}

const MAKE_IMAGE = `
set -eu
image=$1 program=$2 shell=$3
shift 3
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root/bin" "$root/tmp"
for each in busybox "$@"; do
  path=$(command -v "$each")
  cp "$path" "$root/bin/"
  { ldd "$path" 2>/dev/null || true; } | grep -o '/[^ ]*' | while read -r library; do
    mkdir -p "$root\${library%/*}"
    cp -L "$library" "$root$library"
  done || true
done
# Hard links, which docker and podman copy for each container faster than others.
"$root/bin/busybox" --install "$root/bin"
[ "$shell" = yes ] || rm -f "$root/bin/sh" "$root/bin/ash"
tar -C "$root" -c . | "$program" import - "$image"
`;

/** Whether this machine can run containers with a program. */
export function hasContainers(program: Containers): boolean {
  return has(program) && has("busybox");
}

/** The images that were made, or are being made, by program and name. */
const images = new Map<string, Promise<unknown>>();

/** Makes an image, unless it is made already. Answers its name. */
export async function makeImage(
  program: Containers,
  { programs = [], shell = true }: ImageOptions = {},
): Promise<string> {
  const image = ["hooklaunch-test", ...programs, ...(shell ? [] : ["no-shell"])].join("-");
  const key = `${program} ${image}`;
  const making = images.get(key) ??
    sh(MAKE_IMAGE, image, program, shell ? "yes" : "no", ...programs);
  images.set(key, making);
  await making;
  return image;
}

/** Registers the tests of the contract for the local engine with containers. */
export async function containerContract(program: Containers): Promise<void> {
  const ignore = !hasContainers(program);
  const image = ignore ? "" : await makeImage(program);
  engineContract(`containers of ${program}`, {
    ignore,
    isSlow: program === "podman",
    isContainer: program === "docker",
    fields: { engine: { type: "local", runner: program }, image },
    makeEngine: (parts) =>
      new LocalEngine({
        ...parts,
        projects: { checkout: checkoutOfContract },
        clock: systemClock,
        settings: CONTRACT_SETTINGS,
      }),
  });
}

/** Runs executions in a process of their own with this environment, and answers what that tells of them. */
export async function runHosted(
  runs: readonly HostedRun[],
  env: Record<string, string>,
): Promise<Ran[]> {
  await using folder = await temporaryFolder();
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--quiet",
      "--no-prompt",
      ...CONFIG_FLAGS,
      "--allow-run=sh,git",
      "--allow-read",
      "--allow-write",
      "--allow-env",
      "--allow-net",
      join(import.meta.dirname ?? "", "run_host.ts"),
      folder.path,
      JSON.stringify(runs),
    ],
    cwd: join(import.meta.dirname ?? "", "../../.."),
    env,
    stderr: "inherit",
  }).output();
  return JSON.parse(new TextDecoder().decode(stdout));
}

/** Calls a program; answers what it printed. */
export async function call(program: Containers, ...args: string[]): Promise<string> {
  return await sh('exec "$@"', program, ...args);
}

async function sh(script: string, ...args: string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command("sh", {
    args: ["-c", script, "sh", ...args],
    cwd: "/",
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout).trim();
}
