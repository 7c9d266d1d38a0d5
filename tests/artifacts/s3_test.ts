/** The artifact store in an S3 bucket, on the real server of rclone. */
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { hash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { artifactKeys } from "../../src/artifacts/keys.ts";
import { S3Client } from "../../src/artifacts/s3/client.ts";
import { uploadMeasured } from "../../src/artifacts/s3/upload.ts";
import { S3Store } from "../../src/artifacts/s3/mod.ts";
import { ArtifactMismatchError } from "../../src/artifacts/store.ts";
import { InvalidInputError, UnavailableError } from "../../src/platform/errors.ts";
import { standIn } from "../store/fixture.ts";
import { eventually, PATIENCE_MS } from "../surroundings.ts";
import { addsMeasured, content, infoOf, textOf } from "./fixture.ts";
import { CREDENTIALS, hasNoS3, S3Server } from "./s3_server.ts";

const ignore = hasNoS3;
const MIB = 1024 * 1024;

function filled(size: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(size);
  for (let at = 0; at < size; at += 65_536) {
    crypto.getRandomValues(bytes.subarray(at, Math.min(size, at + 65_536)));
  }
  return bytes;
}

/** Times of a server that works, on a machine that is busy. */
const PATIENT = { patience_ms: 120_000, pause_ms: 10, answer_ms: 60_000 };

function streamOf(bytes: Uint8Array<ArrayBuffer>): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new Blob([bytes]).stream();
}

Deno.test(
  "S3: an artifact is read back, from an offset too, and is removed",
  { ignore },
  async () => {
    await using server = await S3Server.start();
    using store = server.store();
    for (const path of ["plain", "a b/größe+100% (1)!*'.bin", "x&y<z>;?#=", "~/.hidden"]) {
      const key = artifactKeys.output("a1", path);
      const bytes = content(`content of ${path}`);
      assertEquals(await store.open(key), undefined);
      await store.put(key, streamOf(bytes), infoOf(bytes));
      await store.put(key, bytes, infoOf(bytes));
      assertEquals(await textOf(await store.open(key)), `content of ${path}`);
      assertEquals(await textOf(await store.open(key, { offset: 8 })), `of ${path}`);
      assertEquals(await textOf(await store.open(key, { offset: bytes.length })), "");
      assertEquals(await store.verify(key, infoOf(bytes)), true);
      assertEquals(await store.verify(key, { ...infoOf(bytes), sha256: "0".repeat(64) }), false);
    }
    const empty = new Uint8Array();
    await store.put(artifactKeys.log("a2"), empty, infoOf(empty));
    assertEquals(await textOf(await store.open(artifactKeys.log("a2"))), "");
    assertEquals(server.files().length, 5);
    assert(server.files().every((path) => path.startsWith("some prefix/executions/")));
    await store.remove(artifactKeys.execution("a1"));
    assertEquals(server.files(), ["some prefix/executions/a2/log"]);
    await store.remove(artifactKeys.log("a2"));
    await store.remove(artifactKeys.log("a2"));
    assertEquals(server.files(), []);
  },
);

Deno.test("S3: what is as long as 20,000 of the first parts has fewer than the 10,000 that an object may have", async () => {
  const partBytes = 16;
  const sizes: number[] = [];
  const client = standIn(
    new S3Client({
      location: { bucket: "bucket", endpoint: "http://127.0.0.1:1", prefix: "", region: "r" },
      credentials: CREDENTIALS,
      onOutcome() {},
    }),
    {
      ask({ method, body }: { method: string; body?: Uint8Array }) {
        if (method === "PUT") sizes.push(body?.length ?? 0);
        const answer = method === "POST" ? "<UploadId>1</UploadId>" : "";
        return Promise.resolve(new Response(answer, { headers: { etag: "1" } }));
      },
    },
  );
  const bytes = filled(20_000 * partBytes);
  const info = await uploadMeasured(streamOf(bytes), { client, key: "a", partBytes });
  assertEquals(info, infoOf(bytes));
  assertEquals(sizes.reduce((all, each) => all + each), bytes.length);
  assert(sizes.length <= 10_000, `${sizes.length} parts`);
  // Some servers take parts of one size alone.
  assertEquals(sizes.toSorted((one, other) => one - other).at(7_999), partBytes);
});

Deno.test("S3: what is described only behind its last byte is stored", { ignore }, async () => {
  await using server = await S3Server.start();
  using store = server.store(PATIENT);
  const part = 8 * 1024 * 1024;
  await addsMeasured(store, [0, 1_000, part, part + 1]);
  await store.remove(artifactKeys.execution("a1"));
  assertEquals(server.files(), []);
});

