/** Backups that a service makes by itself: into a folder and an S3 bucket, by a clock that the test sets. */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { Backups, type RunBackupJob } from "../../../src/backup/scheduled/backups.ts";
import { doBackupJob } from "../../../src/backup/scheduled/job.ts";
import { openPlace, placeSettings } from "../../../src/backup/scheduled/place.ts";
import { parseBackup } from "../../../src/backup/scheduled/settings.ts";
import { findBackup } from "../../../src/backup/find.ts";
import { restore } from "../../../src/backup/restore.ts";
import { openStore } from "../../../src/store/open_store.ts";
import { CREDENTIALS, hasNoS3, S3Server } from "../../artifacts/s3_server.ts";
import { temporaryFolder, TestClock } from "../../surroundings.ts";
import { OPTIONS } from "../fixture.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** A Wednesday. */
const START_MS = Date.UTC(2026, 0, 14, 10, 30);
const ENV: Record<string, string> = {
  AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId,
  AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey,
};
const env = (name: string) => ENV[name];

/** Backups of a store, and what a test does with them. */
class Scheduled implements AsyncDisposable {
  readonly clock = new TestClock(START_MS);
  readonly ended: string[] = [];
  /** Called before each job, to have something happen then. */
  beforeJob: (kind: string, name: string) => Promise<void> | void = () => {};
  readonly backups: Backups;

  constructor(
    readonly to: string,
    readonly data: string,
    readonly store: Awaited<ReturnType<typeof openStore>>,
    keep = {},
  ) {
    const runJob: RunBackupJob = async (job, signal) => {
      await this.beforeJob(job.kind, job.name);
      return await doBackupJob(job, signal);
    };
    this.backups = new Backups(parseBackup({ to, keep }), {
      store,
      clock: this.clock,
      env,
      data,
      runJob,
      onEnd: (job, isGood) => void this.ended.push(`${job} ${isGood}`),
    });
  }

  static async open(to: string, folder: string, keep = {}): Promise<Scheduled> {
    const data = `${folder}/data`;
    await Deno.mkdir(data, { recursive: true });
    return new Scheduled(to, data, await openStore(data), keep);
  }

  /** Looks once, some minutes later. Returns the jobs that were done. */
  async after(minutes: number): Promise<string[]> {
    this.clock.time_ms += minutes * MINUTE_MS;
    await this.backups.tick();
    return this.ended.splice(0);
  }

  /** The times and states of the backups that are listed. */
  async listed(): Promise<string[]> {
    const all = await this.backups.list();
    return all.map(({ made_at, state }) => `${made_at.slice(8, 16)} ${state}`);
  }

  async causes(): Promise<string[]> {
    return (await this.backups.causes()).map(({ text }) => text);
  }

  async [Symbol.asyncDispose]() {
    await this.backups.close(0);
    await this.store.close();
  }
}

const YEAR_MINUTES = 365 * 24 * 60;
const MADE = ["make true", "prove true"];

