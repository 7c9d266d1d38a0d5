/** Notices of ends of work. */
import { assertEquals } from "@std/assert";
import { newId } from "../../../src/platform/ids.ts";
import type { TellEnd } from "../../../src/store/notice.ts";
import {
  executionEndWrites,
  httpRequestEndWrites,
  noticeWrite,
  oldestNotices,
  pipelineEndWrites,
  runEndWrites,
} from "../../../src/store/records/notices.ts";
import { executionOf } from "../execution.ts";
import { storeInMemory } from "../fixture.ts";

Deno.test("notices come in the order of their commits, whatever the clocks of their instances say", async () => {
  await using store = await storeInMemory();
  const noticeAt = (time_ms: number, status: "complete" | "error") => ({
    ...{ id: newId(time_ms), kind: "run", of: "1", run_id: "1", trigger_id: "1" } as const,
    ...{ project: "digits", status },
  });
  const failed = noticeAt(2_000, "error");
  const completed = noticeAt(1_000, "complete");
  for (const notice of [failed, completed]) await store.committer.write([noticeWrite(notice)]);
  assertEquals((await oldestNotices(store, 10)).notices, [failed, completed]);
});

const OWNER = { id: "1", run_id: "2", trigger_id: "3", project: "digits", created_at: "" };
const RUN = { ...OWNER, id: "2", remote_ip: "192.0.2.7", payload: { size: 0, sha256: "" } };
const REQUEST = { ...OWNER, method: "POST", url: "https://ci.example.com/", wait: "none" as const };
const REASON = "It went wrong";

/** Has each kind of work end in one of the ways, and returns what notifiers are told. */
function told(status: "complete" | "error" | "stopped"): unknown[] {
  const notices: unknown[] = [];
  const tellEnd: TellEnd = (notice) => {
    notices.push(notice);
    return [];
  };
  const end = { status, ...(status !== "complete" && { reason: REASON }) };
  const actions = status === "complete" ? [] : [{ action: "run_execution", error: REASON }];
  const runStatus = status === "complete" ? "completed" as const : "error" as const;
  runEndWrites({ tellEnd }, { ...RUN, status: runStatus, actions });
  executionEndWrites({ tellEnd }, executionOf({ ...OWNER, ...end }));
  const pipeline = { ...OWNER, commit: "c0ffee", name: "nightly", title: "nightly", nodes: [] };
  pipelineEndWrites({ tellEnd }, { ...pipeline, ...end });
  httpRequestEndWrites({ tellEnd }, { ...REQUEST, attempts: 1, tried: 1, ...end });
  return notices;
}

for (const status of ["complete", "error", "stopped"] as const) {
  Deno.test(`notifiers are told of all work that ends as ${status}`, () => {
    const of = { run_id: "2", trigger_id: "3", project: "digits" };
    const end = { status, ...(status !== "complete" && { reason: REASON }) };
    assertEquals(told(status), [
      { ...of, ...end, kind: "run", of: "2", status: status === "complete" ? status : "error" },
      { ...of, ...end, kind: "execution", of: "1", part: "train" },
      { ...of, ...end, kind: "pipeline", of: "1", part: "nightly" },
      { ...of, ...end, kind: "http_request", of: "1" },
    ]);
  });
}

Deno.test("notifiers are told of no work that goes on, and of no run in whose place another one is performed", () => {
  const tellEnd: TellEnd = () => [{ key: ["told"], value: 1 }];
  const pipeline = { ...OWNER, commit: "c0ffee", name: "nightly", title: "nightly", nodes: [] };
  assertEquals([
    runEndWrites({ tellEnd }, { ...RUN, status: "completed", actions: [], superseded_by: "4" }),
    executionEndWrites({ tellEnd }, executionOf({ status: "started" })),
    pipelineEndWrites({ tellEnd }, { ...pipeline, status: "stopping" }),
  ], [[], [], []]);
});
