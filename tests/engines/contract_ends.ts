/**
 * The contract of executions that are stopped, found again by another service, or forgotten.
 *
 * @module
 */
import { assertEquals, assertRejects } from "@std/assert";
import { ConflictError } from "../../src/platform/errors.ts";
import { newId } from "../../src/platform/ids.ts";
import { saveExecution } from "../../src/store/records/executions.ts";
import type { Case } from "./contract_case.ts";
import { until } from "./service.ts";

const IGNORE_TERM = "trap '' TERM; echo begun; while :; do sleep 1; done";
/** A program that takes a while to end well when it is told to, and does not bear to be told twice. */
const SAVE_ON_TERM = `sh -c '
  trap "trap exit TERM; sleep 1.2; echo saved >$VH_OUTPUTS_DIR/file; echo saved; exit" TERM
  echo begun; while :; do sleep 0.1; done
'; echo behind it`;
/** The same, of which nothing is printed where it would be captured. */
const SAVE_ELSEWHERE = `
(until [ -e $VH_OUTPUTS_DIR/begun ]; do sleep 0.1; done; echo begun) &
sh -c '
  trap "trap exit TERM; sleep 1.2; echo saved >$VH_OUTPUTS_DIR/file; exit" TERM
  echo begun >$VH_OUTPUTS_DIR/begun; while :; do sleep 0.1; done
' >$VH_OUTPUTS_DIR/log 2>&1; echo behind it`;

