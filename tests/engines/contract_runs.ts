/**
 * The contract of an execution that runs to its end: what the command finds, and what is kept of it.
 *
 * @module
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { payloadWrites } from "../../src/store/records/payloads.ts";
import type { Case } from "./contract_case.ts";
import { until } from "./service.ts";

const endings: { command: string; status: string; exit_code: number; reason?: string }[] = [
  { command: "true", status: "complete", exit_code: 0 },
  { command: "", status: "complete", exit_code: 0 },
  { command: "exit 3", status: "error", exit_code: 3, reason: "exit code 3" },
  { command: "false\necho not reached", status: "error", exit_code: 1, reason: "exit code 1" },
  { command: "no-such-command", status: "error", exit_code: 127, reason: "exit code 127" },
  { command: "exit 125", status: "error", exit_code: 125, reason: "exit code 125" },
  { command: "kill -KILL $$", status: "error", exit_code: 137, reason: "exit code 137" },
  { command: "#!/bin/sh\nfalse\nexit 5", status: "error", exit_code: 5, reason: "exit code 5" },
];

/** Those that differ by who tells of the end of a command. */
const FEW = ["true", "exit 125", "kill -KILL $$", "#!/bin/sh\nfalse\nexit 5"];

/** The cases. */
export const runs: Case[] = [
  {
    name: "exit codes make the status and the reason",
    isShort: true,
    isOnClusters: true,
    async test(service) {
      const some = service.isSparing
        ? endings.filter(({ command }) => FEW.includes(command))
        : endings;
      await Promise.all(some.map(async ({ command, status, exit_code, reason }) => {
        const execution = await service.run(command);
        assertEquals([execution.status, execution.exit_code], [status, exit_code], command);
        assertStringIncludes(execution.reason ?? "", reason ?? "");
        assertEquals(execution.reason === undefined, reason === undefined);
        assertEquals(execution.engine_state, undefined);
        assert((execution.duration ?? -1) >= 0);
        assert((execution.started_at ?? "") <= (execution.ended_at ?? ""));
        assertEquals(await service.printed(execution.id, "stdout"), []);
      }));
    },
  },
  {
    name: "a record goes from queued to started to its end",
    async test(service) {
      const { id } = await service.run("true");
      // It is told a moment after it is stored.
      await until(() => service.states.length >= 2);
      assertEquals(service.states, [`${id} started`, `${id} complete`]);
    },
  },
  {
    name: "a command finds its code, its inputs, its parameters and its variables",
    isShort: true,
    isOnClusters: true,
    async test(service) {
      const body = new TextEncoder().encode("one two three");
      const { run_id } = service.execution("");
      await service.store.committer.write(payloadWrites(run_id, body));
      const { id, status } = await service.run(
        `cat code.txt; pwd
        cat "$VH_INPUTS_DIR/my labels/a b.csv"; echo; cat "$VH_PAYLOAD"; echo
        cat "$(sed -n 's/.*"path": "\\(.*\\)",*$/\\1/p' "$VH_CONFIG_DIR/inputs.json")"; echo
        tr -d ' \\n' <"$VH_CONFIG_DIR/parameters.json"; echo
        echo "$MODE"; echo "$VH_JOB_ID $VH_EXECUTION_ID $VH_PROJECT_ID"
        echo "$VH_REPOSITORY_DIR"; ls "$VH_CONFIG_DIR" | wc -l | tr -d ' '
        : >"$HOME/x"; : >"$TMPDIR/x"; : >"$VH_INPUTS_DIR/x"; : >"$VH_REPOSITORY_DIR/x"`,
        {
          inputs: { "my labels": [{ name: "a b.csv", payload_of: run_id, size: body.length }] },
          parameters: { epochs: 5, note: "it's" },
          environment_variables: { MODE: "it's\na $(test) é", VH_JOB_ID: "mine" },
        },
      );
      const [code, folder, ...printed] = await service.printed(id, "stdout");
      assertEquals([status, code], ["complete", "the code"]);
      assertEquals(printed, [
        "one two three",
        "one two three",
        "one two three",
        `{"epochs":5,"note":"it's"}`,
        "it's",
        "a $(test) é",
        `exec-${id} ${id} files`,
        folder,
        "11",
      ]);
    },
  },
  {
    name: "what is printed is in the log, in the order of each stream, and can be paged",
    isShort: true,
    async test(service) {
      const { id } = await service.run(
        "for i in 1 2 3; do echo out $i; echo err $i >&2; done; printf 'last'",
      );
      assertEquals(await service.printed(id, "stdout"), ["out 1", "out 2", "out 3", "last"]);
      assertEquals(await service.printed(id, "stderr"), ["err 1", "err 2", "err 3"]);
      const all = await service.engine.log(id);
      const first = await service.engine.log(id, { limit: 3 });
      const rest = await service.engine.log(id, { after: first.next });
      assertEquals([...first.lines, ...rest.lines], all.lines);
      assertEquals(await service.engine.log(id, { after: rest.next }), {
        lines: [],
        next: rest.next,
      });
    },
  },
  {
    name: "the log grows while the command runs",
    async test(service) {
      const ids = [
        await service.submit("echo begun; sleep 1000"),
        await service.submit("echo begun >&2; sleep 1000"),
      ];
      for (const [index, stream] of ["stdout", "stderr"].entries()) {
        const id = ids[index] ?? "";
        await until(async () => (await service.printed(id, stream)).includes("begun"));
        assertEquals((await service.record(id)).status, "started");
        await service.engine.stop(id);
        await service.ended(id);
      }
    },
  },
  {
    name: "who watches a log is called when there are lines, and when the execution has ended",
    async test(service) {
      const seen: string[] = [];
      let reading = Promise.resolve();
      const id = await service.submit("echo begun; sleep 100");
      const unwatch = service.engine.watchLog(id, () => {
        reading = reading.then(async () => {
          const { status } = await service.record(id);
          const { lines } = await service.engine.log(id);
          seen.push(...lines.map(({ message }) => message), status);
        });
      });
      await until(() => seen.includes("begun"));
      await service.engine.stop(id);
      await until(() => seen.at(-1) === "stopped");
      unwatch();
      await reading;
    },
  },
  {
    name: "metadata is the latest value of each key that stdout told",
    async test(service) {
      const { metadata } = await service.run(`
        echo '{"accuracy": 0.5, "epoch": 1}'; echo '{"error": 1}' >&2; echo '{"accuracy": 0.9}'`);
      assertEquals(metadata, { accuracy: 0.9, epoch: 1 });
    },
  },
  {
    name: "outputs are listed and can be read, also of a failed one, and nothing else can",
    isShort: true,
    isOnClusters: true,
    async test(service) {
      const { id, status, outputs } = await service.run(
        `cd "$VH_OUTPUTS_DIR"; mkdir -p deep/er; printf abc >deep/er/model; : >empty
         printf x >'a b'; chmod 600 empty; ln -s /etc/passwd link; exit 1`,
      );
      assertEquals(status, "error");
      assertEquals(outputs.map(({ path, size }) => [path, size]), [
        ["a b", 1],
        ["deep/er/model", 3],
        ["empty", 0],
      ]);
      assertEquals(
        outputs[1]?.sha256,
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
      );
      assertEquals(await service.output(id, "deep/er/model"), "abc");
      assertEquals(await service.output(id, "empty"), "");
      for (const path of ["link", "deep", "nothing", "../config/api.json", "/etc/passwd", ""]) {
        assertEquals(await service.output(id, path), undefined, path);
      }
    },
  },
];
