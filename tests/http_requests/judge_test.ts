/** Judging an answer to an HTTP request while the request of its run cannot be read. */
import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { hash } from "node:crypto";
import { polled } from "../../src/http_requests/transitions.ts";
import { Runner, type RunnerParts } from "../../src/http_requests/runner.ts";
import { UnavailableError } from "../../src/platform/errors.ts";
import { JobTimeoutError } from "../../src/platform/heavy_work/job.ts";
import { newId } from "../../src/platform/ids.ts";
import { systemNetwork } from "../../src/platform/network/connection.ts";
import { retryAfter_ms } from "../../src/platform/network/retry_after.ts";
import {
  createHttpRequestWrites,
  getHttpRequest,
  type HttpRequest,
  type HttpRequestPlan,
} from "../../src/store/records/http_requests.ts";
import { pendingOf, storePending } from "../runs/fixture.ts";
import { storeInMemory } from "../store/fixture.ts";
import { eventually, TestClock } from "../surroundings.ts";

const TOKEN = "0".repeat(64);
const CAME = { headers: {}, body: new TextEncoder().encode("{}") };
const PLAN: HttpRequestPlan = {
  method: "POST",
  url: "https://example.com/",
  headers: {},
  timeout_ms: 30_000,
  retry: { attempts: 1, first: 0, factor: 1 },
  private_networks: true,
  failed: "answer.body.state == 'failed'",
  wait: { for: "none" },
};

/** Sends requests; what they are judged by cannot be read at first, and the URLs of polls perhaps never. */
async function sender(urlFailure?: Error) {
  const store = await storeInMemory();
  const clock = new TestClock();
  const [run_id = ""] = await storePending(store, [pendingOf()]);
  let failures = 1;
  let sent = 0;
  const parts: RunnerParts = {
    store,
    clock,
    id: newId(clock.now()),
    network: systemNetwork,
    reveal: () => undefined,
    valuesOf: () => ({ condition }) => {
      if (urlFailure) return Promise.reject(urlFailure);
      if (condition === undefined) return Promise.resolve({ values: [{ json: "" }] });
      if (failures-- > 0) return Promise.reject(new UnavailableError("The bucket is away", 0));
      return Promise.resolve({ values: [], ...(condition === PLAN.failed && { skipped: "no" }) });
    },
    send() {
      sent++;
      return Promise.resolve({
        ...CAME,
        status: 200,
        isCut: false,
        duration_ms: 1,
        mayPass: false,
        wait_ms: undefined,
      });
    },
  };
  const runner = new Runner(parts);
  return {
    runner,
    sent: () => sent,
    async begin(wait: HttpRequestPlan["wait"]): Promise<string> {
      const id = newId(clock.now());
      const request = {
        id,
        run_id,
        trigger_id: pendingOf().run.trigger_id,
        project: "files",
        method: "POST",
        url: PLAN.url,
        wait: wait.for,
        status: "sending" as const,
        created_at: new Date(clock.now()).toISOString(),
        attempts: 0,
        tried: 0,
        callback_hash: hash("sha256", TOKEN),
      };
      await store.committer.write(createHttpRequestWrites(request, { ...PLAN, wait }));
      runner.begin(id);
      return id;
    },
    reaches: (id: string, ...statuses: string[]) =>
      eventually(async () => {
        const request = await getHttpRequest(store, id);
        return request && statuses.includes(request.status) ? request : undefined;
      }, { what: statuses.join(" or ") }),
    async [Symbol.asyncDispose]() {
      await runner.close(0);
      await store.close();
    },
  };
}

Deno.test("an answer is judged once that is possible, and is not sent for again", async () => {
  await using at = await sender();
  const { status, reason } = await at.reaches(await at.begin({ for: "none" }), "complete", "error");
  assertEquals([status, reason, at.sent()], ["complete", undefined, 1]);
});

Deno.test("a callback that cannot be judged now may come again", async () => {
  await using at = await sender();
  const id = await at.begin({ for: "callback", timeout_s: 3_600 });
  await at.reaches(id, "waiting");
  await assertRejects(() => at.runner.call(id, TOKEN, CAME), UnavailableError);
  assertEquals(await at.runner.call(id, TOKEN, CAME), "taken");
  assertEquals((await at.reaches(id, "complete", "error")).status, "complete");
});

Deno.test("a poll that cannot be judged now is repeated", async () => {
  let polls = 0;
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, () => {
    polls++;
    return Response.json({});
  });
  await using at = await sender();
  const url = `http://127.0.0.1:${server.addr.port}/`;
  const id = await at.begin({ for: "poll", url, until: "true", every_s: 0, timeout_s: 3_600 });
  assertEquals((await at.reaches(id, "complete", "error")).status, "complete");
  assertEquals(polls, 2);
});

Deno.test("a poll whose URL can never be made ends", async () => {
  await using at = await sender(new JobTimeoutError(2_000));
  const url = "https://example.com/{body.id}";
  const id = await at.begin({ for: "poll", url, until: "true", every_s: 0, timeout_s: 3_600 });
  const { status, reason = "" } = await at.reaches(id, "complete", "error");
  assertEquals(status, "error");
  assertMatch(reason, /^wait\/poll\/url: .* took longer than 2000 ms$/);
});

Deno.test("a poll that is answered with the last of all dates to ask again has a time for the next one", () => {
  const now_ms = Date.UTC(2026, 0, 1);
  const id = newId(now_ms);
  const request: HttpRequest = {
    id,
    run_id: id,
    trigger_id: id,
    project: "files",
    method: "POST",
    url: PLAN.url,
    wait: "poll",
    status: "waiting",
    created_at: new Date(now_ms).toISOString(),
    attempts: 1,
    tried: 1,
  };
  const wait_ms = retryAfter_ms("Sat, 13 Sep 275760 00:00:00 GMT", now_ms);
  const outcome = { ...CAME, status: 503, isCut: false, duration_ms: 1, mayPass: true, wait_ms };
  const wait = { for: "poll", url: PLAN.url, until: "true", every_s: 1, timeout_s: 60 } as const;
  // The answer is stored a moment after it was read.
  polled(request, wait, now_ms + 5, { outcome, verdict: false, failed: undefined });
  assertMatch(request.next_at ?? "", /^2057-/);
});

Deno.test("a request that is stopped while its answer cannot be judged is over", async () => {
  await using at = await sender(new UnavailableError("The bucket is away", 0));
  const id = await at.begin({ for: "none" });
  await eventually(() => at.sent() === 1, { what: "an attempt" });
  assertEquals(await at.runner.stop(id), true);
  await eventually(() => !at.runner.isSending, { what: "nothing under way" });
  assertEquals((await at.reaches(id, "stopped")).answer?.status, 200);
});
