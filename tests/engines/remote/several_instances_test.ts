/** A cluster's jobs where several instances share the database. */
import { assertEquals, assertRejects } from "@std/assert";
import { join } from "node:path";
import { FolderStore } from "../../../src/artifacts/folder.ts";
import { archiveLog, readJobLog } from "../../../src/engines/remote/job_log.ts";
import { encodeLine } from "../../../src/engines/shared/log_format.ts";
import { ConflictError } from "../../../src/platform/errors.ts";
import { newId } from "../../../src/platform/ids.ts";
import { lead } from "../../../src/store/kv_store.ts";
import { getExecution, hasEnded, saveExecution } from "../../../src/store/records/executions.ts";
import {
  getJob,
  type Job,
  jobWrite,
  logWrites,
  removeJobLog,
} from "../../../src/store/records/jobs.ts";
import type { Store } from "../../../src/store/store.ts";
import { executionOf } from "../../store/execution.ts";
import { sharedStore, storeInMemory } from "../../store/fixture.ts";
import { temporaryFolder, TestClock } from "../../surroundings.ts";
import { textOf } from "../fixture.ts";
import { until } from "../service.ts";
import { RemoteHost } from "./fixture.ts";

Deno.test("remote: when its instance is taken for gone, a job goes on under the next leader", async () => {
  await using folder = await temporaryFolder();
  using kv = await Deno.openKv(":memory:");
  const clock = new TestClock();
  await using second = await sharedStore(kv, clock, { leads: false });
  await using first = await sharedStore(kv, clock);
  await using host = new RemoteHost(join(folder.path, "cluster"));
  host.artifacts = new FolderStore(join(folder.path, "artifacts"));
  const engineOn = (store: Store, name: string) =>
    host.makeEngine({ store, dataFolder: join(folder.path, name), onChange() {} });
  const [ran, go] = [join(folder.path, "ran"), join(folder.path, "go")];
  const execution = executionOf({
    engine: { type: "remote" },
    command: `echo ran >>${ran}; for i in $(seq 30); do echo line $i; sleep 0.1; done
      until [ -e ${go} ]; do sleep 0.1; done`,
  });
  const before = engineOn(first, "first");
  await before.start();
  await first.committer.commit(saveExecution(execution));
  before.submit(execution);
  await until(async () => (await before.log(execution.id)).lines.length > 5);

  // It is cut off, and does not know: it stores nothing any more.
  await first.shared?.leave();
  await lead(second, "memory");
  const after = engineOn(second, "second");
  await after.start();
  await Deno.writeTextFile(go, "");
  const record = async () => await getExecution(second, execution.id);
  await until(async () => hasEnded((await record())?.status ?? "queued"));

  assertEquals((await record())?.status, "complete");
  const { lines } = await after.log(execution.id);
  assertEquals(
    lines.map(({ message }) => message),
    Array.from({ length: 30 }, (_, index) => `line ${index + 1}`),
  );
  assertEquals(textOf(ran), "ran\n");
  await before.close(0);

  // The machine comes back, and follows. The leader does not see its files.
  const left = () => Array.fromAsync(Deno.readDir(join(folder.path, "first", "jobs")));
  const isLeft = async () => (await left()).some(({ name }) => name === execution.id);
  assertEquals(await isLeft(), true);
  await until(async () => (await getJob(second, execution.id))?.is_archived === true);
  await using third = await sharedStore(kv, clock, { leads: false });
  const back = engineOn(third, "first");
  await back.tidy();
  assertEquals(await isLeft(), false);
  await back.close(0);
  await after.close(0);
});

Deno.test("remote: an instance that follows shows logs, and looks at no cluster until it leads", async () => {
  await using folder = await temporaryFolder();
  using kv = await Deno.openKv(":memory:");
  const clock = new TestClock();
  await using second = await sharedStore(kv, clock, { leads: false });
  await using first = await sharedStore(kv, clock);
  await using host = new RemoteHost(join(folder.path, "cluster"));
  await using elsewhere = new RemoteHost(join(folder.path, "elsewhere"));
  const artifacts = new FolderStore(join(folder.path, "artifacts"));
  host.artifacts = elsewhere.artifacts = artifacts;
  const leader = host.makeEngine({ store: first, dataFolder: folder.path, onChange() {} });
  const follower = elsewhere.makeEngine({ store: second, dataFolder: folder.path, onChange() {} });
  await leader.start();
  const execution = executionOf({ engine: { type: "remote" }, command: "echo begun; sleep 100" });
  await first.committer.commit(saveExecution(execution));
  leader.submit(execution);
  await until(async () => (await follower.log(execution.id)).lines.length > 0);
  const looks = host.cluster.looks;
  await until(() => host.cluster.looks > looks + 5);
  assertEquals(elsewhere.cluster.looks, 0);

  await first.shared?.leave();
  await lead(second, "memory");
  await follower.start();
  await until(() => elsewhere.cluster.looks > 0);
  await leader.close(0);
  await follower.close(0);
});

/** A job that has ended, with two lines in its log. */
async function endedJob(store: Store): Promise<Job> {
  const job: Job = {
    id: newId(Date.now()),
    engine: "remote",
    attempt: 0,
    state: "closed",
    submissions: 1,
    tokens: [],
    stored: { stdout: 0, stderr: 0 },
    in_long_line: [],
    log_bytes: 0,
  };
  const time = new Date(0).toISOString();
  const lines = ["one", "two"].map((message) => encodeLine({ time, stream: "stdout", message }));
  await store.committer.write([...logWrites(job, lines), jobWrite(job)]);
  return job;
}

Deno.test("remote: a log that is archived while it is read is read whole", async () => {
  await using folder = await temporaryFolder();
  await using store = await storeInMemory();
  const parts = { store, artifacts: new FolderStore(folder.path) };
  const job = await endedJob(store);
  const asRead = structuredClone(job);
  await archiveLog(job, parts);
  await store.committer.write([jobWrite({ ...job, is_archived: true })]);
  await removeJobLog(store, job.id);
  const { lines } = await readJobLog(asRead, parts);
  assertEquals(lines.map(({ message }) => message), ["one", "two"]);
});

Deno.test("remote: an instance that is late with a log's archive puts no part in place of the whole", async () => {
  await using folder = await temporaryFolder();
  await using store = await storeInMemory();
  const parts = { store, artifacts: new FolderStore(folder.path) };
  const job = await endedJob(store);
  await archiveLog(job, parts);
  await removeJobLog(store, job.id);
  await assertRejects(() => archiveLog(job, parts), ConflictError, "another instance");
  const { lines } = await readJobLog({ ...job, is_archived: true }, parts);
  assertEquals(lines.map(({ message }) => message), ["one", "two"]);
});
