/**
 * Steps of the local engine on one, two and three machines that share a denokv server and an artifact store. All of
 * them are this machine, so the steps wait rather than compute.
 *
 * @module
 */
import { serve, type Served } from "../faults/served.ts";
import { type Workshop, workshop } from "../faults/workshop.ts";
import { has } from "../needs.ts";
import { denokv } from "../store/denokv.ts";
import { KV_TOKEN } from "../store/kv_connect.ts";
import type { Bench } from "./bench.ts";
import { pause } from "./measuring.ts";
import { atLeast } from "./table.ts";

const MACHINES = 3;
/** The most steps of a machine at once. */
const PLACES = 2;
/** After so long a machine that has joined begins what waits at the leader. */
const JOINED_MS = 4_000;
const POLL_MS = 200;
const TRIGGER = "01900000-0000-7000-8000-000000000001";

/** Measures how many steps of the local engine begin and end a second at several machines with a common artifact store. */
export async function measureSteps(bench: Bench): Promise<void> {
  const actions = [{ type: "run_execution", step: "long" }];
  if (!has("denokv")) throw new Error("The benchmark of steps needs denokv");
  await using shop = await workshop([{ id: TRIGGER, name: "steps", actions }]);
  await using server = await denokv(shop.folder);
  await Deno.mkdir(`${shop.folder}/store`);
  const serving: Served[] = [];
  let one: number | undefined;
  for (let count = 1; count <= MACHINES; count++) {
    const flags = ["--kv", server.url, "--storage", `${shop.folder}/store`];
    const data = `${shop.folder}/data-${count}`;
    serving.push(
      await serve(shop.folder, {
        data,
        flags: [...flags, "--max-executions", String(PLACES)],
        env: {
          [KV_TOKEN.name]: KV_TOKEN.value,
          HOOKLAUNCH_SECRET_KEY: "00".repeat(32),
        },
      }),
    );
    // The first step brings what is loaded once. An instance takes part once clocks are compared.
    await steps(shop, serving, 1);
    await pause(JOINED_MS);
    const per_second = await steps(shop, serving, bench.isQuick ? 20 : 60);
    one ??= per_second;
    bench.add(atLeast(count === 1 ? 1 : 0.8 * count, {
      what: `steps of 1 s at ${count} of ${MACHINES} machines, ${PLACES} places each`,
      value: per_second,
      unit: "/s",
      floor: one,
      floor_what: "one machine",
      detail: "from the first launch until all have ended",
    }));
  }
  for (const each of serving) each.signal("SIGKILL");
  await Promise.all(serving.map((each) => each.end()));
}

/** Launches steps, and returns how many have ended a second when all have. */
async function steps(shop: Workshop, [first]: readonly Served[], count: number): Promise<number> {
  const before = (await shop.works()).size;
  const began_ms = performance.now();
  const url = `${first?.url}/api/v0/launch/${TRIGGER}/`;
  await Promise.all(Array.from({ length: count }, async () => {
    await (await fetch(url, { method: "POST", body: "x" })).body?.cancel();
  }));
  for (;;) {
    const works = [...(await shop.works()).values()];
    if (works.filter(({ began_ms, ended_ms }) => ended_ms > began_ms).length === before + count) {
      break;
    }
    await pause(POLL_MS);
  }
  return count / ((performance.now() - began_ms) / 1_000);
}
