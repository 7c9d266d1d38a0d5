/** The page about scale: what a launch costs, and the compose file. */
import { assert, assertEquals } from "@std/assert";
import { serialize } from "node:v8";
import { parse } from "yaml";
import type { Launch } from "../../src/runs/accept.ts";
import type { Store } from "../../src/store/store.ts";
import { launchOf, startDesk, untilIdle } from "../runs/fixture.ts";
import { standIn, storeOn } from "../store/fixture.ts";
import { blocksOf, documentText } from "./blocks.ts";

const PAGE = "src/docs/scale.md";
const BODY = new Uint8Array(1_024);
/** Share by which bytes may differ: ids and times have no fixed length. */
const TOLERANCE = 0.05;

/** What one commit stores. */
interface Cost {
  writes: number;
  bytes: number;
}

function bytesOf(value: unknown): number {
  return value instanceof Uint8Array ? value.length : serialize(value).length;
}

function keyBytes(key: Deno.KvKey): number {
  return key.reduce<number>((sum, part) => sum + String(part).length + 2, 0);
}

/** A store in memory that counts the writes of each commit. */
async function countingStore(costs: Cost[]): Promise<Store> {
  const kv = await Deno.openKv(":memory:");
  const atomic = () => {
    const operation = kv.atomic();
    const cost: Cost = { writes: 0, bytes: 0 };
    const counted: Deno.AtomicOperation = standIn(operation, {
      set(key: Deno.KvKey, value: unknown) {
        cost.writes++;
        cost.bytes += keyBytes(key) + bytesOf(value);
        operation.set(key, value);
        return counted;
      },
      delete(key: Deno.KvKey) {
        cost.writes++;
        cost.bytes += keyBytes(key);
        operation.delete(key);
        return counted;
      },
      commit() {
        costs.push(cost);
        return operation.commit();
      },
    });
    return counted;
  };
  return storeOn(standIn(kv, { atomic }));
}

/** The costs of the acceptance of a launch and of its run's end. */
async function costsOf(parts: Partial<Launch>): Promise<[Cost, Cost]> {
  const costs: Cost[] = [];
  await using store = await countingStore(costs);
  const created = { execution_step: "train", execution_id: crypto.randomUUID() };
  const perform = () => Promise.resolve([{ action: "run_execution", created }]);
  await using desk = await startDesk(store, { perform });
  const actions = [{ type: "run_execution", step: "train", commit: "HEAD", parameters: {} }];
  await desk.acceptor.accept(launchOf({ body: BODY, actions, ...parts }));
  await untilIdle(desk);
  const [accepted, ended] = costs;
  assert(accepted && ended);
  return [accepted, ended];
}

Deno.test("docs: the page about scale says what a launch costs", async () => {
  const quotas = [{ period: 60, quota: 100 }];
  const [[plain, end], [limited], [known]] = await Promise.all([
    costsOf({}),
    costsOf({ quotas }),
    costsOf({ quotas, delivery: { id: crypto.randomUUID(), window_s: 60 } }),
  ]);
  const printed = [...documentText(PAGE).matchAll(/^\| (.+?) +\| +(\d+) \| +([\d,]+) \|$/gm)];
  const expected = new Map([
    ["the acceptance of a launch", plain],
    ["with a quota", limited],
    ["with a quota and deduplication", known],
    ["the end of its run", end],
  ]);
  assertEquals(printed.map(([, what]) => what), [...expected.keys()]);
  for (const [, what = "", writes, bytes = ""] of printed) {
    const cost = expected.get(what);
    assert(cost);
    assertEquals(Number(writes), cost.writes, what);
    const printedBytes = Number(bytes.replace(",", ""));
    const difference = Math.abs(printedBytes - cost.bytes) / cost.bytes;
    assert(difference <= TOLERANCE, `${what}: ${bytes} bytes are printed, counted ${cost.bytes}`);
  }
});

Deno.test("docs: the compose file names flags that there are, and volumes that it makes", () => {
  const block = blocksOf(PAGE).find(({ file }) => file === "compose.yml");
  assert(block);
  const { services, volumes } = parse(block.text, { merge: true });
  assertEquals(Object.keys(services), ["denokv", "one", "two", "nginx"]);
  const settings = documentText("src/docs/settings.md");
  for (
    const [name, { environment, volumes: mounts }] of Object.entries<{
      environment: Record<string, string>;
      volumes: string[];
    }>({ one: services.one, two: services.two })
  ) {
    assertEquals(environment.HOOKLAUNCH_INSTANCE_URL, `http://${name}:8000`);
    assert(mounts.includes(`${name}:/data`) && name in volumes);
    for (const variable of Object.keys(environment)) {
      const flag = `--${variable.replace("HOOKLAUNCH_", "").toLowerCase().replaceAll("_", "-")}`;
      assert(settings.includes(`\`${variable}\``) || settings.includes(`\`${flag}\``), variable);
    }
  }
});
