/**
 * The sizes of the npm package, the binary and the image, to download and unpacked, and the time from the first start of
 * each to its first answered launch. Each is unpacked anew, with an empty home and
 * cache, before each start. Files that were just unpacked are in the memory of the machine.
 *
 * @module
 */
import { join } from "node:path";
import config from "../../deno.json" with { type: "json" };
import { has } from "../needs.ts";
import type { Bench } from "./bench.ts";
import { pause, quantile, run } from "./measuring.ts";
import { OPERATORS_TOKEN, SECRET, sign } from "./requests.ts";
import { below } from "./table.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const MIB = 1024 * 1024;
const NAME = `hooklaunch-${config.version}`;
const TARGET = Deno.build.target;
const PROCESSOR = Deno.build.arch === "x86_64" ? "amd64" : "arm64";
const TRIGGER = "01900000-0000-7000-8000-000000000001";
const ACCEPTED_WITHIN_MS = 120_000;
const POLL_MS = 2;
/** Signed launches alone: what is measured is the start. */
const CONFIG = JSON.stringify({
  projects: [{ name: "none", repository: "https://git.example.com/none.git" }],
  triggers: [{
    id: TRIGGER,
    name: "first",
    project: "none",
    conditions: [{
      type: "hmac",
      algorithm: "sha256",
      header: "X-Signature",
      prefix: "sha256=",
      secrets: [SECRET],
    }],
    actions: [{ type: "run_execution", step: "none", if: "false" }],
  }],
});

/** A way to install the service, and to start it. */
interface Way {
  what: string;
  /** The file of the release. */
  file: string;
  /** Aims: of the file, and of what lies unpacked, in MiB. */
  file_mib: number;
  unpacked_mib: number;
  start_ms: number;
  /** A script that unpacks it into its working folder. */
  unpack: string;
  /** A script that replaces itself by `serve`, with the arguments behind it. */
  serve: string;
  /** A script that prints the unpacked bytes, where it does not unpack into the working folder. */
  size?: string;
  needs?: "docker";
}

const WAYS: readonly Way[] = [
  {
    what: "npm package",
    file: `${NAME}.tgz`,
    file_mib: 2,
    unpacked_mib: 150,
    start_ms: 2_000,
    unpack:
      `echo '{}' >package.json; npm install --silent --no-audit --prefer-offline "$MADE/$FILE"`,
    serve: 'exec node_modules/.bin/hooklaunch "$@"',
  },
  {
    what: "binary",
    file: `${NAME}-${TARGET}.tar.gz`,
    file_mib: 60,
    unpacked_mib: 150,
    start_ms: 2_000,
    unpack: 'tar xzf "$MADE/$FILE"',
    serve: `exec ${NAME}/hooklaunch "$@"`,
  },
  {
    what: "image",
    file: `${NAME}-linux-${PROCESSOR}-image.tar`,
    file_mib: 120,
    unpacked_mib: 300,
    start_ms: 3_000,
    unpack: 'docker load --quiet --input "$MADE/$FILE" >loaded',
    serve:
      `exec docker run --rm --name "$PLACE" --network host --user 0 --volume "$PWD:$PWD" --env HOOKLAUNCH_ADMIN_TOKEN hooklaunch:${config.version} "$@"`,
    size: `docker image inspect --format '{{.Size}}' hooklaunch:${config.version}`,
    needs: "docker",
  },
];

