/** Payloads at the sizes where they are stored in another way: what comes back is what was accepted. */
import { assertEquals, assertLessOrEqual, assertRejects } from "@std/assert";
import { newId } from "../../../src/platform/ids.ts";
import { keys } from "../../../src/store/keys.ts";
import {
  abandonedUploads,
  CHUNK_BYTES,
  chunkCount,
  CorruptPayloadError,
  needsUpload,
  payloadWrites,
  readPayload,
  removePayloadWrites,
  removeUpload,
  uploadPayload,
} from "../../../src/store/records/payloads.ts";
import { acceptWrites, endWrites, newPending } from "../../../src/store/records/runs.ts";
import type { Store } from "../../../src/store/store.ts";
import { pendingOf } from "../../runs/fixture.ts";
import { contents, openTestStore, standIn, storedUnder, storeInMemory } from "../fixture.ts";

const NOW_MS = Date.UTC(2026, 0, 1);

/** Bytes of which no two chunks are the same, at an offset into a larger buffer. */
function bytesOf(size: number): Uint8Array {
  const buffer = new Uint8Array(size + 20);
  for (let at = 0; at < buffer.length; at++) buffer[at] = (at * 31 + (at >> 11)) & 0xff;
  return buffer.subarray(10, 10 + size);
}

/** Stores a payload as an acceptance does. */
async function storePayload(store: Store, runId: string, body: Uint8Array): Promise<void> {
  if (needsUpload(body.length)) await uploadPayload(store, runId, body);
  await store.committer.write(payloadWrites(runId, body));
}

async function readWhole(store: Store, runId: string, size: number): Promise<Uint8Array> {
  return new Uint8Array(
    await new Response(ReadableStream.from(readPayload(store, runId, size))).arrayBuffer(),
  );
}

function isEqual(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, at) => byte === b[at]);
}

const sizes: { size: number; chunks: number }[] = [
  { size: 0, chunks: 0 },
  { size: 1, chunks: 1 },
  { size: CHUNK_BYTES - 1, chunks: 1 },
  { size: CHUNK_BYTES, chunks: 1 },
  { size: CHUNK_BYTES + 1, chunks: 2 },
  { size: 7 * CHUNK_BYTES, chunks: 7 },
  { size: 8 * CHUNK_BYTES + 1, chunks: 9 },
  { size: 16 * 1024 * 1024, chunks: 274 },
];

for (const { size, chunks } of sizes) {
  Deno.test(`a payload of ${size} bytes comes back as it was, and can be removed`, async () => {
    await using open = await openTestStore();
    const runId = newId(NOW_MS);
    const body = bytesOf(size);
    await storePayload(open.store, runId, body);
    const store = await open.reopen();
    const read = await readWhole(store, runId, size);
    assertEquals(read.length, size);
    assertEquals(isEqual(read, body), true, "the bytes are the same");
    assertEquals((await storedUnder(store, "payload")).length, chunks);
    assertEquals(chunkCount(size), chunks);
    assertEquals(await storedUnder(store, "upload"), []);

    await store.committer.writeInParts(removePayloadWrites(runId, size));
    assertEquals(await storedUnder(store, "payload"), []);
  });
}

Deno.test("the bytes of one run are not those of another", async () => {
  await using store = await storeInMemory();
  const [a, b] = [newId(NOW_MS), newId(NOW_MS)];
  await Promise.all([
    storePayload(store, a, bytesOf(CHUNK_BYTES + 5)),
    storePayload(store, b, new Uint8Array(CHUNK_BYTES + 5)),
  ]);
  assertEquals(isEqual(await readWhole(store, a, CHUNK_BYTES + 5), bytesOf(CHUNK_BYTES + 5)), true);
  await store.committer.write(removePayloadWrites(a, CHUNK_BYTES + 5));
  await assertRejects(() => readWhole(store, a, CHUNK_BYTES + 5), CorruptPayloadError);
  assertEquals((await readWhole(store, b, CHUNK_BYTES + 5)).length, CHUNK_BYTES + 5);
});

const damages: { name: string; size: number; index: number; value?: Uint8Array }[] = [
  { name: "the only chunk is missing", size: 10, index: 0 },
  { name: "the first chunk is missing", size: 2 * CHUNK_BYTES, index: 0 },
  { name: "the last chunk is missing", size: CHUNK_BYTES + 1, index: 1 },
  { name: "the only chunk is short", size: 10, index: 0, value: new Uint8Array(9) },
  { name: "the last chunk is long", size: CHUNK_BYTES + 1, index: 1, value: new Uint8Array(2) },
  {
    name: "a chunk in the middle is short",
    size: 3 * CHUNK_BYTES,
    index: 1,
    value: new Uint8Array(CHUNK_BYTES - 1),
  },
];

for (const { name, size, index, value } of damages) {
  Deno.test(`a damaged payload is an error and not other bytes: ${name}`, async () => {
    await using store = await storeInMemory();
    const runId = newId(NOW_MS);
    await storePayload(store, runId, bytesOf(size));
    await store.committer.write([{ key: keys.payload(runId, index), value }]);
    await assertRejects(
      () => readWhole(store, runId, size),
      CorruptPayloadError,
      `Cannot read the payload of run ${runId}: chunk ${index} should have`,
    );
  });
}

