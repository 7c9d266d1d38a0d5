/** The search of deliveries: every delivery is found once, newest first, by whatever filter, however it is cut. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { newId } from "../../../src/platform/ids.ts";
import { listOldOfTriggers } from "../../../src/store/read/lists.ts";
import {
  type DeliveryFilter,
  type FoundDelivery,
  searchDeliveries,
  type SearchOptions,
} from "../../../src/store/records/deliveries.ts";
import { acceptWrites, endWrites, newPending, type Run } from "../../../src/store/records/runs.ts";
import { removeRunWrites } from "../../../src/store/records/runs.ts";
import {
  entryWrites,
  removeEntryWrites,
  type TriggerLogEntry,
} from "../../../src/store/records/trigger_log_entries.ts";
import type { Store } from "../../../src/store/store.ts";
import { pendingOf } from "../../runs/fixture.ts";
import { contents, storeInMemory } from "../fixture.ts";

const START_MS = Date.UTC(2026, 0, 1);
const TRIGGERS = ["a", "b", "c"];

/** A delivery as a test makes it. */
interface Made {
  kind:
    | "ended"
    | "pending"
    | "refused"
    | "filtered"
    | "repeat"
    | "omitted"
    | "action_failed"
    | "question";
  trigger: string;
  delivery_id?: string | undefined;
  body: string;
  time_ms: number;
}

const made = fc.record({
  kind: fc.constantFrom<Made["kind"]>(
    "ended",
    "ended",
    "pending",
    "refused",
    "filtered",
    "repeat",
    "omitted",
    "action_failed",
    "question",
  ),
  trigger: fc.constantFrom(...TRIGGERS),
  delivery_id: fc.option(fc.constantFrom("evt_1", "evt_2"), { nil: undefined }),
  body: fc.constantFrom("", "hello apple", "a pear", `${"x".repeat(130_000)} apple`),
});

async function store_(store: Store, each: Made): Promise<string> {
  const id = newId(each.time_ms);
  const body = new TextEncoder().encode(each.body);
  const delivery = each.delivery_id === undefined ? {} : { delivery_id: each.delivery_id };
  if (each.kind === "ended" || each.kind === "pending") {
    const { run: empty, ...parts } = pendingOf({ time_ms: each.time_ms });
    const payload = { size: body.length, sha256: "" };
    const run: Run = { ...empty, id, trigger_id: each.trigger, ...delivery, payload };
    const pending = newPending({ ...parts, run }, body);
    const chunks = body.length > 120 * 1024
      ? Array.from({ length: Math.ceil(body.length / 61_440) }, (_, index) => ({
        key: ["payload", id, index],
        value: body.slice(index * 61_440, (index + 1) * 61_440),
      }))
      : [];
    await store.committer.write([...chunks, ...acceptWrites(pending, body)]);
    if (each.kind === "ended") {
      await store.committer.write(endWrites({ ...run, status: "completed" }, pending.body));
    }
    return id;
  }
  await store.committer.write(entryWrites(each.trigger, entryOf(id, each, delivery)));
  return id;
}

function entryOf(id: string, { kind, time_ms }: Made, delivery: object): TriggerLogEntry {
  const time = new Date(time_ms).toISOString();
  const request = { method: "POST", remote_ip: "192.0.2.7", headers: {} };
  const refused = { id, time, kind: "refused" as const, condition: "hmac", reason: "no", request };
  switch (kind) {
    case "repeat":
      return { id, time, kind, run_id: "r", request, ...delivery };
    case "omitted":
      return { id, time, kind, count: 3, deliveries: { refused: 3 } };
    case "action_failed":
      return { id, time, kind, run_id: "r", action: "a", action_index: 0, error: "e" };
    case "question":
      return { ...refused, is_question: true, ...delivery };
    case "filtered":
      return { ...refused, outcome: "filtered", condition: "payload_filter", ...delivery };
    default:
      return { ...refused, ...delivery };
  }
}

function idOf(found: FoundDelivery): string {
  return "run" in found ? found.run.id : found.entry.id;
}

