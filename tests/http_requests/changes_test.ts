/** Changes of HTTP requests that several instances may change. */
import { assertEquals } from "@std/assert";
import { Changes } from "../../src/http_requests/changes.ts";
import { newId } from "../../src/platform/ids.ts";
import {
  getHttpRequest,
  type HttpRequest,
  httpRequestWrites,
} from "../../src/store/records/http_requests.ts";
import { sharedStore, watchedKv } from "../store/fixture.ts";
import { TestClock } from "../surroundings.ts";

Deno.test("a change of an instance's own request is decided again where another instance was faster", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = new TestClock();
  await using store = await sharedStore(kv, clock);
  const id = newId(clock.now());
  const ends: string[] = [];
  const leading = new Changes({ store, clock }, () => ends.push("leader"));
  let isFirst = true;
  const late = watchedKv(kv, async (commit, store) => {
    if (isFirst && commit.keys.some(([kind, of]) => kind === "http_request" && of === id)) {
      isFirst = false;
      await leading.makeOpen(id, (each) => {
        each.status = "stopped";
        return undefined;
      });
    }
    return await store();
  });
  await using other = await sharedStore(late, clock, { leads: false });
  const request: HttpRequest = {
    id,
    run_id: newId(clock.now()),
    trigger_id: newId(clock.now()),
    project: "files",
    method: "POST",
    url: "https://example.com/",
    wait: "none",
    status: "sending",
    owner: other.shared?.id ?? "",
    created_at: new Date(clock.now()).toISOString(),
    attempts: 1,
    tried: 0,
  };
  await store.committer.write(httpRequestWrites(request));
  const following = new Changes({ store: other, clock }, () => ends.push("follower"));
  const isMade = await following.makeOpen(id, (each) => {
    each.status = "complete";
    return undefined;
  });
  const stored = await getHttpRequest(store, id);
  assertEquals([isMade, stored?.status, ends], [false, "stopped", ["leader"]]);
  // What does not end it is stored beside what another instance has stored.
  await following.make(id, (each) => {
    each.tried++;
    return undefined;
  });
  const both = await getHttpRequest(store, id);
  assertEquals([both?.status, both?.tried, ends.length], ["stopped", 1, 1]);
});
