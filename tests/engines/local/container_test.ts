/**
 * What containers are and are not: what a command sees and may do in one, and what becomes of containers that
 * cannot be started, are killed, or are left behind.
 *
 * @module
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { lookAtMachine } from "../../../src/engines/local/processes.ts";
import { containerLayout } from "../../../src/engines/local/layout.ts";
import {
  containerName,
  runArguments,
} from "../../../src/engines/local/runners/container_arguments.ts";
import { CONTAINER_PROGRAMS } from "../../../src/engines/local/runners/container_program.ts";
import { containerWrapperArguments } from "../../../src/engines/local/runners/container_wrapper.ts";
import { type Execution, saveExecution } from "../../../src/store/records/executions.ts";
import { call, type Containers, hasContainers, makeImage } from "./containers.ts";
import { EngineFixture, QUICK, textOf, until } from "../fixture.ts";
import { atOnce } from "../../at_once.ts";
import { isLong } from "../../surroundings.ts";

const add = atOnce("containers");

interface Case {
  name: string;
  /** True for what Hooklaunch does alike with each program: the suite has it with the first that there is. */
  isAlike?: boolean;
  /** What the image has beside a shell and the usual small programs. */
  programs?: string[];
  shell?: boolean;
  settings?: Partial<typeof QUICK & { disk_ms: number; reach_ms: number }>;
  test(fixture: ContainerFixture): Promise<void>;
}

/** A fixture with what its executions have in common. */
interface ContainerFixture {
  fixture: EngineFixture;
  program: Containers;
  fields: Pick<Execution, "engine" | "image">;
}

const WAITS = "echo begun; until [ -e $VH_OUTPUTS_DIR/go ]; do sleep 0.1; done; echo done";

/** The containers of an engine, by name. */
async function containersOf({ fixture, program }: ContainerFixture): Promise<string[]> {
  const filter = `label=hooklaunch.executions=${fixture.path("")}`.replace(/\/$/, "");
  const names = await call(program, "ps", "--all", "--filter", filter, "--format", "{{.Names}}");
  return names.split("\n").filter(Boolean);
}

/** The name of the container of an execution that runs. */
async function nameOf({ fixture }: ContainerFixture, id: string): Promise<string> {
  return containerName(await fixture.record(id));
}

