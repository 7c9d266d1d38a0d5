/** A service that takes the place of another one on the same data folder and the same port. */
import { assert, assertEquals } from "@std/assert";
import { delay } from "@std/async/delay";
import { eventually, freePort, temporaryFolder } from "../surroundings.ts";
import { hooklaunch } from "./process.ts";

const TOKEN = "an-operators-token-for-tests";
const ID = "01900000-0000-7000-8000-000000000001";
const headers = { authorization: `Bearer ${TOKEN}` };

/**
 * Launches, and tries again once: when the answer says so, or after a second without one. A busy machine has the time
 * that a start takes there.
 */
async function send(url: string, start_ms: number): Promise<"at once" | "again" | "lost"> {
  const launch = async () => {
    const answer = await fetch(url, { method: "POST" }).catch(() => undefined);
    await answer?.body?.cancel();
    return answer;
  };
  const first = await launch();
  if (first?.ok) return "at once";
  await delay(Math.max(start_ms, Number(first?.headers.get("retry-after") ?? 1) * 1_000));
  return (await launch())?.ok ? "again" : "lost";
}

const cases: [what: string, flags: string[], env: Record<string, string>, status: string][] = [
  ["an idle service", ["--wait"], {}, "complete"],
  ["a busy service, under systemd", [], { INVOCATION_ID: "1" }, "started"],
];

for (const [what, flags, env, status] of cases) {
  Deno.test(`a restart of ${what} loses no request of a sender that tries again once`, async () => {
    await using folder = await temporaryFolder();
    await Deno.mkdir(`${folder.path}/p`);
    // A busy one is stopped while commands run, and has a while to wait for them.
    const busy =
      `until [ -e ${folder.path}/stops ] || [ ! -d ${folder.path} ]; do sleep 0.1; done; sleep 1.5`;
    const command = status === "complete" ? "true" : busy;
    const step = `- step: { name: s, image: i, command: '${command}' }\n`;
    await Deno.writeTextFile(`${folder.path}/p/valohai.yaml`, step);
    const actions = [{ type: "run_execution", step: "s" }];
    const config = `${folder.path}/hooklaunch.yaml`;
    const triggers = [{ id: ID, name: "t", project: "p", actions }];
    const text = JSON.stringify({ projects: [{ name: "p", directory: "./p" }], triggers });
    await Deno.writeTextFile(config, text);
    const port = freePort();
    const url = `http://127.0.0.1:${port}/api/v0`;
    const args = ["serve", "--port", String(port), "--data", `${folder.path}/data`, "--dev"];
    const start = (more: string[], env = {}) =>
      hooklaunch([...args, "--config", config, "--stop-timeout", "3", ...more], {
        HOOKLAUNCH_ADMIN_TOKEN: TOKEN,
        ...env,
      });
    const began_ms = performance.now();
    await using first = start([]);
    await first.expect(/Listening on/);
    const start_ms = performance.now() - began_ms;
    await using second = start(flags, env);
    await second.expect(/Waiting for the process that uses the data folder/);
    assertEquals(await send(`${url}/launch/${ID}/`, start_ms), "at once");
    await eventually(async () => {
      const page = await (await fetch(`${url}/executions/`, { headers })).json();
      return page.results[0]?.status === status || undefined;
    });
    const sent: Promise<string>[] = [];
    let isServed = false;
    const served = second.expect(/Listening on/).then(() => isServed = true);
    first.child.kill("SIGTERM");
    await Deno.writeTextFile(`${folder.path}/stops`, "");
    for (let left = 3; left > 0; left -= isServed ? 1 : 0) {
      sent.push(send(`${url}/launch/${ID}/`, start_ms));
      await delay(50);
    }
    await served;
    const outcomes = Map.groupBy(await Promise.all(sent), (outcome) => outcome);
    assertEquals(outcomes.get("lost"), undefined);
    assert(outcomes.has("again"), `${[...outcomes.keys()]}`);
    assertEquals((await first.end()).code, 0, first.printed());
    const runs = await (await fetch(`${url}/triggers/${ID}/runs/?limit=200`, { headers })).json();
    assertEquals(runs.results.length, sent.length + 1);
    second.child.kill("SIGTERM");
    assertEquals((await second.end()).code, 0, second.printed());
  });
}