Deno.test(
  "S3: a long artifact goes in parts, and is there when all of it is",
  { ignore },
  async () => {
    await using server = await S3Server.start();
    using store = server.store(PATIENT);
    const bytes = filled(20 * MIB + 123);
    const key = artifactKeys.output("a1", "large");
    await store.put(key, streamOf(bytes), infoOf(bytes));
    assertEquals(await store.verify(key, infoOf(bytes)), true);
    const found = await store.open(key, { offset: 9 * MIB });
    assertEquals(found?.size, bytes.length);
    const rest = await new Response(found?.stream).bytes();
    assertEquals(hash("sha256", rest), hash("sha256", bytes.subarray(9 * MIB)));

    const other = artifactKeys.output("a1", "other");
    const wrong = { ...infoOf(bytes), sha256: "0".repeat(64) };
    await assertRejects(() => store.put(other, streamOf(bytes), wrong), ArtifactMismatchError);
    let sent = 0;
    const breaking = new ReadableStream<Uint8Array<ArrayBuffer>>({
      pull(controller) {
        if (sent > 12 * MIB) return controller.error(new TypeError("the sender has gone"));
        controller.enqueue(bytes.slice(sent, sent += MIB));
      },
    });
    await assertRejects(() => store.put(other, breaking, infoOf(bytes)), TypeError, "gone");
    assertEquals(await store.open(other), undefined);
    assertEquals(server.files(), ["some prefix/executions/a1/outputs/large"]);
  },
);

Deno.test("S3: presigned URLs read and write one artifact, for a while", { ignore }, async () => {
  await using server = await S3Server.start();
  using store = server.store();
  const key = artifactKeys.output("a1", "größe b");
  const bytes = content("by a job");
  const presigned = await store.presignPut(key, infoOf(bytes));
  assert(presigned !== undefined);
  const { url, checksum } = presigned;
  assert(!url.includes(CREDENTIALS.secretAccessKey));
  const put = async (to: string, body: BodyInit, sum = checksum) => {
    const headers = { "if-none-match": "*", "x-amz-checksum-sha256": sum };
    const answer = await fetch(to, { method: "PUT", body, headers });
    await answer.body?.cancel();
    return answer.status;
  };
  assertEquals(await put(url.replace("a1", "a2"), bytes), 403);
  // It is good for these bytes alone.
  assertEquals(await put(url, `${"x".repeat(bytes.length)}x`), 403);
  assertEquals(await put(url, bytes, hash("sha256", "other", "base64")), 403);
  assertEquals(await put(url, bytes), 200);
  assertEquals(await store.verify(key, infoOf(bytes)), true);
  // What is there is not replaced.
  assertEquals(await put(url, "x".repeat(bytes.length)), 412);
  assertEquals(await store.verify(key, infoOf(bytes)), true);
  const get = await fetch(await store.presignGet(key));
  assertEquals([get.status, await get.text()], [200, "by a job"]);
  const tampered = await fetch((await store.presignGet(key)).replace("a1", "a2"));
  assertEquals(tampered.status, 403);
  await tampered.body?.cancel();
  assertMatch(url, /X-Amz-Expires=900/);
  const tooLarge = { ...infoOf(bytes), size: 6 * 1024 * MIB };
  assertEquals(await store.presignPut(key, tooLarge), undefined);
});

Deno.test("S3: a request that hung before another was answered is no failure", async () => {
  const hung = Promise.withResolvers<Response>();
  const answers = [
    () => hung.promise,
    () => new Response("<ListBucketResult></ListBucketResult>"),
    () => new Response("no", { status: 500 }),
  ];
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => answers.shift()?.() ?? new Response(null, { status: 500 }),
  );
  // The server waits for it at its end.
  using _end = { [Symbol.dispose]: () => hung.resolve(new Response()) };
  const endpoint = `http://127.0.0.1:${server.addr.port}`;
  using store = new S3Store({
    location: { endpoint, bucket: "bucket", prefix: "", region: "us-east-1" },
    credentials: CREDENTIALS,
    times: { patience_ms: 0, pause_ms: 1, answer_ms: 500 },
  });
  const first = store.probe();
  await new Promise((resolve) => setTimeout(resolve, 100));
  assertEquals(await store.probe(), undefined);
  assert(await first !== undefined);
  assertEquals([store.failure, store.failingSince_ms], [undefined, undefined]);
  assert(await store.probe() !== undefined);
  assert(store.failure !== undefined);
});

