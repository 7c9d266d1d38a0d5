/** Requests between instances that reach each other by their database alone. */
import { assertEquals } from "@std/assert";
import { Relay } from "../../src/hosted/relay.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { secretBox } from "../../src/triggers/secrets.ts";
import { standIn } from "../store/fixture.ts";
import { eventually } from "../surroundings.ts";

Deno.test("an answer that a leader stores before it leaves arrives, also where it is looked for at that moment", async () => {
  using kv = await Deno.openKv(":memory:");
  const secrets = secretBox([new Uint8Array(32)]);
  const leading = { isLeader: true, all: [{ id: "leader" }, { id: "follower" }] };
  const following = { isLeader: false, all: [...leading.all] };
  const leader = new Relay({
    store: Object({ kv, shared: { id: "leader", instances: leading } }),
    clock: systemClock,
    secrets,
  });
  const slow = standIn(kv, {
    async get(key: Deno.KvKey) {
      const found = await kv.get(key);
      if (key[0] !== "relay_answer" || found.value !== null) return found;
      // The answer comes, and the leader has left, before this one learns that there was none.
      await eventually(async () => (await kv.get(key)).value ?? undefined);
      following.all = [{ id: "follower" }];
      return found;
    },
  });
  const follower = new Relay({
    store: Object({ kv: slow, shared: { id: "follower", instances: following } }),
    clock: systemClock,
    secrets,
  });
  let made = 0;
  leader.serve(() => {
    made++;
    return Promise.resolve(new Response("made", { status: 201 }));
  });
  try {
    const answer = await follower.send(`${leader.address}/api/v0/tokens/`, { method: "POST" });
    assertEquals([answer.status, await answer.text(), made], [201, "made", 1]);
  } finally {
    await leader.close();
  }
});
