/**
 * What SIGKILL of the service must not do: lose or double anything that was accepted.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { eventually, temporaryFolder } from "../surroundings.ts";
import { hooklaunch, type Running } from "../commands/process.ts";

const ID = "01900000-0000-7000-8000-000000000001";
const TOKEN = "an-operators-token-for-tests";
const HEADERS = { authorization: `Bearer ${TOKEN}` };
const EXECUTION = { type: "run_execution", step: "mark", payload_input_name: "body" };
const PIPELINE = { type: "run_pipeline", pipeline: "chain", payload_input_name: "a.body" };
/** The payload goes through a to b and to c. */
const CHAIN = [["a.output.*", "b.input.body"], ["b.output.*", "c.input.body"]];

function passing(name: string) {
  return { name, type: "execution", step: "pass" };
}

/** A folder with a service's configuration; its step notes each of its starts outside of its folder. */
async function configured(command: string, action: Record<string, string> = EXECUTION) {
  const folder = await temporaryFolder();
  const marks = `${folder.path}/marks`;
  await Deno.mkdir(`${folder.path}/p`);
  await Deno.mkdir(marks);
  const script = `echo started >> '${marks}'/$VH_EXECUTION_ID; ${command}`;
  await Deno.writeTextFile(
    `${folder.path}/p/valohai.yaml`,
    JSON.stringify([
      { step: { name: "mark", image: "i", command: script, inputs: [{ name: "body" }] } },
      {
        step: {
          name: "pass",
          image: "i",
          command: `${script}; cp "$VH_INPUTS_DIR"/body/* "$VH_OUTPUTS_DIR/"`,
          inputs: [{ name: "body" }],
        },
      },
      { pipeline: { name: "chain", nodes: ["a", "b", "c"].map(passing), edges: CHAIN } },
    ]),
  );
  await Deno.writeTextFile(
    `${folder.path}/hooklaunch.yaml`,
    JSON.stringify({
      projects: [{ name: "p", directory: "./p" }],
      triggers: [{
        id: ID,
        name: "t",
        project: "p",
        conditions: [{ type: "rate_limit", period: 3600, quota: 100 }],
        actions: [action],
        response: { type: "text", text: "{run_id}" },
      }],
    }),
  );
  return { folder, marks };
}

async function start(folder: string, ...flags: string[]): Promise<Running & { url: string }> {
  const config = ["--config", `${folder}/hooklaunch.yaml`, "--data", `${folder}/data`];
  const running = hooklaunch(["serve", "--port", "0", "--dev", ...config, ...flags], {
    HOOKLAUNCH_ADMIN_TOKEN: TOKEN,
  });
  const [, url = ""] = await running.expect(/reached as (http:\/\/127\.0\.0\.1:\d+)/);
  return Object.assign(running, { url });
}

async function launch(url: string, body: string | Uint8Array<ArrayBuffer>): Promise<string> {
  const answer = await fetch(`${url}/api/v0/launch/${ID}/`, { method: "POST", body });
  const text = await answer.text();
  assertEquals(answer.status, 200, text);
  return text;
}

async function kill(running: Running): Promise<void> {
  running.child.kill("SIGKILL");
  await running.end();
}

async function read(url: string, path: string) {
  return await (await fetch(`${url}/api/v0/${path}`, { headers: HEADERS })).json();
}

/** Waits until a run and its execution have ended well, and answers the execution's id. */
async function completed(url: string, runId: string): Promise<string> {
  const info = await (await fetch(`${url}/api/v0/launch/${ID}/run/?run_id=${runId}&wait=20`))
    .json();
  assertEquals(info.status, "completed", `run ${runId}`);
  assertEquals(info.result.length, 1);
  const id: string = info.result[0].execution_id;
  const { status, reason } = await eventually(async () => {
    const execution = await read(url, `executions/${id}/`);
    return ["complete", "error", "stopped"].includes(execution.status) ? execution : undefined;
  }, { what: `the end of execution ${id}` });
  assertEquals(status, "complete", reason);
  return id;
}

Deno.test("what was accepted before SIGKILL runs after the restart, once", async () => {
  const { folder, marks } = await configured("while [ ! -e ../../../../go ]; do sleep 0.02; done");
  await using _folder = folder;
  await using first = await start(folder.path, "--max-executions", "1");
  const runIds = [];
  for (const body of ["one", "two", "three"]) runIds.push(await launch(first.url, body));
  // The first of them runs, and the others wait for it.
  await eventually(async () => (await Array.fromAsync(Deno.readDir(marks))).at(0));
  await kill(first);

  await using second = await start(folder.path, "--max-executions", "1");
  await Deno.writeTextFile(`${folder.path}/go`, "");
  const executions = new Set<string>();
  for (const runId of runIds) executions.add(await completed(second.url, runId));
  assertEquals(executions.size, 3);
  for (const id of executions) {
    assertEquals(await Deno.readTextFile(`${marks}/${id}`), "started\n", "its command ran once");
  }
  const { results } = await read(second.url, "executions/");
  assertEquals(results.length, 3, "no execution was made twice");
});

Deno.test("pipelines whose service is killed at random moments end, each node launched once", async () => {
  const { folder, marks } = await configured("true", PIPELINE);
  await using _folder = folder;
  const seed = Math.floor(Math.random() * 1e9);
  const accepted: string[] = [];
  for (let round = 0; round < 3; round++) {
    await using service = await start(folder.path);
    for (let count = 0; count < 3; count++) accepted.push(await launch(service.url, `${round}`));
    await new Promise((resolve) => setTimeout(resolve, (seed >> (round * 4)) % 250));
    await kill(service);
  }
  await using service = await start(folder.path);
  for (const runId of accepted) {
    const info = `${service.url}/api/v0/launch/${ID}/run/?run_id=${runId}&wait=20`;
    const { result: [{ pipeline_id: id }] } = await (await fetch(info)).json();
    const pipeline = await eventually(async () => {
      const found = await read(service.url, `pipelines/${id}/`);
      return found.ended_at === undefined ? undefined : found;
    }, { what: `the end of pipeline ${id}` });
    assertEquals(pipeline.status, "complete", `seed ${seed}: ${pipeline.reason}`);
    for (const { execution_id, attempts } of pipeline.nodes) {
      assertEquals(attempts, 1, `seed ${seed}`);
      assertEquals(await Deno.readTextFile(`${marks}/${execution_id}`), "started\n", `${seed}`);
    }
  }
  const { results } = await read(service.url, "executions/?limit=200");
  assertEquals(results.length, accepted.length * 3, `seed ${seed}`);
});