/** The life of backups in a place: each step goes on from the one before. */
async function live(
  test: Deno.TestContext,
  to: string,
  folder: string,
  damage: (name: string) => Promise<void>,
) {
  await using it = await Scheduled.open(to, folder, { hourly: 2, daily: 1, weekly: 0 });
  const { backups, clock } = it;

  await test.step("the first is made at once, the next when its time has come", async () => {
    assertEquals(await it.causes(), []);
    assertEquals(await it.after(0), MADE);
    assertEquals(await it.after(59), []);
    assertEquals(await it.after(1), MADE);
    assertEquals(await it.listed(), ["14T11:30 proven", "14T10:30 proven"]);
    const { last, proof } = await backups.state();
    assertEquals(last?.made_at, "2026-01-14T11:30:00.000Z");
    assertEquals<unknown>(proof, { name: last?.name, proven_at: "2026-01-14T11:30:00.000Z" });
    assertEquals(await it.causes(), []);
  });

  await test.step("what is past its retention is removed", async () => {
    assertEquals(await it.after(60), MADE);
    assertEquals(await it.listed(), ["14T12:30 proven", "14T11:30 proven"]);
  });

  await test.step("a damaged one is found, told, and replaced; the last good one stays", async () => {
    const names: string[] = [];
    it.beforeJob = async (kind, name) => {
      if (kind === "prove") await damage(name);
      else names.push(name);
    };
    assertEquals(await it.after(60), ["make true", "prove false"]);
    assertEquals(await it.listed(), ["14T13:30 damaged", "14T12:30 proven"]);
    const causes = await it.causes();
    assertEquals(causes.length, 2);
    assertMatch(causes.join("\n"), new RegExp(`The backup ${names[0]} cannot be restored: .+`));
    it.beforeJob = () => {};
    assertEquals(await it.after(0), [], "not before its time");
    assertEquals(await it.after(1), MADE);
    assertEquals(await it.causes(), []);
    // The damaged one stays to be looked at until a newer one is proven.
    assertEquals(await it.listed(), ["14T13:31 proven", "14T13:30 damaged", "14T12:30 proven"]);
    assertEquals(await it.after(60), MADE);
    assertEquals(await it.listed(), ["14T14:31 proven", "14T13:31 proven"]);
  });

  await test.step("the newest is restored at least once a day, also while none can be made", async () => {
    it.beforeJob = (kind) => {
      if (kind === "make") throw new Error("it cannot be made");
    };
    assertEquals(await it.after(60), ["make false"]);
    const [cause] = await it.causes();
    assertStringIncludes(
      String(cause),
      "fail: it cannot be made. The last one is of 2026-01-14T14:31:00.000Z. " +
        "The next try is at 2026-01-14T15:32:00.000Z",
    );
    assertEquals(await it.after(22 * 60), ["make false"]);
    assertEquals(await it.after(61), ["make false", "prove true"]);
    it.beforeJob = () => {};
    assertEquals(await it.after(60), MADE);
    assertEquals(await it.causes(), []);
  });

  await test.step("a clock that jumps back keeps no backup from being made", async () => {
    clock.time_ms -= 24 * HOUR_MS;
    assertEquals(await it.after(0), MADE);
    clock.time_ms += 24 * HOUR_MS;
    assertEquals(await it.after(0), MADE);
  });

  await test.step("the newest, or a named one, is restored", async () => {
    const [newest, before = newest] = await backups.list();
    const cases: [named: string, name: string | undefined][] = [
      [to, newest?.name],
      [to.replace(/\/*(\?|$)/, `/${before?.name}$1`), before?.name],
    ];
    for (const [index, [named, expected]] of cases.entries()) {
      const { name, source, place } = await findBackup(named, env);
      assertEquals(name, expected);
      assertEquals([place?.isNewest, place?.count], [index === 0, (await backups.list()).length]);
      const { header } = await restore({ ...OPTIONS, data: `${folder}/restored${index}`, source });
      assertEquals(header.records, (await backups.state()).last?.records);
    }
  });
}

Deno.test("backups in a folder", async (test) => {
  await using folder = await temporaryFolder();
  const to = `${folder.path}/backups`;
  await Deno.mkdir(to);
  await live(test, to, folder.path, async (name) => {
    using file = await Deno.open(`${to}/${name}`, { read: true, write: true });
    await file.seek(-40, Deno.SeekMode.End);
    await file.write(new Uint8Array([1, 2, 3]));
  });
});

Deno.test({ name: "backups in an S3 bucket", ignore: hasNoS3 }, async (test) => {
  await using folder = await temporaryFolder();
  await using server = await S3Server.start();
  using place = openPlace(placeSettings(server.storage, env));
  await live(test, server.storage, folder.path, async (name) => {
    const opened = await place.store.open(name);
    const bytes = await new Response(opened?.stream).bytes();
    bytes.set([1, 2, 3], bytes.length - 40);
    await place.store.add(name, new Blob([bytes]).stream());
  });
});

Deno.test("a folder that is not there is told of and tried again, and is not made", async () => {
  await using folder = await temporaryFolder();
  const to = `${folder.path}/disk`;
  await using it = await Scheduled.open(to, folder.path);
  assertEquals(await it.after(0), ["make false"]);
  assertEquals(await it.causes(), [
    `Backups to ${to} fail: Cannot use ${to} for backups: it is no folder that exists. There is none. ` +
    "The next try is at 2026-01-14T10:31:00.000Z",
  ]);
  assertEquals(await it.after(1), ["make false"]);
  // The waits grow: 1, 2, 4 … minutes.
  assertEquals(await it.after(1), []);
  assertEquals(await it.after(1), ["make false"]);
  // A clock that was wrong for a while keeps none from being made once it is set.
  assertEquals(await it.after(YEAR_MINUTES), ["make false"]);
  assertEquals(await it.after(-YEAR_MINUTES), ["make false"]);
  await Deno.mkdir(to);
  assertEquals(await it.after(60), MADE);
  assertEquals(await it.causes(), []);
});

Deno.test("what is half written is not counted, and is removed later", async () => {
  await using folder = await temporaryFolder();
  const to = `${folder.path}/backups`;
  await using it = await Scheduled.open(to, folder.path);
  await Deno.mkdir(`${to}/.tmp`, { recursive: true });
  await Deno.mkdir(`${it.data}/tmp-backup-left/restored`, { recursive: true });
  const [old, recent] = ["old", "recent"].map((name) => `${to}/.tmp/${name}`) as [string, string];
  for (const path of [old, recent]) await Deno.writeTextFile(path, "half");
  await Deno.utime(old, 0, 0);
  await Deno.writeTextFile(`${to}/other.tar.gz`, "of somebody");
  assertEquals(await it.after(0), MADE);
  assertEquals(await it.listed(), ["14T10:30 proven"]);
  const left = Array.from(Deno.readDirSync(`${to}/.tmp`), ({ name }) => name);
  assertEquals(left, ["recent"], "another process may write it");
  const data = Array.from(Deno.readDirSync(it.data), ({ name }) => name);
  assertEquals(data.filter((name) => name.startsWith("tmp-")), []);
});

Deno.test("a proof finds a backup of another moment, and one that lacks records", async () => {
  await using folder = await temporaryFolder();
  const to = `${folder.path}/backups`;
  await Deno.mkdir(to);
  await using it = await Scheduled.open(to, folder.path);
  await it.after(0);
  const [first] = await it.backups.list();
  const later = "hooklaunch-20260115T103000Z.tar.gz";
  await Deno.copyFile(`${to}/${first?.name}`, `${to}/${later}`);
  const { signal } = new AbortController();
  const job = { kind: "prove" as const, data: it.data, place: { folder: to }, name: later };
  assertEquals(await doBackupJob(job, signal), {
    failure:
      `The backup ${later} is of another moment: it holds what was written before ${first?.name}`,
    isDamaged: true,
  });
  const missing = "hooklaunch-20260116T103000Z.tar.gz";
  assertEquals(await doBackupJob({ ...job, name: missing }, signal), {
    failure: `The backup ${missing} is not in ${to} any more`,
    isDamaged: true,
  });
});

Deno.test("causes tell of backups that are overdue, and of proofs", async () => {
  await using folder = await temporaryFolder();
  const to = `${folder.path}/backups`;
  await Deno.mkdir(to);
  await using it = await Scheduled.open(to, folder.path);
  await it.after(0);
  it.clock.time_ms += 2 * HOUR_MS + 1;
  assertEquals(await it.causes(), [
    `The backup to ${to} is overdue. The last one is of 2026-01-14T10:30:00.000Z`,
  ]);
  it.clock.time_ms += 48 * HOUR_MS;
  assertStringIncludes(
    (await it.causes())[1] ?? "",
    "No backup was restored and checked for two days. The last was hooklaunch-20260114T103000Z.tar.gz",
  );
});