/** Reads all pages, and answers the ids of the deliveries and of the counts. */
async function search(
  store: Store,
  options: Omit<SearchOptions, "before">,
): Promise<{ ids: string[]; omitted: string[]; pages: number }> {
  const ids: string[] = [];
  const omitted: string[] = [];
  let before: string | undefined;
  let pages = 0;
  do {
    const page = await searchDeliveries(store, { ...options, before });
    assert(page.records.length <= options.limit);
    ids.push(...page.records.map(idOf));
    omitted.push(...page.omitted.map(({ id }) => id));
    before = page.next;
    pages++;
  } while (before !== undefined);
  return { ids, omitted, pages };
}

function outcomeOf({ kind }: Made): string | undefined {
  if (kind === "ended" || kind === "pending") return "accepted";
  return kind === "refused" || kind === "filtered" || kind === "repeat" ? kind : undefined;
}

function isWanted(each: Made, filter: DeliveryFilter): boolean {
  const outcome = outcomeOf(each);
  const condition = { refused: "hmac", filtered: "payload_filter" }[String(outcome)];
  return outcome !== undefined &&
    (filter.trigger_id === undefined || filter.trigger_id === each.trigger) &&
    (filter.outcome === undefined || filter.outcome === outcome) &&
    (filter.condition === undefined || filter.condition === condition) &&
    (filter.delivery_id === undefined || filter.delivery_id === each.delivery_id) &&
    (filter.from_ms === undefined || each.time_ms >= filter.from_ms) &&
    (filter.to_ms === undefined || each.time_ms < filter.to_ms) &&
    (filter.text === undefined || each.delivery_id?.includes(filter.text) === true ||
      (outcome === "accepted" && each.body.includes(filter.text)));
}

Deno.test("every delivery that a filter wants is found once, newest first, whatever is cut short", async () => {
  const maybe = <T>(arbitrary: fc.Arbitrary<T>) =>
    fc.option(arbitrary, { nil: undefined, freq: 1 });
  const filters: fc.Arbitrary<DeliveryFilter> = fc.record({
    trigger_id: maybe(fc.constantFrom(...TRIGGERS)),
    outcome: maybe(fc.constantFrom("accepted", "refused", "filtered", "repeat", "unavailable")),
    condition: maybe(fc.constantFrom("hmac", "payload_filter")),
    delivery_id: maybe(fc.constantFrom("evt_1", "evt_3")),
    text: maybe(fc.constantFrom("apple", "evt", "é")),
    from_ms: maybe(fc.integer({ min: 0, max: 40 }).map((ms) => START_MS + ms)),
    to_ms: maybe(fc.integer({ min: 0, max: 40 }).map((ms) => START_MS + ms)),
  });
  const searches = fc.record({
    filter: filters,
    limit: fc.constantFrom(1, 2, 7, 50),
    search_ms: fc.constantFrom(0, 10_000),
    batchSize: fc.constantFrom(1, 3, 64),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(made, { maxLength: 30 }),
      fc.array(searches, { minLength: 1, maxLength: 8 }),
      async (deliveries, searches) => {
        await using store = await storeInMemory();
        const stored: (Made & { id: string })[] = [];
        for (const [index, each] of deliveries.entries()) {
          const at = { ...each, time_ms: START_MS + index };
          stored.unshift({ ...at, id: await store_(store, at) });
        }
        for (const options of searches) {
          const { filter } = options;
          const pending = stored.filter(({ kind, trigger }) =>
            kind === "pending" && trigger === filter.trigger_id
          ).map(({ id }) => id);
          const { ids } = await search(store, { ...options, pending });
          const wanted = stored.filter((each) => isWanted(each, filter)).map(({ id }) => id);
          assertEquals(ids, wanted);
        }
      },
    ),
    { numRuns: 100 },
  );
});

