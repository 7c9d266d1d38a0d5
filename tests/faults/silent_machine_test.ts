/**
 * Two machines on one denokv server. The instance of one is killed: its commands go on, and it finds them again. Then
 * both begin what waits.
 */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { ignoreMissing } from "../../src/platform/files/missing_file.ts";
import type { Execution } from "../../src/store/records/executions.ts";
import type { NotifiedCause } from "../../src/store/records/notifications.ts";
import { type Receiver, startReceiver } from "../http/receiver.ts";
import { has } from "../needs.ts";
import { GitFixture } from "../projects/code/git_fixture.ts";
import { denokv } from "../store/denokv.ts";
import { KV_TOKEN } from "../store/kv_connect.ts";
import { eventually, temporaryFolder } from "../surroundings.ts";
import { pause } from "./findings.ts";
import { serve, type Served, TOKEN } from "./served.ts";

const TRIGGER = "01900000-0000-7000-8000-000000000001";
/** Runs a step of a plain folder. */
const OF_FOLDER = "01900000-0000-7000-8000-000000000002";
const NAMES = ["goes-on", "given-up", "stopped"] as const;

type Name = typeof NAMES[number];

/** Two machines, and what is run on the first. */
class Machines implements AsyncDisposable {
  readonly #folder: string;
  readonly #kv: string;
  readonly #served: Served[] = [];
  #remote: GitFixture | undefined;

  constructor(folder: string, kv: string) {
    this.#folder = folder;
    this.#kv = kv;
  }

  /** Writes the configuration. Each command runs until a file lets it end. */
  async configure({ port }: Receiver): Promise<void> {
    const folder = this.#folder;
    await Deno.mkdir(`${folder}/store`);
    const command = `name=$(cat $VH_INPUTS_DIR/body/*); cp code '${folder}/code-'$name
echo >>'${folder}/began-'$name; echo begun
while [ ! -e '${folder}/go-'$name ]; do echo >>'${folder}/lives-'$name; sleep 0.2; done; echo done >$VH_OUTPUTS_DIR/out`;
    const wait = { name: "wait", image: "i", command, inputs: [{ name: "body" }] };
    const after = {
      name: "after",
      image: "i",
      command: "cat $VH_INPUTS_DIR/in/*",
      inputs: [{ name: "in" }],
    };
    const nodes = [wait, after].map(({ name }) => ({ name, type: "execution", step: name }));
    const edges = [["wait.output.*", "after.input.in"]];
    const pipeline = { name: "p", nodes, edges };
    const remote = this.#remote = await GitFixture.make(`${folder}/remote`, {
      code: "old",
      "valohai.yaml": JSON.stringify([{ step: wait }, { step: after }, { pipeline }]),
    });
    await Deno.mkdir(`${folder}/files`);
    await this.edit("as it was");
    const show = { name: "show", image: "i", command: "cat text" };
    await Deno.writeTextFile(`${folder}/files/valohai.yaml`, JSON.stringify([{ step: show }]));
    const response = { type: "text", text: "{run_id}" };
    const payload_input_name = "wait.body";
    await Deno.writeTextFile(
      `${folder}/hooklaunch.yaml`,
      JSON.stringify({
        projects: [
          { name: "p", repository: remote.path },
          { name: "files", directory: `${folder}/files` },
        ],
        triggers: [{
          id: TRIGGER,
          name: "t",
          project: "p",
          actions: [
            { type: "fetch_repository" },
            { type: "run_pipeline", pipeline: "p", payload_input_name },
          ],
          response,
        }, {
          id: OF_FOLDER,
          name: "of a folder",
          project: "files",
          actions: [{ type: "run_execution", step: "show" }],
          response,
        }],
        notifications: [{
          name: "ops",
          on: ["instance_gone"],
          to: { type: "webhook", url: `http://127.0.0.1:${port}/told`, private_networks: true },
        }],
      }),
    );
  }

  /** Changes the plain folder. */
  async edit(text: string): Promise<void> {
    await Deno.writeTextFile(`${this.#folder}/files/text`, text);
  }

  async start(machine: string): Promise<Served> {
    const served = await serve(this.#folder, {
      data: `${this.#folder}/${machine}`,
      flags: [
        "--kv",
        this.#kv,
        "--max-executions",
        String(NAMES.length),
        "--storage",
        `${this.#folder}/store`,
      ],
      env: {
        [KV_TOKEN.name]: KV_TOKEN.value,
        HOOKLAUNCH_SECRET_KEY: "00".repeat(32),
        DENO_CRON_TEST_SCHEDULE_OFFSET: "1000",
      },
    });
    this.#served.push(served);
    return served;
  }

  /** Changes the repository. */
  async push(code: string): Promise<void> {
    await this.#remote?.commit({ code });
  }

  /** Waits until a command has begun, and reads the code that it has. */
  async codeOf(name: string): Promise<string> {
    return await eventually(async () => {
      await this.begun(name).catch(ignoreMissing);
      return await Deno.readTextFile(`${this.#folder}/code-${name}`).catch(() => undefined);
    }, { what: `the begin of ${name}` });
  }

  /** Lets a command come to its end. */
  async letGo(name: string): Promise<void> {
    await Deno.writeTextFile(`${this.#folder}/go-${name}`, "");
  }

  /** Returns the number of times that a command has begun. */
  async begun(name: string): Promise<number> {
    return (await Deno.readTextFile(`${this.#folder}/began-${name}`)).length;
  }

  /** Resolves when a command does not live any more. */
  async over(name: Name): Promise<void> {
    const path = `${this.#folder}/lives-${name}`;
    await eventually(async () => {
      const { size } = await Deno.stat(path);
      await pause(1_000);
      return (await Deno.stat(path)).size === size || undefined;
    }, { what: `the end of ${name}` });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const name of NAMES) await this.letGo(name);
    for (const served of this.#served) await served[Symbol.asyncDispose]();
    for (const name of NAMES) await this.over(name).catch(ignoreMissing);
  }
}