/** A store in a bucket that is played. */
function storeAt(port: number): S3Store {
  const endpoint = `http://127.0.0.1:${port}`;
  return new S3Store({
    location: { endpoint, bucket: "bucket", prefix: "", region: "us-east-1" },
    credentials: CREDENTIALS,
    times: { patience_ms: 0, pause_ms: 1, answer_ms: 60_000 },
  });
}

Deno.test("S3: a list that comes in shorter parts than were asked for is read to its end", async () => {
  const names = ["a1", "a2", "a3", "a4", "a5"];
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, ({ url }) => {
    const after = new URL(url).searchParams.get("start-after") ?? "";
    const left = names.filter((name) => name > after);
    const keys = left.slice(0, 2).map((name) => `<Contents><Key>${name}</Key></Contents>`);
    return new Response(`<IsTruncated>${left.length > 2}</IsTruncated>${keys.join("")}`);
  });
  using store = storeAt(server.addr.port);
  assertEquals(await store.list("a"), names);
});

Deno.test("S3: an object is read whole from behind a proxy that compresses", async () => {
  const text = "an object that a proxy would compress. ".repeat(30_000);
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    ({ url, headers }) => {
      if (url.endsWith("/endless")) return new Response(streamOf(content(text)));
      if (!headers.get("accept-encoding")?.includes("gzip")) return new Response(text);
      return new Response(new Uint8Array(gzipSync(text)), {
        headers: { "content-encoding": "gzip" },
      });
    },
  );
  using store = storeAt(server.addr.port);
  assertEquals(await textOf(await store.open(artifactKeys.log("a1"))), text);
  // Without a length nobody knows that all of it came.
  await assertRejects(() => store.open("endless"), UnavailableError, "length");
});

/** Begins an answer that never ends, or that breaks off. */
function unfinished(text: string, breaksOff: boolean): Response {
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start: (controller) => controller.enqueue(content(text)),
    async pull(controller) {
      if (!breaksOff) return await new Promise(() => {});
      await new Promise((resolve) => setTimeout(resolve, 20));
      controller.error(new Error("as the test wants"));
    },
  });
  return new Response(body);
}

Deno.test("S3: an answer that does not come to its end is none, and the request is repeated", async () => {
  for (const breaksOff of [true, false]) {
    const asked: string[] = [];
    let isStored = false;
    const answer = ({ url, method }: Request): Response => {
      const { searchParams } = new URL(url);
      asked.push(`${method} ${[...searchParams.keys()]}`);
      const isFirst = asked.filter((each) => each === asked.at(-1)).length === 1;
      if (searchParams.has("uploads")) {
        return isFirst
          ? unfinished("<UploadId>u", breaksOff)
          : new Response("<UploadId>u1</UploadId>");
      }
      if (searchParams.has("partNumber")) return new Response(null, { headers: { etag: "e" } });
      if (searchParams.has("list-type")) {
        return isFirst
          ? unfinished("<Key>executions/a1/log</Key>", breaksOff)
          : new Response(isStored ? "<Key>executions/a1/log</Key>" : "");
      }
      if (method === "DELETE") isStored = false;
      else if (isFirst) return unfinished("\n", breaksOff);
      else isStored = true;
      return new Response("<CompleteMultipartUploadResult/>");
    };
    await using server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {} },
      answer,
    );
    const endpoint = `http://127.0.0.1:${server.addr.port}`;
    using store = new S3Store({
      location: { endpoint, bucket: "bucket", prefix: "", region: "us-east-1" },
      credentials: CREDENTIALS,
      times: { patience_ms: 60_000, pause_ms: 1, answer_ms: 500 },
    });
    const bytes = filled(9 * MIB);
    const key = artifactKeys.log("a1");
    await store.put(key, bytes, infoOf(bytes));
    assertEquals(isStored, true, asked.join("\n"));
    await store.remove(artifactKeys.execution("a1"));
    assertEquals(isStored, false, asked.join("\n"));
  }
});

Deno.test("S3: a server that fails is asked again, until it works", { ignore }, async () => {
  await using server = await S3Server.start();
  using store = server.store({ patience_ms: 10_000, pause_ms: 20, answer_ms: 300 });
  const bytes = content("x".repeat(100_000));
  for (const mode of [500, 503, 507, 403, "hang", "cut"] as const) {
    const before = server.failed;
    server.mode = mode;
    const key = artifactKeys.payload(`r-${mode}`);
    const storing = store.put(key, bytes, infoOf(bytes));
    const deadline_ms = performance.now() + 5_000;
    while (server.failed < before + 3 && performance.now() < deadline_ms) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    assert(server.failed >= before + 3, `${mode}: ${server.failed - before} failures`);
    server.mode = "pass";
    await storing;
    assertEquals(await store.verify(key, infoOf(bytes)), true, String(mode));
  }
  assertEquals(store.failure, undefined);
});

