/**
 * The limit of what an execution takes on disk.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { systemClock } from "../../../src/platform/clock.ts";
import { DiskUse } from "../../../src/engines/local/disk_use.ts";
import { EngineFixture, QUICK } from "../fixture.ts";

Deno.test("disk use: one that takes too much is stopped", async () => {
  await using fixture = await EngineFixture.make({ settings: { ...QUICK, disk_ms: 50 } });
  const engine = { type: "local", disk_mb: 3 };
  for (const folder of ["VH_OUTPUTS_DIR", "TMPDIR", "HOME", "VH_REPOSITORY_DIR"]) {
    const { status, reason } = await fixture.run(
      `dd if=/dev/zero of=$${folder}/big bs=1M count=5 2>/dev/null; sleep 100`,
      { engine },
    );
    assertEquals([status, reason], ["error", "Stopped: disk use over 3 MiB"], folder);
  }
  const { status } = await fixture.run(
    "dd if=/dev/zero of=$TMPDIR/small bs=1M count=1 2>/dev/null; sleep 0.5",
    { engine },
  );
  assertEquals(status, "complete");
});

/** What is measured, and when, with a clock of its own. */
class Machine {
  now_ms = 0;
  mb = 0;
  took_ms = 0;
  readonly measured: number[] = [];
  readonly disk: DiskUse;

  constructor(mb_max = 20_480) {
    this.disk = new DiskUse({
      clock: { ...systemClock, now: () => this.now_ms, steady: () => this.now_ms },
      interval_ms: 1_000,
      mb_max,
      measure: () => {
        this.measured.push(this.now_ms);
        this.now_ms += this.took_ms;
        return Promise.resolve(this.mb);
      },
    });
  }

  /** Lets time pass, and looks often. */
  async pass(ms: number): Promise<void> {
    for (const end_ms = this.now_ms + ms; this.now_ms < end_ms; this.now_ms += 100) {
      assertEquals(this.disk.reached(), undefined);
      for (let turn = 0; turn < 5; turn++) await Promise.resolve();
    }
  }
}

Deno.test("disk use: it is measured seldom while nothing grows", async () => {
  const machine = new Machine();
  await machine.pass(60_000);
  assert(machine.measured.length <= 11, `${machine.measured}`);
  assertEquals(machine.measured[0], 1_000);
});

Deno.test("disk use: it is measured the more often the nearer the limit comes", async () => {
  const machine = new Machine(100);
  for (; machine.mb < 90; machine.mb += 10) await machine.pass(1_000);
  const pauses = machine.measured.map((at, index) => at - (machine.measured[index - 1] ?? 0));
  assert(pauses.includes(1_000) && pauses.every((pause) => pause <= 6_100), `${pauses}`);
  machine.mb = 101;
  machine.now_ms += 6_000;
  machine.disk.reached();
  await machine.disk.close();
  assertEquals(machine.disk.reached(), "Stopped: disk use over 100 MiB");
});

Deno.test("disk use: measuring that takes long is done less", async () => {
  const machine = new Machine();
  machine.took_ms = 5_000;
  await machine.pass(300_000);
  assert(machine.measured.length <= 4, `${machine.measured}`);
});

Deno.test("disk use: what cannot be measured is no reason to stop", async () => {
  const disk = new DiskUse({
    clock: { ...systemClock, now: () => 0, steady: () => 10_000 },
    interval_ms: 0,
    mb_max: 1,
    measure: () => Promise.reject(new Error("no")),
  });
  assertEquals(disk.reached(), undefined);
  await disk.close();
  assertEquals(disk.reached(), undefined);
  await disk.close();
});