/** Makes a release, and measures each way to run it. */
export async function measurePackages(bench: Bench): Promise<void> {
  const made = join(bench.folder, "release");
  await run("sh", [
    "-ec",
    `cd '${ROOT}'; ${config.tasks.release.command} ${config.version} --snapshot --output '${made}' ` +
    `--target ${TARGET} --image ${has("docker") ? PROCESSOR : "none"}`,
  ]);
  for (const way of WAYS) {
    if (way.needs !== undefined && !has(way.needs)) continue;
    const info = await Deno.stat(join(made, way.file)).catch(() => undefined);
    // The release says why it lacks one.
    if (info === undefined) continue;
    const file = { what: `${way.what}, its file`, value: info.size / MIB, unit: "MiB" };
    bench.add(below(way.file_mib, file));
    const starts_ms: number[] = [];
    let unpacked = 0;
    for (let count = 0; count < (bench.isQuick ? 1 : 5); count++) {
      const tried = await tryOnce(bench, way, { made, place: `${way.file}-${count}` });
      starts_ms.push(tried.took_ms);
      unpacked = tried.bytes;
    }
    bench.add(below(way.unpacked_mib, {
      what: `${way.what}, unpacked`,
      value: unpacked / MIB,
      unit: "MiB",
    }));
    const [least = NaN, most = NaN] = [quantile(starts_ms, 0), quantile(starts_ms, 1)];
    bench.add(below(way.start_ms, {
      what: `${way.what}, first start to first answered launch`,
      value: quantile(starts_ms, 0.5),
      unit: "ms",
      detail: `median of ${starts_ms.length}, ${Math.round(least)} to ${Math.round(most)} ms`,
    }));
  }
}

async function tryOnce(
  bench: Bench,
  { unpack, serve, size = "du -sb . | cut -f1", file }: Way,
  { made, place }: { made: string; place: string },
): Promise<{ took_ms: number; bytes: number }> {
  const folder = join(bench.folder, place);
  const home = join(folder, "home");
  await Deno.mkdir(home, { recursive: true });
  const env = {
    HOME: home,
    XDG_CACHE_HOME: "",
    DENO_DIR: "",
    NO_COLOR: "1",
    MADE: made,
    FILE: file,
    PLACE: `hooklaunch-bench-${crypto.randomUUID()}`,
    HOOKLAUNCH_ADMIN_TOKEN: OPERATORS_TOKEN,
  };
  const shell = async (script: string) => {
    const options = { args: ["-ec", script], cwd: folder, env };
    const { success, stdout, stderr } = await new Deno.Command("sh", options).output();
    if (!success) throw new Error(`Cannot run ${script}: ${new TextDecoder().decode(stderr)}`);
    return new TextDecoder().decode(stdout);
  };
  try {
    await shell(unpack);
    const bytes = Number(await shell(size));
    await Deno.writeTextFile(join(folder, "hooklaunch.yaml"), CONFIG);
    const port = freePort();
    const began_ms = performance.now();
    const args = [
      "serve",
      "--dev",
      "--host",
      "127.0.0.1",
      "--port",
      `${port}`,
      "--data",
      join(folder, "data"),
    ];
    const child = new Deno.Command("sh", {
      args: ["-ec", serve, "sh", ...args, "--config", join(folder, "hooklaunch.yaml")],
      cwd: folder,
      env,
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    let hasEnded = false;
    const ended = child.status.finally(() => hasEnded = true);
    try {
      await firstLaunch(port, began_ms, () => hasEnded);
      return { took_ms: performance.now() - began_ms, bytes };
    } finally {
      if (!hasEnded) child.kill("SIGTERM");
      await ended;
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function firstLaunch(
  port: number,
  began_ms: number,
  hasEnded: () => boolean,
): Promise<void> {
  const body = "{}";
  const headers = { "x-signature": sign(body) };
  for (;;) {
    try {
      const url = `http://127.0.0.1:${port}/api/v0/launch/${TRIGGER}/`;
      const answer = await fetch(url, { method: "POST", headers, body });
      const text = await answer.text();
      if (!answer.ok) throw new Error(`The first launch was answered ${answer.status}: ${text}`);
      return;
    } catch (error) {
      const isLate = performance.now() - began_ms > ACCEPTED_WITHIN_MS;
      if (hasEnded()) throw new Error("The service has ended before it listened");
      if (!(error instanceof TypeError) || isLate) throw error;
      // It does not listen yet.
      await pause(POLL_MS);
    }
  }
}

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}