async function launch({ url }: Served, body: string, trigger = TRIGGER): Promise<string> {
  const answer = await fetch(`${url}/api/v0/launch/${trigger}/`, { method: "POST", body });
  assertEquals(answer.status, 200);
  return await answer.text();
}

/** Reads an execution once it is as it is to be. */
async function execution(
  served: Served,
  run: string,
  is: (found: Execution) => boolean,
  what: string,
  step = "wait",
): Promise<Execution> {
  return await eventually(async () => {
    const found: Execution[] = await served.all("executions/?limit=50");
    return found.find((each) => each.run_id === run && each.step === step && is(each));
  }, { what });
}

async function printed(served: Served, id: string): Promise<string[]> {
  const { results } = await served.api(`executions/${id}/log/`);
  return results.filter(({ stream }: { stream: string }) => stream === "stdout")
    .map(({ message }: { message: string }) => message);
}

async function stop(served: Served, { id }: Execution): Promise<Execution> {
  const answer = await fetch(`${served.url}/api/v0/executions/${id}/stop/`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}` },
  });
  assertEquals(answer.status, 202);
  return await answer.json();
}

/** Waits for the first message of a receiver. Returns its causes, each with its instance. */
async function told({ arrived }: Receiver): Promise<string[]> {
  const [first] = await arrived("/told", 1);
  const causes: NotifiedCause[] = JSON.parse(first?.body ?? "").data.causes;
  return causes.map(({ code, state, subject: { kind, name } }) =>
    [code, state, kind, name].join(" ")
  );
}

Deno.test({
  name: "a silent machine's work shows so, and goes on there until it is stopped or given up",
  ignore: !has("denokv"),
  async fn() {
    await using receiver = startReceiver();
    await using temporary = await temporaryFolder();
    await using server = await denokv(temporary.path);
    await using machines = new Machines(temporary.path, server.url);
    await machines.configure(receiver);
    const first = await machines.start("first");
    const runs = Object.fromEntries(
      await Promise.all(NAMES.map(async (name) => [name, await launch(first, name)])),
    ) as Record<Name, string>;
    for (const name of NAMES) {
      const { machine } = await execution(
        first,
        runs[name],
        ({ status }) => status === "started",
        `the start of ${name}`,
      );
      assertEquals(machine, "127.0.0.1");
    }
    await eventually(
      async () => await Promise.all(NAMES.map((name) => machines.begun(name))).catch(() => {}),
      { what: "all commands" },
    );
    const queued = await launch(first, "", OF_FOLDER);
    await execution(first, queued, ({ status }) => status === "queued", "one that waits", "show");
    await machines.edit("as it is now");
    first.signal("SIGKILL");
    await first.end();
    const second = await machines.start("second");

    const ended = ({ ended_at }: Execution) => ended_at !== undefined;
    const shown = await execution(second, queued, ended, "its end", "show");
    assertEquals(shown.status, "complete", shown.reason);
    assertEquals(await printed(second, shown.id), ["as it was"]);

    for (const name of NAMES) {
      const silent = ({ reachable }: Execution) => reachable === false;
      const { status, waiting = "" } = await execution(second, runs[name], silent, "its silence");
      assertEquals(status, "started");
      assertStringIncludes(waiting, "no instance of the service runs on its data folder");
    }
    const { results: [failure] } = await second.api("failures/");
    assertEquals([failure?.engine, failure?.projects], ["local", ["p"]]);
    assertStringIncludes(failure.detail, "the machine 127.0.0.1 is silent");
    const any = () => true;
    const given = await stop(second, await execution(second, runs["given-up"], any, "it"));
    assertEquals(given.status, "stopped");
    assertStringIncludes(given.reason ?? "", "ends when an instance starts on it");

    assertEquals(await told(receiver), [`instance_gone began instance ${first.url}`]);
    const gone = () => second.all("attention/?code=instance_gone");
    assertStringIncludes((await gone())[0]?.text, "no sign of life for 15 s");
    await using again = await machines.start("first");
    await eventually(async () => (await gone()).length === 0 || undefined, { what: "its return" });
    await machines.over("given-up");
    for (const name of ["goes-on", "stopped"] as const) {
      const isBack = ({ reachable }: Execution) => reachable === undefined;
      const { status, waiting } = await execution(again, runs[name], isBack, "its return");
      assertEquals([status, waiting], ["started", undefined]);
    }
    await stop(again, await execution(second, runs.stopped, any, "it"));
    const { status: end, reason } = await execution(second, runs.stopped, ended, "its end");
    assertEquals([end, reason], ["stopped", "Stopped by request"], "its machine has ended it");

    const { id } = await execution(second, runs["goes-on"], any, "it");
    assertEquals(await printed(second, id), ["begun"], "the leader asks the machine");
    await machines.letGo("goes-on");
    const { status, duration = 0 } = await execution(second, runs["goes-on"], ended, "its end");
    assertEquals(status, "complete");
    assertEquals(duration > 15, true);
    const after = await eventually(async () => {
      const found: Execution[] = await second.all("executions/?limit=50");
      return found.find(({ step, status }) => step === "after" && status === "complete");
    }, { what: "the node behind it, on the machine that leads" });
    assertEquals(await printed(again, after.id), ["done"]);

    // Each machine has three places. What the second round needs is in no mirror beside the leader's.
    for (const code of ["old", "new"]) {
      await machines.push(code);
      const more = Array.from({ length: 2 * NAMES.length }, (_, nth) => `${code}-${nth}`);
      await Promise.all(more.map((name) => launch(again, name)));
      for (const name of more) assertEquals(await machines.codeOf(name), code);
      for (const name of more) await machines.letGo(name);
      await eventually(async () => {
        const open: Execution[] = await second.all("executions/?limit=50");
        return open.every(ended) && open.filter(({ step }) => step === "after").length > 6 ||
          undefined;
      }, { what: "the ends of all" });
      for (const name of more) assertEquals(await machines.begun(name), 1, name);
    }
    const all: Execution[] = await second.all("executions/?limit=50");
    const failed = all.filter(({ status }) => status === "error");
    assertEquals(failed.map(({ reason }) => reason), []);
    for (const name of NAMES) assertEquals(await machines.begun(name), 1, name);
  },
});
