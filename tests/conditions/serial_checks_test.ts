/** Costly checks of one trigger: one at a time, the addresses in turn, and a pause after a refusal. */
import { assertEquals, assertRejects } from "@std/assert";
import type { Refusal } from "../../src/conditions/check.ts";
import { serialChecks } from "../../src/conditions/serial_checks.ts";
import { UnavailableError } from "../../src/platform/errors.ts";

const WRONG: Refusal = { reason: "wrong" };

/** A clock that a test moves, and checks that take some of its time. */
class Bench {
  time_ms = 0;
  readonly began: string[] = [];
  readonly #timers: { at_ms: number; call: () => void }[] = [];
  readonly run = serialChecks({
    now: () => this.time_ms,
    steady: () => this.time_ms,
    after: (delay_ms, call) => {
      const timer = { at_ms: this.time_ms + delay_ms, call };
      this.#timers.push(timer);
      return () => void this.#timers.splice(this.#timers.indexOf(timer) >>> 0, 1);
    },
  });

  check(address: string, result: Refusal | undefined): Promise<Refusal | undefined> {
    return this.run(address, async () => {
      this.began.push(`${address} at ${this.time_ms}`);
      await Promise.resolve();
      this.time_ms += 10;
      return result;
    });
  }

  /** Lets everything happen that waits for a time. */
  async pass(): Promise<void> {
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve));
      const timer = this.#timers.shift();
      if (timer === undefined) return;
      this.time_ms = Math.max(this.time_ms, timer.at_ms);
      timer.call();
    }
  }
}

Deno.test("checks run one at a time, and the addresses take turns", async () => {
  const bench = new Bench();
  const all = ["a", "a", "a", "b"].map((address) => bench.check(address, undefined));
  assertEquals(await Promise.all(all), all.map(() => undefined));
  assertEquals(bench.began, ["a at 0", "a at 10", "b at 20", "a at 30"]);
});

Deno.test("an address pauses after a refusal, while those of others go on", async () => {
  const bench = new Bench();
  const wrong = Array.from({ length: 3 }, () => bench.check("a", WRONG));
  const right = Array.from({ length: 2 }, () => bench.check("b", undefined));
  await bench.pass();
  assertEquals(await Promise.all(wrong), [WRONG, WRONG, WRONG]);
  assertEquals(await Promise.all(right), [undefined, undefined]);
  assertEquals(bench.began, ["a at 0", "b at 10", "b at 20", "a at 100", "a at 200"]);
});

Deno.test("a check that throws rejects, and the next one runs", async () => {
  const bench = new Bench();
  const failed = bench.run("a", () => Promise.reject(new TypeError("broken")));
  await assertRejects(() => failed, TypeError, "broken");
  assertEquals(await bench.check("a", undefined), undefined);
});

Deno.test("an address with too many checks is turned away, another one is not", async () => {
  const bench = new Bench();
  const all = Array.from({ length: 20 }, () => bench.check("a", undefined));
  const other = bench.check("b", undefined);
  const settled = await Promise.allSettled(all);
  assertEquals(settled.filter(({ status }) => status === "fulfilled").length, 17);
  await assertRejects(
    () => bench.check("c", undefined).then(() => Promise.all(all)),
    UnavailableError,
  );
  assertEquals(await other, undefined);
});
