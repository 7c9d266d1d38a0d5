/** A service that dies while its jobs run on a cluster, and goes on from a backup. */
import { assertEquals, assertMatch } from "@std/assert";
import { join } from "node:path";
import { FolderStore } from "../../../src/artifacts/folder.ts";
import { saveExecution } from "../../../src/store/records/executions.ts";
import { getJob } from "../../../src/store/records/jobs.ts";
import { lives, textOf } from "../fixture.ts";
import { until } from "../service.ts";
import { RemoteService } from "./fixture.ts";
import { HeldService } from "./held_cluster.ts";
import { atOnce } from "../../at_once.ts";

const test = atOnce("jobs and restored backups");

test("remote: a job that runs in the backup goes on, and nothing that it printed is lost", async () => {
  await using service = await RemoteService.make();
  const id = await service.submit(
    `echo run >>${service.folder}/ran
    for i in $(seq 40); do echo line $i; sleep 0.1; done
    ${service.untilGo}; echo result >$VH_OUTPUTS_DIR/file`,
  );
  await service.said(id, "line 5");
  await service.backUp();
  await service.said(id, "line 15");
  const { interrupted, on_clusters } = await service.goOnFromBackup();
  assertEquals([interrupted, on_clusters], [[], [id]]);
  await service.go();
  const { status, reason, outputs } = await service.ended(id);
  assertEquals([status, reason, outputs.map(({ path }) => path)], ["complete", undefined, [
    "file",
  ]]);
  const expected = Array.from({ length: 40 }, (_, index) => `line ${index + 1}`);
  assertEquals(await service.printed(id, "stdout"), expected);
  assertEquals(service.ran, 1);
});

test("remote: outputs that were uploaded after the backup are listed, though the service died before the end", async () => {
  await using service = await RemoteService.make();
  // As a bucket, it is no part of the data folder.
  service.host.artifacts = new FolderStore(join(service.folder, "artifacts"));
  await service.restart();
  const id = await service.submit(
    `echo begun; ${service.untilGo}
    for name in one two; do echo $name >$VH_OUTPUTS_DIR/$name; done`,
  );
  await service.said(id, "begun");
  await service.backUp();
  service.host.isAway = (request) => request === "POST end";
  await service.go();
  await until(() => service.host.asked.includes("POST end"));
  await service.goOnFromBackup();
  service.host.isAway = false;
  const { status, outputs } = await service.ended(id);
  assertEquals([status, outputs.map(({ path }) => path)], ["complete", ["one", "two"]]);
  const { stream } = await service.engine.output(id, "two") ?? {};
  assertEquals(stream && await new Response(stream).text(), "two\n");
});

test("remote: a job that waited in the cluster when the backup was made, and runs since, goes on", async () => {
  await using service = await RemoteService.make();
  service.cluster.faults.pending = "no machine is free";
  const id = await service.submit(service.notingUntilGo);
  await until(async () => (await service.record(id)).waiting !== undefined);
  await service.backUp();
  service.cluster.faults.pending = undefined;
  await service.said(id, "begun");
  await service.goOnFromBackup();
  await service.go();
  const { status, reason, machine } = await service.ended(id);
  assertEquals([status, reason, machine !== undefined], ["complete", undefined, true]);
  assertEquals(await service.printed(id, "stdout"), ["begun", "done"]);
  assertEquals(service.ran, 1);
});

test("remote: a log that was full since the backup is filled again, and the job ends", async () => {
  await using service = await RemoteService.make({ logBytesMax: 300_000 });
  const id = await service.submit(
    `echo begun; ${service.untilGo}
    seq 100000; until [ -e ${service.folder}/restored ]; do sleep 0.1; done`,
  );
  await service.said(id, "begun");
  await service.backUp();
  await service.go();
  await until(async () => (await getJob(service.store, id))?.is_log_full === true);
  await service.goOnFromBackup();
  await Deno.writeTextFile(join(service.folder, "restored"), "");
  const { status, reason } = await service.ended(id);
  assertEquals([status, reason], ["complete", undefined]);
  assertEquals((await service.printed(id, "stdout")).slice(0, 3), ["begun", "1", "2"]);
});