Deno.test(
  "S3: a server that fails for long is told of, and nothing of it is stored",
  { ignore },
  async () => {
    await using server = await S3Server.start();
    const bytes = content("x");
    const key = artifactKeys.payload("r1");
    for (const mode of [500, 403, "hang"] as const) {
      server.mode = mode;
      // A busy machine takes its time for an answer that comes.
      const answer_ms = mode === "hang" ? 500 : PATIENCE_MS;
      using store = server.store({ patience_ms: 600, pause_ms: 20, answer_ms });
      const expected = mode === "hang"
        ? "no answer within 500 ms"
        : `it answers ${mode} (Failing: as`;
      await assertRejects(() => store.put(key, bytes, infoOf(bytes)), UnavailableError, expected);
      await assertRejects(() => store.open(key), UnavailableError, expected);
      await assertRejects(() => store.remove("payloads/"), UnavailableError, expected);
      assert((await store.probe())?.includes(expected));
      assert(store.failure?.includes(expected));
      server.mode = "pass";
      await eventually(async () => await store.probe() === undefined);
      assertEquals(store.failure, undefined);
    }
    using store = server.store({ patience_ms: 600, pause_ms: 20, answer_ms: PATIENCE_MS });
    assertEquals(await store.open(key), undefined);
    const location = { ...server.location, bucket: "nowhere" };
    const times = { patience_ms: 100, pause_ms: 20 };
    using other = new S3Store({ location, credentials: CREDENTIALS, times });
    assertMatch(await other.probe() ?? "", /NoSuchBucket/);
    await assertRejects(() => other.open(key), UnavailableError, "NoSuchBucket");
    await assertRejects(
      () => other.put(key, bytes, infoOf(bytes)),
      UnavailableError,
      "NoSuchBucket",
    );
  },
);

Deno.test("S3: a read that breaks off goes on where it was", { ignore }, async () => {
  await using server = await S3Server.start();
  using store = server.store({ patience_ms: 10_000, pause_ms: 20, answer_ms: 2_000 });
  const bytes = filled(24 * MIB);
  const key = artifactKeys.output("a1", "large");
  await store.put(key, streamOf(bytes), infoOf(bytes));
  const found = await store.open(key);
  const digest = [];
  let size = 0;
  let breaks = 0;
  for await (const chunk of found?.stream ?? []) {
    digest.push(chunk);
    size += chunk.length;
    if (size > (breaks + 1) * 6 * MIB) {
      breaks++;
      server.mode = "pass";
    }
  }
  assert(breaks >= 3);
  assertEquals(hash("sha256", await new Blob(digest).bytes()), hash("sha256", bytes));
});

Deno.test(
  "S3: the server is killed and started again while an artifact is stored",
  { ignore },
  async () => {
    await using server = await S3Server.start();
    using store = server.store({ patience_ms: 15_000, pause_ms: 50, answer_ms: 2_000 });
    const bytes = filled(30 * MIB);
    const key = artifactKeys.output("a1", "large");
    let sent = 0;
    const slow = new ReadableStream<Uint8Array<ArrayBuffer>>({
      async pull(controller) {
        if (sent === 12 * MIB) {
          await server.kill();
          setTimeout(() => server.begin(), 500);
        }
        if (sent === bytes.length) return controller.close();
        controller.enqueue(bytes.slice(sent, sent += MIB));
      },
    });
    // This server forgets the parts that it had. Whoever stores the artifact does so again.
    const first = await store.put(key, slow, infoOf(bytes)).then(() => "stored", (error) => {
      assert(error instanceof UnavailableError, String(error));
      return "refused";
    });
    if (first === "refused") {
      assertEquals(await store.open(key), undefined);
      await store.put(key, bytes, infoOf(bytes));
    }
    assertEquals(await store.verify(key, infoOf(bytes)), true);
  },
);

Deno.test("S3: a wrong secret opens nothing", { ignore }, async () => {
  await using server = await S3Server.start();
  const credentials = { ...CREDENTIALS, secretAccessKey: "another" };
  const times = { patience_ms: 100, pause_ms: 20, answer_ms: 2_000 };
  using store = new S3Store({ location: server.location, credentials, times });
  assertMatch(await store.probe() ?? "", /it answers 403 \(SignatureDoesNotMatch/);
  await assertRejects(
    () => store.put("../x", content("x"), infoOf(content("x"))),
    InvalidInputError,
  );
});
