/**
 * Running the command line as a process of its own.
 *
 * @module
 */

import denoConfig from "../../deno.json" with { type: "json" };
import { runFlags } from "../../src/packaging/bundle.ts";
import { BUNDLE } from "../needs.ts";
import { PATIENCE_MS } from "../surroundings.ts";

/**
 * The permissions that `deno task start` gives the command line, and what it tells Deno and V8: Deno keeps compiled code
 * for one set of V8's flags alone, so others would have it compiled anew each time.
 */
export const FLAGS: readonly string[] = denoConfig.tasks.start.command.split(" ")
  .filter((word) => /^--(?:allow|unstable|v8)/.test(word));

const bundle = Deno.env.get(BUNDLE);
/**
 * The arguments of Deno that run the command line. Of many files it is the bundle of a release, as that starts in half
 * the time; of a few, the checkout itself.
 */
export const HOOKLAUNCH: readonly string[] = bundle === undefined
  ? ["run", "--quiet", ...FLAGS, new URL("../../src/main.ts", import.meta.url).href]
  : ["run", ...runFlags(), bundle];

/** The same for a shell: the arguments of the command line follow. */
export const HOOKLAUNCH_LINE = [Deno.execPath(), ...HOOKLAUNCH].map((word) => `'${word}'`)
  .join(" ");

/** A command that runs. */
export interface Running extends AsyncDisposable {
  child: Deno.ChildProcess;
  /** Everything that it printed so far, both streams. */
  printed(): string;
  /** Waits until something was printed, and answers the match. */
  expect(pattern: RegExp, within_ms?: number): Promise<RegExpExecArray>;
  /** Waits for its end. */
  end(within_ms?: number): Promise<{ code: number; signal: Deno.Signal | null }>;
}

/** Starts `hooklaunch` with the permissions that the tasks give it. */
export function hooklaunch(args: string[], env: Record<string, string> = {}): Running {
  const child = new Deno.Command(Deno.execPath(), {
    args: [...HOOKLAUNCH, ...args],
    env: { NO_COLOR: "1", XDG_CONFIG_HOME: "/nonexistent", ...env },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let printed = "";
  let changed = Promise.withResolvers<void>();
  const read = async (stream: ReadableStream<Uint8Array<ArrayBuffer>>) => {
    for await (const text of stream.pipeThrough(new TextDecoderStream())) {
      printed += text;
      changed.resolve();
      changed = Promise.withResolvers();
    }
  };
  const reading = Promise.all([read(child.stdout), read(child.stderr)]);
  const end = async (within_ms = PATIENCE_MS) => {
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      child.kill("SIGKILL");
    }, within_ms);
    await reading;
    const status = await child.status;
    clearTimeout(timer);
    if (isLate) throw new Error(`It did not end by itself:\n${printed}`);
    return status;
  };
  return {
    child,
    printed: () => printed,
    async expect(pattern, within_ms = PATIENCE_MS) {
      const until_ms = performance.now() + within_ms;
      for (;;) {
        const match = pattern.exec(printed);
        if (match) return match;
        const left_ms = until_ms - performance.now();
        if (left_ms <= 0) throw new Error(`Did not see ${pattern} in:\n${printed}`);
        const { promise, resolve } = Promise.withResolvers<void>();
        const timer = setTimeout(resolve, Math.min(left_ms, 100));
        await Promise.race([changed.promise, promise]);
        clearTimeout(timer);
      }
    },
    end,
    async [Symbol.asyncDispose]() {
      try {
        child.kill("SIGKILL");
      } catch {
        // It has ended already.
      }
      await end();
    },
  };
}

/** Runs `hooklaunch` to its end. */
export async function run(
  args: string[],
  env: Record<string, string> = {},
  within_ms?: number,
) {
  const running = hooklaunch(args, env);
  const { code } = await running.end(within_ms);
  return { code, printed: running.printed() };
}
