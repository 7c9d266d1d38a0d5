/** Notices of ends of work. */
import { assertEquals } from "@std/assert";
import { newId } from "../../../src/platform/ids.ts";
import { noticeWrite, oldestNotices } from "../../../src/store/records/notices.ts";
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