Deno.test("an upload that was never accepted is found when it is old enough, and removed whole", async () => {
  await using store = await storeInMemory();
  const body = bytesOf(20 * CHUNK_BYTES);
  const [old, accepted, fresh] = [newId(NOW_MS - 2), newId(NOW_MS - 1), newId(NOW_MS)];
  for (const runId of [old, accepted, fresh]) await uploadPayload(store, runId, body);
  await store.committer.write(payloadWrites(accepted, body));

  assertEquals(await abandonedUploads(store, NOW_MS - 2), []);
  assertEquals(await abandonedUploads(store, NOW_MS), [old]);
  assertEquals(await abandonedUploads(store, NOW_MS + 1), [old, fresh]);

  await removeUpload(store, old);
  assertEquals(await abandonedUploads(store, NOW_MS + 1), [fresh]);
  assertEquals(new Set(await storedUnder(store, "payload")), new Set([accepted, fresh]));
  assertEquals((await storedUnder(store, "payload")).length, 40);
});

Deno.test("an upload that was cut off in the middle is found and removed", async () => {
  let commits = 0;
  await using store = await storeInMemory((_commit, store) =>
    ++commits === 3 ? Promise.reject(new TypeError("disk is full")) : store()
  );
  const runId = newId(NOW_MS);
  await assertRejects(() => uploadPayload(store, runId, bytesOf(30 * CHUNK_BYTES)));
  assertEquals((await storedUnder(store, "payload")).length, 22);
  assertEquals(await abandonedUploads(store, NOW_MS + 1), [runId]);
  await removeUpload(store, runId);
  assertEquals(await contents(store), new Map());
});

Deno.test("an upload of which any one commit failed is found and removed", async () => {
  for (let failing = 1; failing <= 4; failing++) {
    let commits = 0;
    await using store = await storeInMemory((_commit, store) =>
      ++commits === failing ? Promise.reject(new TypeError("disk is full")) : store()
    );
    const runId = newId(NOW_MS);
    await assertRejects(() => uploadPayload(store, runId, bytesOf(30 * CHUNK_BYTES)));
    assertEquals(await abandonedUploads(store, NOW_MS + 1), [runId], `commit ${failing}`);
    await removeUpload(store, runId);
    assertEquals(await contents(store), new Map());
  }
});

Deno.test("an upload of which a part could not be removed is found again", async () => {
  let left = Infinity;
  await using store = await storeInMemory((_commit, store) =>
    left-- > 0 ? store() : Promise.reject(new TypeError("disk is full"))
  );
  const id = newId(NOW_MS);
  // So many chunks are removed in two commits.
  await uploadPayload(store, id, bytesOf(120 * CHUNK_BYTES));
  left = 1;
  await assertRejects(() => removeUpload(store, id));
  left = Infinity;
  assertEquals(await abandonedUploads(store, NOW_MS + 1), [id]);
  await removeUpload(store, id);
  assertEquals(await contents(store), new Map());
});

Deno.test("what is removed of a failed upload is not joined by a part that is stored later", async () => {
  let commits = 0;
  await using store = await storeInMemory(async (_commit, store) => {
    if (++commits === 2) throw new TypeError("disk is full");
    await new Promise((resolve) => setTimeout(resolve, 10));
    return await store();
  });
  const runId = newId(NOW_MS);
  await assertRejects(() => uploadPayload(store, runId, bytesOf(30 * CHUNK_BYTES)));
  await removeUpload(store, runId);
  assertEquals(await contents(store), new Map());
});

Deno.test("a payload in its run's record is read whole when the run ends during the look", async () => {
  await using store = await storeInMemory();
  const body = bytesOf(100);
  const pending = newPending(pendingOf(), body);
  const { run } = pending;
  await store.committer.write(acceptWrites(pending, body));
  const looks: string[] = [];
  const kv = standIn(store.kv, {
    async get(key: Deno.KvKey) {
      const found = await store.kv.get(key);
      if (looks.push(String(key[0])) === 1) {
        await store.committer.write(endWrites(run, pending.body));
      }
      return found;
    },
    list(selector: Deno.KvListSelector, options: Deno.KvListOptions) {
      looks.push("prefix" in selector ? String(selector.prefix[0]) : "");
      return store.kv.list(selector, options);
    },
  });
  const [chunk] = await Array.fromAsync(readPayload({ ...store, kv }, run.id, body.length));
  assertEquals(chunk, body.slice());
  assertEquals(looks, ["run", "pending", "held", "pending", "run"]);
});

Deno.test("the payload of an accepted run is no upload: it is not removed as one", async () => {
  await using store = await storeInMemory();
  const runId = newId(NOW_MS);
  const body = bytesOf(CHUNK_BYTES + 1);
  await storePayload(store, runId, body);
  await removeUpload(store, runId);
  assertEquals((await readWhole(store, runId, body.length)).length, body.length);
});

Deno.test("others come in between the parts of a large payload", async () => {
  const commits: unknown[][] = [];
  await using store = await storeInMemory(({ keys }, store) => {
    commits.push(keys.map(([kind]) => kind));
    return store();
  });
  const upload = uploadPayload(store, newId(NOW_MS), new Uint8Array(100 * CHUNK_BYTES));
  await Promise.all([upload, store.committer.write([{ key: ["other"], value: true }])]);
  assertEquals(commits.length, 12);
  assertLessOrEqual(commits.findIndex((kinds) => kinds.includes("other")), 4);
});