const cases: Case[] = [
  {
    name: "a command that puts pipes in the place of the wrapper's files is held to its limits",
    isAlike: true,
    // Where its time is over before it has begun, it is not told, and killed.
    settings: { grace_ms: 2_000 },
    async test({ fixture, fields }) {
      const { status, reason } = await fixture.run(
        `cd /valohai/control
         while :; do
           mkfifo .pipe; mv -f .pipe exit_code; echo >.file; mv -f .file exit_code
         done`,
        { ...fields, time_limit: 1 },
      );
      assertEquals([status, reason], ["error", "Stopped: time limit of 1 s reached"]);
    },
  },
  {
    name: "a command sees its work folder alone, and has no network",
    async test({ fixture, fields, program }) {
      await Deno.writeTextFile(join(fixture.folder, "secret"), "s3cr3t");
      const { id, status } = await fixture.run(
        `ls /valohai | tr '\\n' ' '; echo; ls /sys/class/net; id -u; echo $VH_OUTPUTS_DIR $HOME
         ls /valohai/control | grep -c log || true; ls -d ${fixture.folder} 2>/dev/null || echo none
         grep CapBnd /proc/self/status; mknod $TMPDIR/disk b 8 0 2>/dev/null || echo no devices
         (echo x >$VH_CONFIG_DIR/api.json) 2>/dev/null || echo read-only; mkdir /new; ls -d /new`,
        fields,
      );
      const [folders, net, user, paths, logs, host, , devices, config, made] = await fixture
        .printed(id, "stdout");
      assertEquals(status, "complete");
      assertEquals(folders, "config control home inputs outputs repository tmp ");
      assertEquals([net, user, logs, host], ["lo", "0", "0", "none"]);
      assertEquals(paths, "/valohai/outputs /valohai/home");
      assertEquals([devices, config, made], ["no devices", "read-only", "/new"]);
      const runtime = JSON.parse(textOf(fixture.path(id, "config", "runtime.json")));
      assertEquals(runtime.runner, program);
    },
  },
  {
    name: "afterwards only what the command left behind is kept, and no container",
    isAlike: true,
    async test(context) {
      const { fixture, fields } = context;
      const { id } = await fixture.run(
        "echo x >$VH_OUTPUTS_DIR/x; chmod 0 $VH_OUTPUTS_DIR/x",
        fields,
      );
      const left = (...parts: string[]) =>
        [...Deno.readDirSync(fixture.path(id, ...parts))].map(({ name }) => name).sort();
      await until(() => left().length === 3);
      assertEquals(left(), ["config", "control", "outputs"]);
      await until(() => left("control").length === 1);
      assertEquals(left("control"), ["log"]);
      assertEquals(await containersOf(context), []);
    },
  },
  {
    name: "a command may give all files to another user, and take the rights to them",
    isAlike: true,
    async test({ fixture, fields }) {
      const { id, status, exit_code, outputs } = await fixture.run(
        `echo x >$VH_OUTPUTS_DIR/x; chown -R 1000:1000 /valohai/* 2>/dev/null || true
         echo seen; sleep 0.3; chmod 0 /valohai/control; exit 4`,
        fields,
      );
      assertEquals([status, exit_code], ["error", 4]);
      assertEquals(outputs.map(({ path }) => path), ["x"]);
      assertEquals(await fixture.printed(id, "stdout"), ["seen"]);
    },
  },
  {
    name: "an image's bash runs the command",
    isAlike: true,
    programs: ["bash"],
    async test({ fixture, fields }) {
      const { id, status } = await fixture.run('x=(1 2); [[ ${#x[@]} == 2 ]]; echo "$0"', fields);
      assertEquals(status, "complete");
      assertEquals(await fixture.printed(id, "stdout"), ["/valohai/control/command"]);
    },
  },
  {
    name: "an image that needs no pulling is not pulled, one that cannot be is told of",
    async test(context) {
      const { fixture, fields } = context;
      const image = "localhost:1/none:1";
      const { id, status, reason } = await fixture.run("true", { ...fields, image });
      assertEquals(status, "error");
      assertStringIncludes(reason ?? "", `cannot pull image ${image}: `);
      assertStringIncludes(reason ?? "", "refused");
      assertEquals(await fixture.printed(id, "event"), [`Pulling image ${image}`, reason]);
      const good = await fixture.run("true", fields);
      assertEquals(await fixture.printed(good.id, "event"), []);
      assertEquals(await containersOf(context), []);
    },
  },
  {
    name: "what is not an image's name is not given to the program, nor what is one of a file",
    isAlike: true,
    async test({ fixture, fields, program }) {
      const file = join(fixture.folder, "image.tar");
      await call(program, "save", "--output", file, fields.image);
      const inFiles = ["docker-archive", "oci-archive", "dir", "oci"].map((kind) =>
        `${kind}:${file}`
      );
      for (const image of ["--privileged", "", "a b", "$(id)", ...inFiles]) {
        const { reason } = await fixture.run("true", { ...fields, image });
        assertStringIncludes(reason ?? "", "is not the name of an image");
      }
    },
  },
  {
    name: "an image without a shell is told of",
    isAlike: true,
    shell: false,
    async test(context) {
      const { fixture, fields } = context;
      const { reason } = await fixture.run("true", fields);
      assertMatch(reason ?? "", /cannot start a container: .*"?sh"?: executable file not found/);
      assertEquals(await containersOf(context), []);
    },
  },
  {
    name: "one that runs out of memory is told so",
    async test({ fixture, fields }) {
      const { status, reason, exit_code } = await fixture.run("tail -c 200000000 /dev/zero", {
        ...fields,
        resources: { memory: 32, cpu: 1_000 },
      });
      assertEquals([status, exit_code], ["error", 137]);
      assertEquals(reason, "The command ran out of memory: it may use 32 MiB");
    },
  },
  {
    name: "one that takes too much disk is stopped, in its work folder or elsewhere",
    settings: { disk_ms: 100 },
    async test({ fixture, fields }) {
      const engine = { ...fields.engine, disk_mb: 5 };
      for (const path of ["$VH_OUTPUTS_DIR/big", "/big"]) {
        const { status, reason } = await fixture.run(
          `dd if=/dev/zero of=${path} bs=1M count=9 2>/dev/null; echo written; sleep 100`,
          { ...fields, engine },
        );
        assertEquals([status, reason], ["error", "Stopped: disk use over 5 MiB"], path);
      }
    },
  },
  {
    name: "links in place of the wrapper's files lead nowhere",
    isAlike: true,
    async test({ fixture, fields }) {
      const secret = join(fixture.folder, "secret");
      await Deno.writeTextFile(secret, "s3cr3t\n");
      await Deno.writeTextFile(join(fixture.folder, "7"), "7\n");
      const { id, status, reason } = await fixture.run(
        `cd /valohai/control; until [ -e stdout ] && [ -e stderr ]; do sleep 0.1; done
         rm stdout stderr; ln -s ${secret} stderr; ln -s /dev/zero stdout
         ln -s ${fixture.folder}/7 exit_code; ln -sf ${secret} log; sleep 1; rm exit_code; exit 0`,
        fields,
      );
      assertEquals([status, reason], ["complete", undefined]);
      const { lines } = await fixture.engine.log(id);
      assertEquals(lines, []);
      assertEquals(textOf(secret), "s3cr3t\n");
    },
  },
  {
    name: "one that something else has killed, or that kills all there is, is told of",
    async test(context) {
      const { fixture, fields, program } = context;
      const id = await fixture.submit("echo begun; sleep 100", fields);
      const kills = await fixture.submit("kill -KILL -1", fields);
      await until(async () => (await fixture.printed(id, "stdout")).length === 1);
      await call(program, "kill", await nameOf(context, id));
      for (const each of [id, kills]) {
        const { status, reason, exit_code } = await fixture.ended(each);
        assertEquals([status, exit_code], ["error", undefined]);
        assertStringIncludes(reason ?? "", "something else has ended it");
      }
      assertEquals(await containersOf(context), []);
    },
  },
  {
    name: "one that something else tells to end is run again when it is wanted, else told of",
    async test(context) {
      const { fixture, fields, program } = context;
      const lost = await fixture.submit(WAITS, fields);
      const again = await fixture.submit(`trap 'exit 3' TERM; ${WAITS}`, {
        ...fields,
        rerun: true,
      });
      const ids = [lost, again];
      const begun = (id: string, times: number) =>
        until(async () => (await fixture.printed(id, "stdout")).length === times);
      for (const id of ids) await begun(id, 1);
      const names = await Promise.all(ids.map((id) => nameOf(context, id)));
      await call(program, "kill", "--signal=TERM", ...names);
      const { status, reason, exit_code } = await fixture.ended(lost);
      assertEquals([status, exit_code], ["error", 143]);
      assertEquals(
        reason,
        `Something has told the container to end, as a restart of ${program} does`,
      );
      await begun(again, 2);
      await Deno.writeTextFile(fixture.path(again, "outputs", "go"), "");
      assertEquals((await fixture.ended(again)).status, "complete");
      assertEquals(await containersOf(context), []);
    },
  },
  {
    name: "one that is gone after a restart is run again when it is wanted, else it is an error",
    async test(context) {
      const { fixture, fields, program } = context;
      const lost = await fixture.submit(WAITS, fields);
      const again = await fixture.submit(WAITS, { ...fields, rerun: true });
      const begun = (id: string, times: number) =>
        until(async () => (await fixture.printed(id, "stdout")).length === times);
      await begun(lost, 1);
      await begun(again, 1);
      const names = [await nameOf(context, lost), await nameOf(context, again)];
      await fixture.close();
      await call(program, "kill", ...names);
      await call(program, "rm", "--force", ...names);
      await fixture.begin();
      assertStringIncludes(
        (await fixture.ended(lost)).reason ?? "",
        "without leaving an exit code",
      );
      await begun(again, 2);
      await Deno.writeTextFile(fixture.path(again, "outputs", "go"), "");
      assertEquals((await fixture.ended(again)).status, "complete");
      assertEquals(await fixture.printed(again, "stdout"), ["begun", "begun", "done"]);
      assertMatch(
        (await fixture.printed(again, "event")).join(),
        /again from the start \(1 of 3\)/,
      );
      assertEquals(await containersOf(context), []);
    },
  },
  {
    name: "one that was made but not started is started once",
    async test(context) {
      const { fixture, fields, program } = context;
      const execution = fixture.execution("echo ran; sleep 1", {
        ...fields,
        status: "started",
        started_at: new Date().toISOString(),
        engine_state: { boot_id: (await lookAtMachine()).bootId },
      });
      await fixture.store.committer.commit(saveExecution(execution));
      const root = fixture.path("").replace(/\/$/, "");
      const folder = await fixture.prepare(execution, containerLayout(program));
      const options = { execution, settings: {}, path: folder.path, root, processors: 2 };
      const own = CONTAINER_PROGRAMS.find(({ name }) => name === program);
      assert(own);
      const [, , ...rest] = runArguments(own, options);
      const wrapper = containerWrapperArguments({ hasShebang: false, streamBytesMax: 1_024 });
      await call(program, "create", ...rest, ...wrapper);
      await fixture.restart();
      assertEquals((await fixture.ended(execution.id)).status, "complete");
      assertEquals(await fixture.printed(execution.id, "stdout"), ["ran"]);
      assertEquals(await containersOf(context), []);
    },
  },
  {
    name: "one of the origin's is left alone by a copy of its data, which runs what waited itself",
    isAlike: true,
    async test({ fixture, fields }) {
      const id = await fixture.submit(WAITS, fields);
      await until(async () => (await fixture.printed(id, "stdout")).length === 1);
      const { engine_state: _state, ...restored } = await fixture.record(id);
      const waiting = fixture.execution(WAITS, fields);
      await fixture.store.committer.commit(saveExecution(waiting));
      fixture.engine.submit(structuredClone(waiting));
      await until(async () => (await fixture.printed(waiting.id, "stdout")).length === 1);
      await using copy = await EngineFixture.make();
      await copy.close();
      await copy.open();
      for (const execution of [restored, waiting]) {
        await copy.store.committer.commit(saveExecution(execution));
      }
      await copy.engine.start();
      assertEquals((await copy.ended(id)).status, "error");
      await until(async () => (await copy.printed(waiting.id, "stdout")).length === 1);
      await copy.engine.stop(waiting.id);
      assertEquals((await copy.ended(waiting.id)).status, "stopped");
      for (const each of [id, waiting.id]) {
        await Deno.writeTextFile(fixture.path(each, "outputs", "go"), "");
        assertEquals((await fixture.ended(each)).status, "complete");
      }
    },
  },
  {
    name: "what could not be removed at the end is at the next start",
    async test(context) {
      const { fixture, fields, program } = context;
      const { id } = await fixture.run("true", fields);
      const running = await fixture.submit(WAITS, fields);
      await until(async () => (await fixture.printed(running, "stdout")).length === 1);
      const root = fixture.path("").replace(/\/$/, "");
      const make = (name: string, label: string) =>
        call(program, "create", `--name=${name}`, `--label=${label}`, fields.image, "true");
      const other = `hooklaunch-${fixture.execution("").id}`;
      for (const name of [`hooklaunch-${id}`, `hooklaunch-${id}-0123abcd-owner`]) {
        await make(name, `hooklaunch.executions=${root}`);
      }
      await make(other, "hooklaunch.executions=/somewhere/else");
      await fixture.restart();
      await until(async () => (await containersOf(context)).length === 1);
      assertEquals(await containersOf(context), [await nameOf(context, running)]);
      // It fails when there is no such container.
      await call(program, "rm", other);
      await fixture.engine.stop(running);
      await fixture.ended(running);
    },
  },
];

const first = (["docker", "podman"] as const).find(hasContainers);

for (const program of ["docker", "podman"] as const) {
  for (const { name, isAlike, programs = [], shell = true, settings = {}, test } of cases) {
    add({
      name: `containers of ${program}: ${name}`,
      ignore: !hasContainers(program) || isAlike === true && !isLong && program !== first,
      async fn() {
        const image = await makeImage(program, { programs, shell });
        await using fixture = await EngineFixture.make({ settings: { ...QUICK, ...settings } });
        const fields = { engine: { type: "local", runner: program }, image };
        await test({ fixture, program, fields });
      },
    });
  }
}