test("remote: a job that ended after the backup ends as an error which says that its end is not known", async () => {
  await using service = await RemoteService.make({ silence_ms: 300, settle_ms: 100 });
  const id = await service.submit(service.notingUntilGo);
  await service.said(id, "begun");
  await service.backUp();
  await service.go();
  await service.ended(id);
  await until(async () => (await service.cluster.copies(id)).length === 0);
  await service.goOnFromBackup();
  const { status, reason } = await service.ended(id);
  assertEquals(status, "error");
  assertMatch(reason ?? "", /does not know the job any more: how it ended is not known/);
  assertEquals(service.ran, 1);
});

/** A job that the backup does not have: where its name may be, and what the restored service has done by then. */
const unknownJobs = [
  { where: "where names are free", keepsNames: false, isFull: false },
  { where: "where names are taken only once", keepsNames: true, isFull: false },
  {
    where: "where names are taken only once, before it is planned",
    keepsNames: true,
    isFull: true,
  },
];

for (const { where, keepsNames, isFull } of unknownJobs) {
  test(`remote: a job that began after the backup runs again, and its earlier agent leaves, ${where}`, async () => {
    const settings = { settle_ms: 500, executionsMax: 1 };
    await using service = await RemoteService.make(settings);
    service.cluster.faults.keepsNames = keepsNames;
    const [ran, pids] = [join(service.folder, "ran"), join(service.folder, "pids")];
    // Of the first start it does not end by itself, however long a backup and a restart take.
    const execution = service.execution(
      `echo $$ >>${pids}; echo begun >>${ran}; [ $(wc -l <${ran}) -gt 1 ] || sleep 600
      echo done | tee -a ${ran}`,
    );
    await service.store.committer.commit(saveExecution(execution));
    await service.backUp();
    service.engine.submit(execution);
    await until(() => textOf(ran) === "begun\n");
    if (isFull) {
      const [copy = ""] = await service.cluster.copies(execution.id);
      settings.executionsMax = 0;
      await service.goOnFromBackup();
      // It was refused.
      await until(() => textOf(join(copy, "exit")) === "3\n");
      settings.executionsMax = 1;
      await service.restart();
    } else {
      await service.goOnFromBackup();
    }
    const { status, reason } = await service.ended(execution.id);
    assertEquals([status, reason], ["complete", undefined]);
    assertEquals(textOf(ran), "begun\nbegun\ndone\n");
    const [first = ""] = textOf(pids).split("\n");
    await until(async () => !await lives(Number(first)));
  });
}

test("remote: how a job ends before a claim is its own end, unless an agent came that it does not know", async () => {
  await using service = await HeldService.start({ settle_ms: 100, silence_ms: 100 });
  const { seen, tokens } = service.held;
  for (const isOther of [false, true]) {
    const { id } = await service.play();
    await until(async () => (await getJob(service.store, id))?.is_own === true);
    const first = tokens.get(id);
    // Since the backup the job was submitted again under its name, with another token.
    if (isOther) {
      const headers = { authorization: "Bearer another", "hooklaunch-claim": "0123456789abcdef" };
      const url = `${service.host.url}/api/v0/jobs/${id}/claim?host=node1&folder=/work`;
      const answer = await fetch(url, { method: "POST", headers });
      assertEquals(answer.status, 403);
      await answer.body?.cancel();
    }
    seen.set(id, { kind: "ended", reason: "exit code 3", isExit: true });
    // The second one has that name alone.
    const { status, reason = "" } = await service.ended(id);
    assertEquals(status, "error");
    assertMatch(reason, /^The job ended before its agent reached the service: exit code 3/);
    assertEquals(tokens.get(id) === first, !isOther);
    assertEquals((await getJob(service.store, id))?.submissions, isOther ? 2 : 1);
  }
});
