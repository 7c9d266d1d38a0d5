/** Heavy work where no Worker starts: in the thread that answers requests, within smaller limits. */
import { assertEquals, assertLess, assertRejects } from "@std/assert";
import { UnavailableError } from "../../../src/platform/errors.ts";
import { HeavyWork } from "../../../src/platform/heavy_work/heavy_work.ts";
import { JobTimeoutError } from "../../../src/platform/heavy_work/job.ts";
import { JobsHere } from "../../../src/platform/heavy_work/jobs_here.ts";
import { kinds } from "./worker.ts";

const options = { key: "a", timeout_ms: 5_000 };

Deno.test("heavy work without a Worker: short jobs are done, long ones are stopped soon, large ones are refused", async () => {
  let starts = 0;
  using work = new HeavyWork<typeof kinds>(() => {
    starts++;
    return Promise.reject(new TypeError("Workers are not supported"));
  }, { fallback: () => Promise.resolve(new JobsHere(kinds)) });
  const bytes = new Uint8Array([7]);
  assertEquals(await work.run("echo", { bytes, text: "é" }, options), {
    text: "é",
    size: 1,
    last: 7,
  });
  for (const kind of ["spin", "catchAll"] as const) {
    const began_ms = performance.now();
    const spinning = work.run(kind, { bytes, time_ms: 60_000 }, options);
    await assertRejects(() => spinning, JobTimeoutError);
    assertLess(performance.now() - began_ms, options.timeout_ms);
  }
  const large = work.run("echo", { bytes: new Uint8Array(256 * 1024 + 1), text: "" }, options);
  await assertRejects(() => large, UnavailableError, "at most 262144");
  assertEquals((await work.run("echo", { bytes, text: "next" }, options)).text, "next");
  assertEquals(starts, 1);
});

Deno.test("heavy work without a Worker and without a fallback is refused", async () => {
  using work = new HeavyWork<typeof kinds>(() => Promise.reject(new TypeError("none")));
  const working = work.run("echo", { bytes: new Uint8Array(1), text: "" }, options);
  await assertRejects(() => working, UnavailableError, "Cannot start a Worker");
});
