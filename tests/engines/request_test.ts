/** A step finds the payload and the request that launched it, without the sender's credentials. */
import { assert, assertEquals } from "@std/assert";
import { eventually, startService, type TestService } from "../data.ts";

const STEPS = [{
  step: {
    name: "it",
    image: "debian",
    command: 'cp "$VH_CONFIG_DIR/request.json" "$VH_OUTPUTS_DIR/"; cat "$VH_PAYLOAD"',
    inputs: [{ name: "event", optional: true }],
  },
}, {
  step: { name: "without", image: "debian", command: 'echo "${VH_PAYLOAD-none}"' },
}];

async function endOf(service: TestService, runId: string, action = 0) {
  return await eventually(async () => {
    const run = (await service.api("GET", `runs/${runId}/`)).body;
    const id = run.actions[action]?.created?.execution_id;
    if (id === undefined) return undefined;
    const execution = (await service.api("GET", `executions/${id}/`)).body;
    return execution.ended_at === undefined ? undefined : execution;
  }, { what: "the end of the execution" });
}

Deno.test("a step finds its payload's path, and headers and query without credentials", async () => {
  await using service = await startService();
  await Deno.writeTextFile(`${service.folder}/project/valohai.yaml`, JSON.stringify(STEPS));
  const { url } = await service.trigger({
    conditions: [{ type: "static_token", in: "query", name: "pass", secrets: ["opensesame"] }],
    actions: [
      { type: "run_execution", step: "it", payload_input_name: "event" },
      { type: "run_execution", step: "without" },
    ],
    response: { type: "text", text: "{run_id}" },
  });
  const query =
    `pass=opensesame&branch=main&branch=b%C3%BC&q=${"q".repeat(700)}&code=AB&keyword=z` +
    `&long=${"l".repeat(4_000)}&after=1`;
  const sent = await fetch(`${url}?${query}`, {
    method: "POST",
    headers: {
      "content-type": "text/csv",
      "x-github-event": "push",
      "x-huge": "h".repeat(5_000),
      "x-list": "n".repeat(3_000),
      "x-promo-code": "AB",
      authorization: "Basic c2VjcmV0OnNlY3JldA==",
    },
    body: "a,b\n",
  });
  const runId = await sent.text();
  const execution = await endOf(service, runId);
  assertEquals(execution.status, "complete", execution.reason);
  const output = async (id: string, path: string) =>
    await (await fetch(`${service.url}/api/v0/executions/${id}/${path}`, {
      headers: { authorization: "Bearer an-operators-token-for-tests", accept: "text/plain" },
    })).text();
  const text = await output(execution.id, "outputs/request.json");
  const request = JSON.parse(text);
  assertEquals(request.headers["x-github-event"], "push");
  assertEquals(request.headers["content-type"], "text/csv");
  assertEquals(request.query, {
    branch: ["main", "bü"],
    q: "q".repeat(700),
    code: "AB",
    keyword: "z",
    after: "1",
  });
  assertEquals(request.left_out, { headers: ["x-huge"], query: ["long"] });
  assertEquals(request.headers["x-promo-code"], "AB");
  assertEquals(request.headers["x-list"], "n".repeat(3_000));
  for (const secret of ["opensesame", "c2VjcmV0"]) assert(!text.includes(secret), text);
  assertEquals(await output(execution.id, "log/"), "a,b\n");
  assertEquals(await output((await endOf(service, runId, 1)).id, "log/"), "none\n");

  const replay = await service.api("POST", `runs/${runId}/replay/`);
  const again = await endOf(service, replay.body.id);
  assertEquals(JSON.parse(await output(again.id, "outputs/request.json")), request);
});
