/**
 * What every engine keeps, as tests: {@linkcode engineContract} registers them for one. Commands are for a
 * POSIX shell with the usual small programs; nothing is known of the engine but its interface.
 *
 * @module
 */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import type { Engine } from "../../src/engines/engine.ts";
import { ConflictError } from "../../src/errors.ts";
import { type Execution, hasEnded, saveExecution } from "../../src/store/executions.ts";
import { payloadWrites } from "../../src/store/payloads.ts";
import { type EngineParts, EngineService, until } from "./service.ts";

/** What a contract is tested with. */
export interface ContractOptions {
  /** Makes an engine that runs one or more executions at once. */
  makeEngine(parts: EngineParts & { concurrency: number }): Engine;
  /** What executions have in common, such as the image. */
  fields: Partial<Execution>;
  /** Whether this machine cannot run it. */
  ignore?: boolean;
}

/** A checkout for the engines: a repository with one file. */
export async function checkoutOfContract(
  _project: string,
  _commit: string,
  destination: string,
): Promise<void> {
  await Deno.mkdir(destination);
  await Deno.writeTextFile(join(destination, "code.txt"), "the code\n");
}

class ContractService extends EngineService<Engine> {
  readonly #options: ContractOptions;
  readonly #concurrency: number;

  constructor(folder: string, options: ContractOptions, concurrency: number) {
    super(folder);
    this.#options = options;
    this.#concurrency = concurrency;
  }

  protected override makeEngine(parts: EngineParts): Engine {
    return this.#options.makeEngine({ ...parts, concurrency: this.#concurrency });
  }

  protected override get fields(): Partial<Execution> {
    return this.#options.fields;
  }

  /** Waits until an execution has printed a line. */
  async said(id: string, line: string): Promise<void> {
    await until(async () => {
      const { status, reason } = await this.record(id);
      if ((await this.printed(id, "stdout")).includes(line)) return true;
      assert(!hasEnded(status), `It ended without "${line}": ${reason}`);
      return false;
    });
  }

  /** What is in an output; undefined when there is none. */
  async output(id: string, path: string): Promise<string | undefined> {
    const file = await this.engine.output(id, path);
    return file === undefined ? undefined : await new Response(file.readable).text();
  }
}

interface Case {
  name: string;
  concurrency?: number;
  test(service: ContractService): Promise<void>;
}

/** Registers the tests of the contract for an engine. */
export function engineContract(name: string, options: ContractOptions): void {
  for (const { name: what, concurrency = 2, test } of cases) {
    Deno.test({
      name: `contract of ${name}: ${what}`,
      ignore: options.ignore ?? false,
      async fn() {
        await using service = new ContractService(
          await Deno.makeTempDir(),
          options,
          concurrency,
        );
        await service.begin();
        await test(service);
      },
    });
  }
}

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

const IGNORE_TERM = "trap '' TERM; echo begun; while :; do sleep 1; done";

const cases: Case[] = [
  {
    name: "exit codes make the status and the reason",
    async test(service) {
      await Promise.all(endings.map(async ({ command, status, exit_code, reason }) => {
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
      assertEquals(service.states, [`${id} started`, `${id} complete`]);
    },
  },
  {
    name: "a command finds its code, its inputs, its parameters and its variables",
    async test(service) {
      const body = new TextEncoder().encode("one two three");
      const { run_id } = service.execution("");
      await service.store.committer.write(payloadWrites(run_id, body));
      const { id, status } = await service.run(
        `cat code.txt; pwd
        cat "$VH_INPUTS_DIR/my labels/a b.csv"; echo
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
        `{"epochs":5,"note":"it's"}`,
        "it's",
        "a $(test) é",
        `exec-${id} ${id} digits`,
        folder,
        "10",
      ]);
    },
  },
  {
    name: "what is printed is in the log, in the order of each stream, and can be paged",
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
      const id = await service.submit("echo begun; sleep 100");
      await service.said(id, "begun");
      assertEquals((await service.record(id)).status, "started");
      await service.engine.stop(id);
      await service.ended(id);
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
    name: "one that waits and is stopped never runs",
    concurrency: 1,
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
    name: "one that is stopped is told, with all that it has started, and may end well",
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
      assertEquals(service.states, [`${id} started`, `${id} stopping`, `${id} stopped`]);
      assertEquals(await service.engine.stop(id), false);
    },
  },
  {
    name: "one that ignores being told is killed",
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
    async test(service) {
      const { id, status } = await service.run(
        "(trap '' TERM; sleep 100; echo late) & sleep 100 & echo done",
      );
      assertEquals(status, "complete");
      assertEquals(await service.printed(id, "stdout"), ["done"]);
    },
  },
  {
    name: "handing over twice, before, while and after it runs, runs it once",
    concurrency: 1,
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
    concurrency: 1,
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
    name: "an ended one can be forgotten, one that runs or waits cannot",
    concurrency: 1,
    async test(service) {
      const ended = await service.run("echo ran; : >$VH_OUTPUTS_DIR/model");
      const running = await service.submit("echo begun; sleep 100");
      const waiting = await service.submit("true");
      await service.said(running, "begun");
      for (const id of [running, waiting]) {
        await assertRejects(() => service.engine.forget(id), ConflictError, "it has not ended");
      }
      await service.engine.forget(ended.id);
      assertEquals((await service.engine.log(ended.id)).lines, []);
      assertEquals(await service.output(ended.id, "model"), undefined);
      await service.engine.forget(ended.id);
      await service.engine.stop(running);
    },
  },
  {
    name: "after closing nothing starts, and what runs may end until the deadline",
    concurrency: 1,
    async test(service) {
      const running = await service.submit("echo begun; sleep 1; echo ended");
      const waiting = await service.submit("echo ran");
      await service.said(running, "begun");
      await service.engine.close(60_000);
      assertEquals((await service.record(running)).status, "complete");
      assertEquals((await service.record(waiting)).status, "queued");
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
