/** A power cut right after a command has ended: its execution is complete only if its log and its outputs are whole. */
import { assertEquals, assertMatch } from "@std/assert";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { wrapperArguments } from "../../../src/engines/local/wrapper.ts";
import { syncFile, syncFolder } from "../../../src/platform/files/durable.ts";
import { type Execution, saveExecution } from "../../../src/store/records/executions.ts";
import { PowerDisk } from "../../faults/power_disk.ts";
import { has } from "../../needs.ts";
import { temporaryFolder } from "../../surroundings.ts";
import { EngineFixture, textOf, until } from "../fixture.ts";

const EARLIER = { boot_id: "earlier" };

/** Prepares an execution that an earlier service has started. */
async function started(fixture: EngineFixture, command: string): Promise<string> {
  const status = "started";
  const execution = fixture.execution(command, { status, engine_state: EARLIER });
  await fixture.store.committer.commit(saveExecution(execution));
  await fixture.prepare(execution);
  return execution.id;
}

/** Starts the command of an execution. Returns the process that has started it. */
function wrapper(fixture: EngineFixture, id: string): Deno.ChildProcess {
  const options = wrapperArguments({ shell: "/bin/sh", streamBytesMax: 1_024 });
  const args = ["-c", 'setsid sh "$@" & read -r line', "sh", ...options];
  return new Deno.Command("sh", { args, cwd: fixture.path(id), stdin: "piped" }).spawn();
}

Deno.test({
  name:
    "power: what had just ended before a cut is complete if all of it is on the disk, and else an error",
  ignore: !has("xfs_io"),
  async fn() {
    await using folder = await temporaryFolder();
    await using disk = await PowerDisk.make(folder.path);
    await using fixture = await EngineFixture.make({}, join(disk.path, "engine"));
    const go = join(folder.path, "go");
    const command = `echo result >$VH_OUTPUTS_DIR/file
      while [ ! -e ${go}-$VH_EXECUTION_ID ]; do sleep 0.05; done; echo ended`;
    const [served, alone] = [await started(fixture, command), await started(fixture, command)];
    const [service, gone] = [wrapper(fixture, served), wrapper(fixture, alone)];
    const control = (id: string, name: string) => fixture.path(id, "control", name);
    for (const id of [served, alone]) {
      await until(() => textOf(control(id, "started")).endsWith("begun\n"));
    }
    await fixture.close();
    // Its command outlives the service that has started it, and ends beside none.
    await gone.stdin.close();
    await gone.status;
    await Deno.writeTextFile(`${go}-${alone}`, "");
    await until(() => existsSync(control(alone, "on_disk")));
    await Deno.writeTextFile(`${go}-${served}`, "");
    await until(() => textOf(control(served, "exit_code")) === "0\n");
    // The kernel may write any file first.
    for (const path of [control(served, "exit_code"), control(alone, "on_disk")]) {
      await syncFile(path);
      await syncFolder(dirname(path));
    }
    await disk.cut();
    await service.stdin.close();
    await service.status;
    await disk.bringBack();
    await fixture.begin();
    const ended: Record<string, Execution> = {};
    for (const id of [served, alone]) ended[id] = await fixture.ended(id);
    assertEquals([ended[served]?.status, ended[served]?.exit_code], ["error", 0]);
    assertMatch(ended[served]?.reason ?? "", /^The command had just ended with exit code 0 when/);
    assertEquals([ended[alone]?.status, ended[alone]?.reason], ["complete", undefined]);
    assertEquals(await fixture.printed(alone, "stdout"), ["ended"]);
    const { stream } = await fixture.engine.output(alone, "file") ?? {};
    assertEquals(stream && await new Response(stream).text(), "result\n");
  },
});
