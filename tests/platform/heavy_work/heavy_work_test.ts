import { assertEquals, assertGreater, assertLess, assertRejects } from "@std/assert";
import { deadline } from "@std/async/deadline";
import { Worker } from "node:worker_threads";
import { HeavyWork } from "../../../src/platform/heavy_work/heavy_work.ts";
import {
  JobFailedError,
  JobTimeoutError,
  WorkerLostError,
} from "../../../src/platform/heavy_work/job.ts";
import { UnavailableError } from "../../../src/platform/errors.ts";
import { assertTakesLess } from "../../surroundings.ts";
import type { kinds } from "./worker.ts";

const bytes = new Uint8Array(1);
const options = { key: "a", timeout_ms: 5_000 };

class TestWork extends HeavyWork<typeof kinds> {
  started = 0;

  constructor(path = "./worker.ts", options: { idle_ms?: number; short_ms?: number } = {}) {
    super((workerOptions) => {
      this.started++;
      return Promise.resolve(new Worker(new URL(path, import.meta.url), workerOptions));
    }, options);
  }
}

Deno.test("heavy work: a job gets its input and its bytes, which stay the caller's", async () => {
  using work = new TestWork();
  const large = new Uint8Array(5_000_000);
  large[large.length - 1] = 7;
  const output = await work.run("echo", { bytes: large, text: "é" }, options);
  assertEquals(output, { text: "é", size: 5_000_000, last: 7 });
  assertEquals(large.at(-1), 7);
  const view = large.subarray(large.length - 2, large.length - 1);
  assertEquals((await work.run("echo", { bytes: view, text: "" }, options)).size, 1);
  assertEquals(work.started, 1);
});

Deno.test("heavy work: a job that takes too long is stopped, and the next one runs", async () => {
  using work = new TestWork();
  await work.run("echo", { bytes, text: "" }, options);
  await assertTakesLess(250, async () => {
    for (const kind of ["spin", "catchAll"] as const) {
      const input = { bytes, time_ms: 60_000 };
      const began_ms = performance.now();
      const running = work.run(kind, input, { ...options, timeout_ms: 300 });
      await assertRejects(() => running, JobTimeoutError, "longer than 300 ms");
      assertLess(performance.now() - began_ms, input.time_ms / 2);
    }
  });
  assertEquals((await work.run("echo", { bytes, text: "next" }, options)).text, "next");
  assertEquals(work.started, 1);
});

Deno.test("heavy work: a job that needs too much memory ends the Worker alone", async () => {
  using work = new TestWork();
  // That such a Worker is gone shows when the time of its job is over.
  const growing = work.run("grow", { bytes }, { ...options, timeout_ms: 10_000 });
  await assertRejects(() => growing, WorkerLostError);
  assertEquals((await work.run("echo", { bytes, text: "next" }, options)).text, "next");
  assertEquals(work.started, 2);
});

Deno.test("heavy work: an idle Worker ends, and another starts when it is needed", async () => {
  using work = new TestWork("./worker.ts", { idle_ms: 50 });
  const echo = () => work.run("echo", { bytes, text: "" }, options);
  await echo();
  await echo();
  assertEquals(work.started, 1);
  await new Promise((resolve) => setTimeout(resolve, 300));
  await echo();
  assertEquals(work.started, 2);
});

Deno.test("heavy work: a job that throws or ends the Worker fails by itself", async () => {
  using work = new TestWork();
  await assertRejects(() => work.run("fail", { bytes }, options), JobFailedError, "no such thing");
  assertEquals(work.started, 1);
  await assertRejects(() => work.run("leave", { bytes }, options), WorkerLostError);
  assertEquals((await work.run("echo", { bytes, text: "next" }, options)).text, "next");
});

