/** Notifications of a service that is killed while it tells, and of several instances. */
import { assert, assertEquals } from "@std/assert";
import { hooklaunch, type Running } from "../commands/process.ts";
import { type Received, type Receiver, startReceiver } from "../http/receiver.ts";
import { KV_TOKEN, RemoteKv } from "../store/kv_connect.ts";
import { eventually, temporaryFolder } from "../surroundings.ts";

const TOKEN = "an-operators-token-for-tests";
const HEADERS = { authorization: `Bearer ${TOKEN}` };
const ENV = {
  HOOKLAUNCH_ADMIN_TOKEN: TOKEN,
  HOOKLAUNCH_SECRET_KEY: "00".repeat(32),
  [KV_TOKEN.name]: KV_TOKEN.value,
};
/** Each of these has a cause of its own. */
const NAMES = ["held", "at-once", "soon", "late"] as const;

type Name = typeof NAMES[number];

const idOf = (name: Name) => `01900000-0000-7000-8000-00000000000${NAMES.indexOf(name)}`;

/** A folder with the configuration of triggers whose runs fail, of which a receiver is told. */
async function configured({ port }: Receiver) {
  const folder = await temporaryFolder();
  await Deno.mkdir(`${folder.path}/p`);
  await Deno.writeTextFile(`${folder.path}/p/valohai.yaml`, "[]");
  await Deno.writeTextFile(
    `${folder.path}/hooklaunch.yaml`,
    JSON.stringify({
      projects: [{ name: "p", directory: "./p" }],
      triggers: NAMES.map((name) => ({
        id: idOf(name),
        name,
        project: "p",
        actions: [{ type: "http_request", url: "{body.none}" }],
      })),
      // One each: the second message of a notifier waits a minute.
      notifications: NAMES.map((name) => ({
        name,
        on: ["run_error"],
        triggers: [name],
        to: { type: "webhook", url: `http://127.0.0.1:${port}/told`, private_networks: true },
      })),
    }),
  );
  return folder;
}

async function start(folder: string, name: string, ...more: string[]) {
  const config = ["--config", `${folder}/hooklaunch.yaml`, "--data", `${folder}/${name}`];
  const running = hooklaunch(["serve", "--port", "0", "--dev", ...config, ...more], ENV);
  const [, url = ""] = await running.expect(/reached as (http:\/\/127\.0\.0\.1:\d+)/);
  return Object.assign(running, { url });
}

async function kill(running: Running): Promise<void> {
  running.child.kill("SIGKILL");
  await running.end();
}

async function launch(url: string, name: Name): Promise<void> {
  const answer = await fetch(`${url}/api/v0/launch/${idOf(name)}/`, { method: "POST", body: "{}" });
  const text = await answer.text();
  assertEquals(answer.status, 200, text);
}

/** Returns the messages in which the cause of a trigger is new. */
function toldOf({ at }: Receiver, name: Name): Received[] {
  return at("/told").filter(({ body }) =>
    JSON.parse(body).data.causes.some(({ subject, state }: Json) =>
      subject.name === name && state === "began"
    )
  );
}

// deno-lint-ignore no-explicit-any -- the tests look into it by the API's contract
type Json = any;

/** Waits until the cause of a trigger is told, and nothing is left to be told. */
async function settled(receiver: Receiver, url: string, name: Name): Promise<void> {
  await eventually(async () => {
    if (toldOf(receiver, name).length === 0) return undefined;
    const answer = await fetch(`${url}/api/v0/notifications/?status=pending`, { headers: HEADERS });
    return (await answer.json()).results.length === 0 || undefined;
  }, { what: `the cause of ${name}` });
}

Deno.test("a service that is killed while it tells, tells each cause at least once and at most twice", async () => {
  await using receiver = startReceiver();
  const isKilled = Promise.withResolvers<void>();
  receiver.on("/told", async (_, { length }) => {
    // The service dies before the first message is answered.
    if (length === 1) await isKilled.promise;
    return new Response();
  });
  await using folder = await configured(receiver);
  const deaths: [name: Name, until: () => Promise<unknown>][] = [
    ["held", () => receiver.arrived("/told", 1)],
    ["at-once", () => Promise.resolve()],
    // At some moment of what follows a launch, which takes some ten milliseconds.
    ["soon", () => new Promise((resolve) => setTimeout(resolve, Math.random() * 50))],
    ["late", () => new Promise((resolve) => setTimeout(resolve, Math.random() * 300))],
  ];
  let service = await start(folder.path, "data");
  try {
    for (const [name, until] of deaths) {
      await launch(service.url, name);
      await until();
      await kill(service);
      isKilled.resolve();
      service = await start(folder.path, "data");
      // Before it is killed again, it has told all.
      await settled(receiver, service.url, name);
    }
  } finally {
    await service[Symbol.asyncDispose]();
  }
  for (const name of NAMES) {
    const told = toldOf(receiver, name);
    assert(told.length === 1 || told.length === 2, `${name}: ${told.length} times`);
    // Whoever gets a message twice knows it by its id.
    assertEquals(new Set(told.map(({ body }) => JSON.parse(body).data.id)).size, 1);
  }
  assertEquals(toldOf(receiver, "held").length, 2);
});

Deno.test("of several instances one tells, and another one goes on where it is killed", async () => {
  await using remote = new RemoteKv();
  await using receiver = startReceiver();
  receiver.on("/told", () => new Response());
  await using folder = await configured(receiver);
  const at = ["--kv", remote.way().url];
  await using first = await start(folder.path, "first", ...at);
  await using second = await start(folder.path, "second", ...at);
  // Both accept.
  await launch(second.url, "held");
  await settled(receiver, second.url, "held");
  await launch(first.url, "soon");
  await settled(receiver, second.url, "soon");
  await kill(first);
  await second.expect(/Leading: this instance performs the work/);
  await launch(second.url, "late");
  await settled(receiver, second.url, "late");
  for (const name of ["held", "soon", "late"] as const) {
    assertEquals(toldOf(receiver, name).length, 1, name);
  }
});
