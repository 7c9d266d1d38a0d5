/** HTTP requests of actions through SIGKILL: sent at least once, one at a time, with one key, and waited for. */
import { assert, assertEquals } from "@std/assert";
import { hooklaunch, type Running } from "../commands/process.ts";
import { type Receiver, startReceiver } from "../http/receiver.ts";
import { eventually, temporaryFolder } from "../surroundings.ts";

const ID = "01900000-0000-7000-8000-000000000001";
const TOKEN = "an-operators-token-for-tests";
const HEADERS = { authorization: `Bearer ${TOKEN}` };

/** A folder with a service whose trigger sends to a server. */
async function configured({ port }: Receiver, settings: Record<string, unknown>) {
  const folder = await temporaryFolder();
  await Deno.mkdir(`${folder.path}/p`);
  await Deno.writeTextFile(`${folder.path}/p/valohai.yaml`, "[]");
  await Deno.writeTextFile(
    `${folder.path}/hooklaunch.yaml`,
    JSON.stringify({
      projects: [{ name: "p", directory: "./p" }],
      triggers: [{
        id: ID,
        name: "t",
        project: "p",
        actions: [{
          type: "http_request",
          url: `http://127.0.0.1:${port}/work`,
          private_networks: true,
          timeout: 300,
          ...settings,
        }],
        response: { type: "text", text: "{run_id}" },
      }],
    }),
  );
  return folder;
}

async function start(folder: string): Promise<Running & { url: string }> {
  const config = ["--config", `${folder}/hooklaunch.yaml`, "--data", `${folder}/data`];
  const running = hooklaunch(["serve", "--port", "0", "--dev", ...config], {
    HOOKLAUNCH_ADMIN_TOKEN: TOKEN,
  });
  const [, url = ""] = await running.expect(/reached as (http:\/\/127\.0\.0\.1:\d+)/);
  return Object.assign(running, { url });
}

async function kill(running: Running): Promise<void> {
  running.child.kill("SIGKILL");
  await running.end();
}

async function launch(url: string): Promise<string> {
  const answer = await fetch(`${url}/api/v0/launch/${ID}/`, { method: "POST", body: "{}" });
  const text = await answer.text();
  assertEquals(answer.status, 200, text);
  return text;
}

/** Waits until the request of a run has a status. */
function state(url: string, run: string, status: string) {
  return eventually(async () => {
    const answer = await fetch(`${url}/api/v0/deliveries/${run}/`, { headers: HEADERS });
    const { sent: [request] = [] } = await answer.json();
    return request?.status === status ? request : undefined;
  }, { what: `a request that is ${status}` });
}

Deno.test("a service that is killed between sending and storing sends again, with the same key", async () => {
  await using receiver = startReceiver();
  const isOver = Promise.withResolvers<void>();
  const KILLS = 2;
  receiver.on("/work", async (_, { length }) => {
    // The service dies before it is answered.
    if (length <= KILLS) await isOver.promise;
    return new Response("done");
  });
  await using folder = await configured(receiver, {});
  let run = "";
  for (let kills = 0; kills < KILLS; kills++) {
    await using service = await start(folder.path);
    if (kills === 0) run = await launch(service.url);
    await receiver.arrived("/work", kills + 1);
    await kill(service);
    await receiver.idle("/work");
  }
  await using service = await start(folder.path);
  const { id, attempts, answer } = await state(service.url, run, "complete");
  assertEquals([attempts, answer.status, atob(answer.body)], [KILLS + 1, 200, "done"]);
  const keys = receiver.at("/work").map(({ headers }) => headers.get("idempotency-key"));
  assertEquals(keys, new Array(KILLS + 1).fill(id));
  assertEquals(receiver.atOnce("/work"), 1);
  isOver.resolve();
});

Deno.test("a wait for a callback goes on after SIGKILL", async () => {
  await using receiver = startReceiver();
  receiver.on("/work", () => new Response("begun"));
  await using folder = await configured(receiver, { body: "{callback_url}", wait: "callback" });
  let run = "";
  {
    await using service = await start(folder.path);
    run = await launch(service.url);
    await state(service.url, run, "waiting");
    await kill(service);
  }
  await using service = await start(folder.path);
  const [{ body } = { body: "" }] = receiver.at("/work");
  const path = body.replace(/^http:\/\/[^/]+/, "");
  assert(path.startsWith("/api/v0/callbacks/"), body);
  const called = await fetch(service.url + path, { method: "POST", body: "done" });
  assertEquals([called.status, await called.json()], [200, { status: "accepted" }]);
  await kill(service);
  // What was answered is on disk.
  await using last = await start(folder.path);
  const { attempts, result } = await state(last.url, run, "complete");
  assertEquals([attempts, atob(result.body)], [1, "done"]);
  assertEquals(receiver.at("/work").length, 1);
});
