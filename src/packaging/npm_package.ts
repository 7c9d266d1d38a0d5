/**
 * The npm package: the bundle, and the package `deno` as what runs it. Nothing comes from elsewhere.
 *
 * @module
 */
import { join } from "node:path";
import { writeArchive } from "./archive.ts";
import { runFlags } from "./bundle.ts";
import type { Release } from "./release.ts";

/** The command: it runs the bundle, and hands signals and the exit code on. */
const CLI = `#!/usr/bin/env node
"use strict";
const { spawn } = require("node:child_process");
const { constants } = require("node:os");
const { join } = require("node:path");

const deno = require("deno/install_api.cjs").runInstall();
const flags = FLAGS;
const args = ["run", ...flags, join(__dirname, "lib", "main.js"), ...process.argv.slice(2)];
// Deno's own spans hold whole URLs, and with them the secrets of senders.
const env = { ...process.env, OTEL_DENO_TRACING: "false" };
if (process.execve && process.platform !== "win32") process.execve(deno, [deno, ...args], env);
const child = spawn(deno, args, { stdio: "inherit", env });
// A terminal sends its signals to both.
process.on("SIGINT", () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(\`hooklaunch: cannot start \${deno}: \${error.message}\`);
  process.exit(1);
});
child.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
`;

/** Makes the package, `hooklaunch-VERSION.tgz`. */
export async function makeNpmPackage(release: Release): Promise<void> {
  const folder = await release.stage("npm", "lib");
  await Deno.writeTextFile(
    join(folder, "cli.cjs"),
    CLI.replace("FLAGS", JSON.stringify(runFlags())),
    { mode: 0o755 },
  );
  const settings = {
    name: "hooklaunch",
    version: release.version,
    description: "A self-hosted webhook trigger service",
    keywords: ["webhook", "trigger", "pipeline", "self-hosted"],
    license: "MIT",
    bin: { hooklaunch: "cli.cjs" },
    dependencies: { deno: release.deno },
    engines: { node: ">=18" },
  };
  await Deno.writeTextFile(join(folder, "package.json"), `${JSON.stringify(settings, null, 2)}\n`);
  await writeArchive(release, `hooklaunch-${release.version}.tgz`, { folder, root: "package" });
}