Deno.test("a search that is cut short says how far it has come", async () => {
  await using store = await storeInMemory();
  for (let index = 0; index < 300; index++) {
    const kind = index === 0 ? "filtered" : "refused";
    await store_(store, { kind, trigger: "a", body: "", time_ms: START_MS + index });
  }
  const filter = { outcome: "filtered" as const };
  const first = await searchDeliveries(store, { filter, limit: 10, search_ms: 0 });
  assertEquals([first.records, first.scannedTo_ms], [[], START_MS + 300 - 64]);
  const whole = await searchDeliveries(store, { filter, limit: 10, search_ms: 60_000 });
  assertEquals([whole.records.length, whole.next, whole.scannedTo_ms], [1, undefined, undefined]);
});

Deno.test("counts of what was left out come with the page of their time, once", async () => {
  await using store = await storeInMemory();
  const kinds = ["refused", "omitted", "refused", "refused", "omitted", "refused"] as const;
  const ids: string[] = [];
  for (const [index, kind] of kinds.entries()) {
    ids.push(await store_(store, { kind, trigger: "a", body: "", time_ms: START_MS + index }));
  }
  const counts = [ids[4], ids[1]];
  for (const limit of [1, 2, 3, 10]) {
    const { omitted } = await search(store, { filter: {}, limit });
    assertEquals(omitted, counts, `pages of ${limit}`);
  }
  const of = async (filter: DeliveryFilter) =>
    (await search(store, { filter, limit: 10 })).omitted.length;
  assertEquals(await of({ outcome: "refused" }), 2);
  assertEquals(await of({ outcome: "filtered" }), 0);
  assertEquals(await of({ text: "x" }), 0);
});

Deno.test("a run that ends between the reads of a search is found once", async () => {
  await using store = await storeInMemory();
  const { run, ...parts } = pendingOf({ time_ms: START_MS });
  await store.committer.write(acceptWrites({ ...parts, run }, new Uint8Array()));
  const list = store.kv.list.bind(store.kv);
  let ends: Promise<void> | undefined;
  store.kv.list = (<T>(selector: Deno.KvListSelector, options?: Deno.KvListOptions) => {
    const isOfEnded = "prefix" in selector && selector.prefix[0] === "run";
    if (!isOfEnded || ends) return list<T>(selector, options);
    ends = store.committer.write(endWrites({ ...run, status: "completed" }));
    const after = ends;
    return (async function* () {
      await after;
      yield* list<T>(selector, options);
      // Only the iteration is used, which an iterator of Deno KV adds a cursor to.
    })() as unknown as Deno.KvListIterator<T>;
  }) as typeof store.kv.list;
  const { records } = await searchDeliveries(store, { filter: {}, limit: 10 });
  assertEquals(records.map((each) => "run" in each && each.run.status), ["completed"]);
});

Deno.test("what is removed leaves nothing behind", async () => {
  await using store = await storeInMemory();
  for (const kind of ["refused", "repeat", "omitted", "filtered"] as const) {
    for (const trigger of ["a", "b"]) {
      await store_(store, { kind, trigger, body: "", delivery_id: "evt_1", time_ms: START_MS });
    }
  }
  const { run } = pendingOf({ time_ms: START_MS });
  const ended: Run = { ...run, delivery_id: "evt_1", status: "completed" };
  await store.committer.write(endWrites(ended));
  const remove = async (trigger: string) => {
    const cutoffOf = (id: string) => Promise.resolve(id === trigger ? START_MS + 1 : START_MS);
    const { old } = await listOldOfTriggers(store, "trigger_log", cutoffOf, { limit: 100 });
    return { count: old.length, writes: old.flatMap(removeEntryWrites) };
  };
  await store.committer.write((await remove("a")).writes);
  assertEquals((await search(store, { filter: {}, limit: 10 })).ids.length, 4);
  const { count, writes } = await remove("b");
  assertEquals(count, 4);
  await store.committer.write([
    ...writes,
    ...removeRunWrites(ended),
    { key: ["trigger_run", run.trigger_id, run.id] },
  ]);
  assertEquals([...(await contents(store)).keys()], []);
});
