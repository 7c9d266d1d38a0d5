/**
 * A Worker with jobs that misbehave.
 *
 * @module
 */
import { serveJobs } from "../../../src/platform/heavy_work/serve_jobs.ts";

/** Its kinds of job. */
export const kinds = {
  echo: () =>
    Promise.resolve(({ bytes, text }: { bytes: Uint8Array; text: string }) => ({
      text,
      size: bytes.length,
      last: bytes.at(-1),
    })),
  spin: () =>
    Promise.resolve(({ time_ms }: { bytes: Uint8Array; time_ms: number }) => {
      const end_ms = performance.now() + time_ms;
      while (performance.now() < end_ms);
      return "done";
    }),
  catchAll: () =>
    Promise.resolve((_: { bytes: Uint8Array }) => {
      for (;;) {
        try {
          for (;;);
        } catch {
          // Whatever is thrown to end it.
        }
      }
    }),
  grow: () =>
    Promise.resolve((_: { bytes: Uint8Array }) => {
      const held: string[] = [];
      for (;;) {
        const text = `${"x".repeat(1_000_000)}${held.length}`;
        // Makes one text of the two.
        text.includes("q");
        held.push(text);
      }
    }),
  fail: () =>
    Promise.resolve((_: { bytes: Uint8Array }) => {
      throw new TypeError("no such thing");
    }),
  leave: () => Promise.resolve((_: { bytes: Uint8Array }) => Deno.exit(3)),
};

serveJobs(kinds);
