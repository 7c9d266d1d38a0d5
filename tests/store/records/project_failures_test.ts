/** The failures of projects: what is told of them is how the last attempt ended, whoever leads. */
import { assertEquals } from "@std/assert";
import { systemClock } from "../../../src/platform/clock.ts";
import { lead } from "../../../src/store/kv_store.ts";
import { ProjectFailures } from "../../../src/store/records/project_failures.ts";
import { putProject } from "../../../src/store/records/projects.ts";
import { collectLog } from "../../log_records.ts";
import { sharedStore, standIn } from "../fixture.ts";

Deno.test("a failure that one leader has stored ends with the success of the next", async () => {
  await using logged = await collectLog("warning");
  using open = await Deno.openKv(":memory:");
  // The test closes it, and not the stores.
  const kv = standIn(open, { close() {}, [Symbol.dispose]() {} });
  await using leader = await sharedStore(kv, systemClock);
  await using other = await sharedStore(kv, systemClock, { leads: false });
  const engine = { type: "local" };
  await putProject(leader, { name: "a", directory: "/a", config_file: "valohai.yaml", engine });
  const [first, next] = [leader, other].map((store) => new ProjectFailures(store, systemClock));
  // Each machine fetches what it needs.
  next?.note("a", "fetch", new Error("no route"));
  await next?.settled();
  next?.note("a", "fetch");
  await next?.settled();
  first?.note("a", "fetch", new Error("no such host"));
  assertEquals((await first?.list())?.map(({ detail }) => detail), ["no such host"]);
  await leader.close();
  await lead(other, "memory");
  next?.note("a", "fetch");
  assertEquals(await next?.list(), []);
  assertEquals(logged.lines(), []);
});