Deno.test("heavy work: a Worker that cannot start makes its jobs unavailable", async () => {
  using work = new TestWork("./there_is_none.ts");
  const running = work.run("echo", { bytes, text: "" }, options);
  const error = await assertRejects(() => running, UnavailableError, "Cannot start a Worker");
  assertGreater(error.retryAfter_s, 0);
});

Deno.test("heavy work: a Worker that starts while the service stops is ended", async () => {
  const ended = Promise.withResolvers<void>();
  const work = new HeavyWork<typeof kinds>((workerOptions) => {
    const worker = new Worker(new URL("./worker.ts", import.meta.url), workerOptions);
    worker.once("exit", () => ended.resolve());
    return Promise.resolve(worker);
  });
  const running = work.run("echo", { bytes, text: "" }, options);
  work[Symbol.dispose]();
  await assertRejects(() => running, UnavailableError, "stopping");
  await deadline(ended.promise, 60_000);
});

Deno.test("heavy work: the keys take turns, whatever one of them asks for", async () => {
  // On a busy machine each job takes long, and a key that rests has no turn.
  using work = new TestWork("./worker.ts", { short_ms: Infinity });
  await work.run("echo", { bytes, text: "" }, options);
  const ended: string[] = [];
  const spin = (key: string, time_ms: number) =>
    work.run("spin", { bytes, time_ms }, { key, timeout_ms: 5_000 })
      .then(() => ended.push(key), (error) => ended.push(error.code));
  const all = [
    ...Array.from({ length: 6 }, () => spin("greedy", 50)),
    ...Array.from({ length: 2 }, () => spin("other", 1)),
  ];
  await Promise.all(all);
  assertEquals(ended.slice(0, 5), ["greedy", "greedy", "other", "greedy", "other"]);
});

Deno.test("heavy work: after a long job its key rests for as long, while other keys go on", async () => {
  using work = new TestWork();
  await work.run("echo", { bytes, text: "" }, options);
  const ended: string[] = [];
  const spin = (key: string, time_ms: number) =>
    work.run("spin", { bytes, time_ms }, { key, timeout_ms: 5_000 }).then(() => ended.push(key));
  await spin("slow", 300);
  const began_ms = performance.now();
  await Promise.all([spin("slow", 1), spin("other", 1)]);
  assertEquals(ended, ["slow", "other", "slow"]);
  assertGreater(performance.now() - began_ms, 280);
});

Deno.test("heavy work: a key over its share is told to come later; others are served", async () => {
  using work = new TestWork();
  let stopped = 0;
  const greedy = Array.from(
    { length: 200 },
    () =>
      work.run("spin", { bytes, time_ms: 60_000 }, { key: "greedy", timeout_ms: 500 })
        .catch(({ code }: { code: string }) => {
          if (code === "job_timeout") stopped++;
          return code;
        }),
  );
  const other = await work.run("spin", { bytes, time_ms: 1 }, { ...options, key: "other" });
  assertEquals(other, "done");
  // The job that was running, and one more where that had ended already.
  assertLess(stopped, 3);
  const codes = await Promise.all(greedy);
  assertEquals(new Set(codes), new Set(["job_timeout", "unavailable"]));
  assertGreater(codes.filter((code) => code === "unavailable").length, 180);
});

Deno.test("heavy work: a job whose sender has gone does not run, and closing ends all", async () => {
  const work = new TestWork();
  const spin = (signal?: AbortSignal) =>
    work.run("spin", { bytes, time_ms: 60_000 }, {
      key: "a",
      timeout_ms: 500,
      ...(signal && { signal }),
    });
  const sender = new AbortController();
  const [first, gone, last] = [spin(), spin(sender.signal), spin()];
  sender.abort(new DOMException("gone", "AbortError"));
  await assertRejects(() => gone, DOMException, "gone");
  await assertRejects(() => first, JobTimeoutError);
  work[Symbol.dispose]();
  await assertRejects(() => last, UnavailableError, "stopping");
  await assertRejects(() => spin(), UnavailableError, "stopping");
});
