/** Two instances on one database: runs of HTTP requests are performed by the one that has accepted them. */
import { assert, assertEquals } from "@std/assert";
import { keys } from "../../src/store/keys.ts";
import { getHttpRequest, httpRequestWrites } from "../../src/store/records/http_requests.ts";
import { toldCauses } from "../../src/store/records/notifiers.ts";
import { ADMIN_TOKEN, endOfRun, eventually, startService, type TestService } from "../data.ts";
import { has } from "../needs.ts";
import { denokv } from "../store/denokv.ts";
import { KV_TOKEN, RemoteKv } from "../store/kv_connect.ts";
import { temporaryFolder } from "../surroundings.ts";
import { startReceiver } from "./receiver.ts";

/** Returns how many runs an instance has performed. */
async function performedBy({ url }: TestService): Promise<number> {
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
  const answer = await fetch(`${url}/metrics`, { headers });
  const lines = (await answer.text()).match(/^hooklaunch_run_seconds_count.* (\d+)$/gm) ?? [];
  return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

Deno.test("an instance performs what it has accepted, and sends its requests", async (t) => {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await temporaryFolder());
  const kv = has("denokv")
    ? stack.use(await denokv(folder.path)).url
    : stack.use(new RemoteKv()).way().url;
  Deno.env.set(KV_TOKEN.name, KV_TOKEN.value);
  const settings = { kv, secretKey: "00".repeat(32) };
  const leader = stack.use(await startService({ settings }));
  const follower = stack.use(await startService({ settings }));
  const receiver = stack.use(startReceiver());
  for (const path of ["/once", "/waits"]) receiver.on(path, () => new Response("done"));
  await eventually(() => follower.service.parts.store.shared?.instances.obstacle === undefined, {
    what: "the follower serving",
  });

  /** Launches a request at the follower. Returns its run, and the request once it is stored. */
  const launch = async (path: string, action: Record<string, unknown> = {}) => {
    const url = `http://127.0.0.1:${receiver.port}${path}`;
    const sends = { type: "http_request", url, private_networks: true, ...action };
    const { id } = await leader.trigger({
      actions: [sends],
      response: { type: "text", text: "{run_id}" },
    });
    const answer = await fetch(`${follower.url}/api/v0/launch/${id}/`, {
      method: "POST",
      body: "{}",
    });
    const runId = await answer.text();
    assertEquals(answer.status, 200, runId);
    const run = await endOfRun(leader, runId);
    return { id: String(run.actions[0]?.created?.http_request_id), run };
  };
  const requestOf = (id: string) => getHttpRequest(leader.service.parts.store, id);
  const ended = (id: string) =>
    eventually(async () => {
      const request = await requestOf(id);
      return request?.ended_at === undefined ? undefined : request;
    }, { what: "the end of the request" });

  await t.step("the follower performs the run, and sends the request once", async () => {
    const before = [await performedBy(leader), await performedBy(follower)];
    const { id } = await launch("/once", { headers: { "x-run": "{run_id}" } });
    const { status, owner } = await ended(id);
    assertEquals([status, owner], ["complete", follower.service.parts.store.shared?.id]);
    assertEquals(receiver.at("/once").map(({ headers }) => headers.get("idempotency-key")), [id]);
    const [ofLeader = 0, ofFollower = 0] = before;
    await eventually(async () => await performedBy(follower) === ofFollower + 1);
    assertEquals(await performedBy(leader), ofLeader);
    const shown = await follower.api("GET", `http-requests/${id}/`);
    assertEquals([shown.status, shown.body.status, shown.body.owner], [200, "complete", undefined]);
  });

  await t.step(
    "an operator stops a request that waits at the follower: it is not sent again",
    async () => {
      const action = { retry: { attempts: 20, first: 1, factor: 1 } };
      const url = "/stopped";
      receiver.on(url, () => new Response("no", { status: 503 }));
      const { id } = await launch(url, action);
      await receiver.arrived(url, 1);
      const stopped = await follower.api("POST", `http-requests/${id}/stop/`);
      assertEquals([stopped.status, stopped.body.status], [202, "stopped"]);
      const { length } = receiver.at(url);
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      assertEquals([receiver.at(url).length, (await requestOf(id))?.status], [length, "stopped"]);
    },
  );

  await t.step("a change that another instance makes meanwhile is not overwritten", async () => {
    const answering = Promise.withResolvers<Response>();
    receiver.on("/changed", () => answering.promise);
    const { id } = await launch("/changed", {});
    await receiver.arrived("/changed", 1);
    const stopped = await leader.api("POST", `http-requests/${id}/stop/`);
    assertEquals(stopped.body.status, "stopped");
    answering.resolve(new Response("done"));
    const request = await eventually(async () => {
      const found = await requestOf(id);
      return found?.tried === 1 ? found : undefined;
    }, { what: "the outcome of the attempt" });
    assertEquals([request.status, request.answer?.status], ["stopped", 200]);
  });

  await t.step("a callback reaches a request of the follower", async () => {
    const { id } = await launch("/waits", {
      headers: { "x-callback": "{callback_url}" },
      wait: "callback",
    });
    await eventually(async () => (await requestOf(id))?.status === "waiting");
    const [{ headers } = { headers: new Headers() }] = receiver.at("/waits");
    const { pathname } = new URL(headers.get("x-callback") ?? "");
    const answer = await fetch(`${follower.url}${pathname}`, { method: "POST", body: "{}" });
    await answer.body?.cancel();
    assertEquals([answer.status, (await ended(id)).status], [200, "complete"]);
  });

  await t.step(
    "a notifier that was made just now is told of a run that fails at the follower",
    async () => {
      receiver.on("/told", () => new Response());
      const to = {
        type: "webhook",
        url: `http://127.0.0.1:${receiver.port}/told`,
        private_networks: true,
      };
      const made = await leader.api("PUT", "notifiers/ops/", { on: ["run_error"], to });
      assertEquals(made.status, 201, JSON.stringify(made.body));
      const { run } = await launch("/unsent", { headers: { "x-none": "{body.none}" } });
      assertEquals(run.status, "error");
      const [{ body } = { body: "" }] = await receiver.arrived("/told", 1);
      assertEquals(JSON.parse(body).data.causes[0].code, "run_error");
    },
  );

  await t.step(
    "a run that fails at the follower, and then completes at the leader, is told as recovered",
    async () => {
      receiver.on("/recovered", () => new Response());
      const at = `http://127.0.0.1:${receiver.port}`;
      const to = { type: "webhook", url: `${at}/recovered`, private_networks: true };
      const made = await leader.api("PUT", "notifiers/ends/", {
        on: ["run_error", "recovered"],
        to,
      });
      assertEquals(made.status, 201, JSON.stringify(made.body));
      const headers = { "x-value": "{body.value}" };
      const url = `${at}/once`;
      const { id } = await leader.trigger({
        actions: [{ type: "http_request", url, headers, private_networks: true }],
        response: { type: "text", text: "{run_id}" },
      });
      for (const [instance, body] of [[follower, {}], [leader, { value: "1" }]] as const) {
        const answer = await fetch(`${instance.url}/api/v0/launch/${id}/`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify(body),
        });
        await endOfRun(leader, await answer.text());
      }
      await eventually(async () => {
        const causes = await toldCauses(leader.service.parts.store, "ends");
        return causes.some(({ subject, ended_at }) =>
          subject.id === id && ended_at !== undefined
        ) || undefined;
      }, { what: "the end of what has failed" });
    },
  );

  await t.step("what the follower leaves, the leader goes on with", async () => {
    const url = "/left";
    let isLeft = false;
    let taken = 0;
    receiver.on(url, () => {
      if (isLeft) taken++;
      return new Response("", { status: isLeft ? 200 : 503 });
    });
    const { id } = await launch(url, { retry: { attempts: 20, first: 2, factor: 1 } });
    await eventually(async () => (await requestOf(id))?.next_at !== undefined);
    await follower.service.close(0);
    isLeft = true;
    const { status, owner } = await ended(id);
    assertEquals([status, taken], ["complete", 1]);
    assert(owner !== leader.service.parts.store.shared?.id);
  });

  await t.step(
    "the leader leaves the request of an instance that lives, also at its start",
    async () => {
      const { store, httpRequests } = leader.service.parts;
      const { http_request_id: id } = (await leader.api("GET", "runs/")).body.results
        .flatMap(({ actions }: { actions: { created?: { http_request_id: string } }[] }) =>
          actions.flatMap(({ created }) => created ?? [])
        )[0];
      const { ended_at: _, answer: _answer, ...open } = await ended(id);
      const other = "0190fe82-c984-7f66-8302-69874914e1c9";
      await store.committer.write([
        {
          key: keys.instance(other),
          value: { id: other, machine_id: other, beats: 0, time_ms: 0 },
        },
        ...httpRequestWrites({ ...open, id: other, status: "sending", owner: other }),
      ]);
      await httpRequests.takeOver();
      await new Promise((resolve) => setTimeout(resolve, 300));
      assertEquals((await requestOf(other))?.status, "sending");
      await store.committer.write([{ key: keys.instance(other) }]);
      await httpRequests.takeOver();
      // It has no plan.
      assertEquals((await ended(other)).status, "error");
    },
  );
});