/** The cases. */
export const ends: Case[] = [
  {
    name: "one that takes too long is stopped",
    async test(service) {
      const { status, reason } = await service.run("sleep 100", { time_limit: 1 });
      assertEquals([status, reason], ["error", "Stopped: time limit of 1 s reached"]);
    },
  },
  {
    name: "one that is silent for too long is stopped",
    async test(service) {
      const silent = await service.run("echo begun; sleep 100", { no_output_timeout: 2 });
      assertEquals([silent.status, silent.reason], ["error", "Stopped: no output for 2 s"]);
    },
  },
  {
    name: "one whose stop condition holds for its metadata is stopped",
    async test(service) {
      const { status, reason, metadata } = await service.run(
        `echo '{"loss": 0.5}'; echo '{"loss": 0.1}'; sleep 100`,
        { stop_condition: "loss < parameter.enough", parameters: { enough: 0.2 } },
      );
      assertEquals(
        [status, reason, metadata],
        ["stopped", 'Stopped: its stop condition "loss < parameter.enough" holds', { loss: 0.1 }],
      );
    },
  },
  {
    name: "one that waits and is stopped never runs",
    executionsMax: 1,
    async test(service) {
      const first = await service.submit("echo begun; sleep 100");
      const second = await service.submit("echo ran");
      assertEquals(await service.engine.stop(second), true);
      const { status, reason, started_at } = await service.record(second);
      assertEquals([status, reason, started_at], ["stopped", "Stopped by request", undefined]);
      await service.engine.stop(first);
      await service.ended(first);
      assertEquals((await service.run("echo last")).status, "complete");
      assertEquals((await service.engine.log(second)).lines, []);
      assertEquals(await service.engine.stop(second), false);
    },
  },
  {
    name: "of one that is stopped, what it has started may end well after its shell",
    isOnContainers: true,
    async test(service) {
      const id = await service.submit(SAVE_ON_TERM);
      await service.said(id, "begun");
      await service.engine.stop(id);
      const { status, exit_code } = await service.ended(id);
      assertEquals([status, exit_code], ["stopped", 143]);
      assertEquals(await service.output(id, "file"), "saved\n");
      assertEquals(await service.printed(id, "stdout"), ["begun", "saved"]);
      assertEquals(await service.printed(id, "event"), ["Stopped by request"]);
    },
  },
  {
    name: "so it may when what it prints goes to a file",
    async test(service) {
      const id = await service.submit(SAVE_ELSEWHERE);
      await service.said(id, "begun");
      await service.engine.stop(id);
      const { status, exit_code } = await service.ended(id);
      assertEquals([status, exit_code], ["stopped", 143]);
      assertEquals(await service.output(id, "file"), "saved\n");
      assertEquals(await service.printed(id, "event"), ["Stopped by request"]);
    },
  },
  {
    name: "one that is stopped is told, with all that it has started, and may end well",
    isShort: true,
    isOnClusters: true,
    async test(service) {
      const id = await service.submit(`
        (trap 'echo child told; exit 0' TERM; echo child begun; while :; do sleep 1; done) &
        trap 'echo told; wait; exit 0' TERM
        echo begun; while :; do sleep 1; done`);
      await service.said(id, "begun");
      await service.said(id, "child begun");
      assertEquals(await service.engine.stop(id), true);
      const { status, reason, exit_code } = await service.ended(id);
      assertEquals([status, reason, exit_code], ["stopped", "Stopped by request", 0]);
      const printed = await service.printed(id, "stdout");
      assertEquals(printed.toSorted(), ["begun", "child begun", "child told", "told"]);
      // It is told a moment after it is stored.
      await until(() => service.states.includes(`${id} stopped`));
      // One that waits in its cluster, such as for room, says so before.
      const states = service.states.filter((state) => state !== `${id} queued`);
      assertEquals(states, [`${id} started`, `${id} stopping`, `${id} stopped`]);
      assertEquals(await service.engine.stop(id), false);
    },
  },
  {
    name: "one that ignores being told is killed",
    isOnContainers: true,
    async test(service) {
      const id = await service.submit(IGNORE_TERM);
      await service.said(id, "begun");
      await service.engine.stop(id);
      const { status, exit_code } = await service.ended(id);
      assertEquals([status, exit_code], ["stopped", undefined]);
    },
  },
  {
    name: "what a command leaves running is ended with it",
    isOnContainers: true,
    async test(service) {
      const { id, status, reason } = await service.run(
        "(trap '' TERM; sleep 100; echo late) & sleep 100 & echo done",
      );
      assertEquals([status, reason], ["complete", undefined]);
      assertEquals(await service.printed(id, "stdout"), ["done"]);
    },
  },
  {
    name: "handing over twice, before, while and after it runs, runs it once",
    executionsMax: 1,
    async test(service) {
      const execution = service.execution("echo ran; sleep 1");
      await service.store.committer.commit(saveExecution(execution));
      const again = () => service.engine.submit({ ...execution, status: "queued" });
      service.engine.submit(execution);
      again();
      await service.said(execution.id, "ran");
      again();
      await service.ended(execution.id);
      again();
      await service.run("true");
      assertEquals(await service.printed(execution.id, "stdout"), ["ran"]);
      assertEquals(service.states.filter((state) => state === `${execution.id} started`).length, 1);
    },
  },
  {
    name: "those that wait are found again by the next service",
    executionsMax: 1,
    async test(service) {
      const ids = [await service.submit("echo begun; sleep 1; echo done")];
      for (let count = 0; count < 2; count++) ids.push(await service.submit("echo ran"));
      await service.said(ids[0] ?? "", "begun");
      await service.restart();
      for (const id of ids) assertEquals((await service.ended(id)).status, "complete");
      const printed = await Promise.all(ids.map((id) => service.printed(id, "stdout")));
      assertEquals(printed, [["begun", "done"], ["ran"], ["ran"]]);
    },
  },
  {
    name: "one that runs is found again, and its output has no gap",
    isShort: true,
    isOnClusters: true,
    async test(service) {
      const id = await service.submit(
        `for i in 1 2 3 4 5 6; do echo line $i; sleep 1; done; : >$VH_OUTPUTS_DIR/model; exit 4`,
      );
      await service.said(id, "line 1");
      await service.restart();
      await service.said(id, "line 3");
      const before = await service.engine.log(id);
      await service.restart();
      const { status, exit_code, outputs } = await service.ended(id);
      assertEquals([status, exit_code, outputs.length], ["error", 4, 1]);
      assertEquals(
        await service.printed(id, "stdout"),
        [1, 2, 3, 4, 5, 6].map((number) => `line ${number}`),
      );
      const again = await service.engine.log(id, { limit: before.lines.length });
      assertEquals(again, before);
    },
  },
  {
    name: "one that was found again can be stopped",
    isOnContainers: true,
    async test(service) {
      const id = await service.submit("echo begun; sleep 100");
      await service.said(id, "begun");
      await service.restart();
      await until(() => service.engine.stop(id));
      const { status, exit_code } = await service.ended(id);
      assertEquals([status, exit_code], ["stopped", 143]);
    },
  },
  {
    name: "one that was stopping goes on stopping",
    async test(service) {
      const id = await service.submit(IGNORE_TERM);
      await service.said(id, "begun");
      await service.engine.stop(id);
      await service.restart();
      const { status, reason } = await service.ended(id);
      assertEquals([status, reason], ["stopped", "Stopped by request"]);
    },
  },
  {
    name: "how one ended while no service ran is known",
    isOnContainers: true,
    async test(service) {
      const id = await service.submit(
        `echo begun; sleep 1; echo '{"a": 1}'; : >$VH_OUTPUTS_DIR/model; exit 6`,
      );
      await service.said(id, "begun");
      await service.close();
      await new Promise((resolve) => setTimeout(resolve, 3_000));
      await service.begin();
      const { status, exit_code, metadata, outputs } = await service.ended(id);
      assertEquals([status, exit_code, metadata, outputs.length], ["error", 6, { a: 1 }, 1]);
      assertEquals(await service.printed(id, "stdout"), ["begun", '{"a": 1}']);
    },
  },
  {
    name: "an ended one can be forgotten, whole or in parts, one that runs or waits cannot",
    executionsMax: 1,
    async test(service) {
      const ended = await service.run("echo ran; : >$VH_OUTPUTS_DIR/model");
      const running = await service.submit("echo begun; sleep 100");
      const waiting = await service.submit("true");
      await service.said(running, "begun");
      for (const id of [running, waiting]) {
        await assertRejects(() => service.engine.forget(id), ConflictError, "it has not ended");
      }
      await service.engine.forget(ended.id, "log");
      assertEquals((await service.engine.log(ended.id)).lines, []);
      assertEquals(await service.output(ended.id, "model"), "");
      await service.engine.forget(ended.id, "outputs");
      assertEquals(await service.output(ended.id, "model"), undefined);
      await service.engine.forget(ended.id);
      await service.engine.forget(ended.id);
      await service.engine.stop(running);
    },
  },
  {
    name: "after closing nothing starts, and what runs may end until the deadline",
    executionsMax: 1,
    async test(service) {
      const { engine } = service;
      const running = service.execution("echo begun; sleep 1; echo ended");
      // The oldest starts first.
      const waiting = service.execution("echo ran", { id: newId(Date.now() + 1_000) });
      for (const each of [running, waiting]) {
        await service.store.committer.commit(saveExecution(each));
      }
      // As soon as the engine hears of the command, which is before it hears of its end, however late that is.
      let closing: Promise<void> | undefined;
      let reading = Promise.resolve();
      const unwatch = engine.watchLog(running.id, () => {
        reading = reading.then(async () => {
          const printed = await service.printed(running.id, "stdout");
          if (printed.includes("begun")) closing ??= engine.close(60_000);
        });
      });
      for (const each of [running, waiting]) engine.submit(each);
      await until(() => closing !== undefined);
      unwatch();
      await reading;
      await closing;
      assertEquals((await service.record(running.id)).status, "complete");
      assertEquals((await service.record(waiting.id)).status, "queued");
    },
  },
  {
    name: "what has not ended at the deadline is left to itself",
    async test(service) {
      const id = await service.submit("echo begun; sleep 2; echo ended");
      await service.said(id, "begun");
      await service.close(100);
      await service.begin();
      assertEquals((await service.ended(id)).status, "complete");
      assertEquals(await service.printed(id, "stdout"), ["begun", "ended"]);
    },
  },
];
