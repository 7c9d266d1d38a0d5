/**
 * What is kept of fetched files: when it is used, that it is right, and that it does not grow forever.
 *
 * @module
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { CacheFiles } from "../../../../src/engines/shared/inputs/cache_files.ts";
import { UrlIndex } from "../../../../src/engines/shared/inputs/url_index.ts";
import { shell, unmount } from "../../../faults/served.ts";
import { has } from "../../../needs.ts";
import { until } from "../../fixture.ts";
import { Bench, messageOf, sha256, TestServer } from "./fixture.ts";

/** A server of one file that tells versions apart. */
class Versions extends TestServer {
  text = "one";
  /** Full answers. */
  sent = 0;

  constructor(validators: (text: string) => Record<string, string>) {
    super((request) => {
      const headers = validators(this.text);
      const { etag, "last-modified": time } = headers;
      const isKnown = etag !== undefined && request.headers.get("if-none-match") === etag ||
        time !== undefined && request.headers.get("if-modified-since") === time;
      if (isKnown) return new Response(null, { status: 304, headers });
      this.sent++;
      return new Response(this.text, { headers });
    });
  }
}

const byEtag = (text: string) => ({ etag: `"${text}"` });
const TIMES: Record<string, string> = {
  one: "Mon, 02 Nov 2026 10:00:00 GMT",
  two: "Mon, 02 Nov 2026 10:00:01 GMT",
};
const kinds: { name: string; validators: (text: string) => Record<string, string> }[] = [
  { name: "an entity tag", validators: byEtag },
  { name: "a time", validators: (text) => ({ "last-modified": TIMES[text] ?? "" }) },
  {
    name: "both",
    validators: (text) => ({ ...byEtag(text), "last-modified": TIMES[text] ?? "" }),
  },
];

for (const { name, validators } of kinds) {
  Deno.test(`cache: by ${name}, a file is fetched again when it has changed`, async () => {
    await using bench = await Bench.make();
    await using server = new Versions(validators);
    const url = server.at("/data.csv");
    assertEquals((await bench.fetch(url)).texts, { "data.csv": "one" });
    const { texts, files } = await bench.fetch(url);
    assertEquals(texts, { "data.csv": "one" });
    assertEquals(files, [{ name: "data.csv", size: 3, sha256: sha256("one"), uri: url }]);
    assertEquals([server.asked.length, server.sent], [2, 1]);
    assertEquals(bench.told.at(-1), "data.csv was in the cache");
    server.text = "two";
    assertEquals((await bench.fetch(url)).texts, { "data.csv": "two" });
    assertEquals((await bench.fetch(url)).texts, { "data.csv": "two" });
    assertEquals([server.asked.length, server.sent], [4, 2]);
    bench.restart();
    assertEquals((await bench.fetch(url)).texts, { "data.csv": "two" });
    assertEquals([server.asked.length, server.sent], [5, 2]);
  });
}

Deno.test("cache: without an entity tag and a time, a file is fetched each time", async () => {
  await using bench = await Bench.make();
  await using server = new Versions(() => ({}));
  for (let count = 1; count <= 3; count++) {
    await bench.fetch(server.at("/"));
    assertEquals(server.sent, count);
  }
  assertEquals(bench.cached(), [sha256("one")]);
});

Deno.test("cache: validators are told to nobody but to whom they are from", async () => {
  await using bench = await Bench.make();
  let target = "/first";
  await using server = new TestServer((request, { pathname }) => {
    if (pathname === "/") {
      return new Response(null, { status: 302, headers: { location: target } });
    }
    if (request.headers.get("if-none-match") === '"1"') return new Response(null, { status: 304 });
    return new Response(`of ${pathname}`, { headers: { etag: '"1"' } });
  });
  const fetch = async () => (await bench.fetch(server.at("/"))).texts["data.csv"];
  assertEquals(await fetch(), "of /first");
  assertEquals(await fetch(), "of /first");
  target = "/second";
  assertEquals(await fetch(), "of /second");
  const sent = server.headers.map((headers) => headers.get("if-none-match"));
  assertEquals(sent, [null, null, null, '"1"', null, null]);
});

Deno.test("cache: who has other credentials is not given what is kept", async () => {
  await using bench = await Bench.make();
  const right = `Basic ${btoa("user:right")}`;
  await using server = new TestServer((request) => {
    if (request.headers.get("authorization") !== right) return new Response(null, { status: 401 });
    return new Response("secret", { headers: { etag: '"1"' } });
  });
  await bench.fetch(`http://user:right@${server.host}/`);
  assertStringIncludes(await bench.failure(`http://user:wrong@${server.host}/`), "401");
  assertStringIncludes(await bench.failure(server.at("/")), "401");
});

Deno.test("cache: a command that writes into its file changes nobody else's", async () => {
  await using bench = await Bench.make();
  await using server = new Versions(byEtag);
  const { folder } = await bench.fetch(server.at("/"));
  await Deno.writeTextFile(join(folder, "data.csv"), "changed by the command");
  assertEquals((await bench.fetch(server.at("/"))).texts, { "data.csv": "one" });
  assertEquals(server.sent, 1);
});

const damages: { name: string; damage: (path: string) => Promise<void>; isRestarted?: true }[] = [
  { name: "lost its end", damage: (path) => Deno.truncate(path, 2) },
  { name: "was written into", damage: (path) => Deno.writeTextFile(path, "0ne") },
  { name: "is missing", damage: (path) => Deno.remove(path) },
  {
    name: "is a link",
    damage: async (path) => {
      await Deno.rename(path, `${path}.moved`);
      await Deno.symlink(`${path}.moved`, path);
    },
  },
  {
    name: "holds other bytes of the same time after a restart",
    isRestarted: true,
    damage: async (path) => {
      const { mtime, atime } = await Deno.stat(path);
      await Deno.writeTextFile(path, "0ne");
      await Deno.utime(path, atime ?? 0, mtime ?? 0);
    },
  },
];

for (const { name, damage, isRestarted } of damages) {
  Deno.test(`cache: a kept file that ${name} is fetched again`, async () => {
    await using bench = await Bench.make();
    await using server = new Versions(byEtag);
    await bench.fetch(server.at("/"));
    // The time of a file has a limited resolution.
    await new Promise((resolve) => setTimeout(resolve, 20));
    await damage(bench.cachePath("files", sha256("one")));
    if (isRestarted) bench.restart();
    assertEquals((await bench.fetch(server.at("/"))).texts, { "data.csv": "one" });
    assertEquals(server.sent, 2);
    assertEquals((await bench.fetch(server.at("/"))).texts, { "data.csv": "one" });
    assertEquals(server.sent, 2);
  });
}

Deno.test("cache: what is known of a URL may be damaged too", async () => {
  await using bench = await Bench.make();
  await using server = new Versions(byEtag);
  for (const text of ["", "{", "[]", '{"sha256": "../../x"}']) {
    await bench.fetch(server.at("/"));
    for (const { name } of Deno.readDirSync(bench.cachePath("urls"))) {
      await Deno.writeTextFile(bench.cachePath("urls", name), text);
    }
    const before = server.sent;
    assertEquals((await bench.fetch(server.at("/"))).texts, { "data.csv": "one" });
    assertEquals(server.sent, before + 1);
  }
});

Deno.test("cache: what a crash has left is removed, and used by nobody", async () => {
  await using bench = await Bench.make();
  await Deno.mkdir(bench.cachePath("files"), { recursive: true });
  await Deno.mkdir(bench.cachePath("urls"));
  await Deno.writeTextFile(bench.cachePath("files", "tmp-half"), "half");
  await Deno.writeTextFile(bench.cachePath("urls", "tmp-half"), "{");
  await using server = new Versions(byEtag);
  await bench.fetch(server.at("/"));
  assertEquals(bench.cached(), [sha256("one")]);
  assertEquals([...Deno.readDirSync(bench.cachePath("urls"))].length, 1);
});

Deno.test("cache: those who want the same at the same time share one fetch", async () => {
  await using bench = await Bench.make();
  const { promise, resolve } = Promise.withResolvers<Response>();
  await using server = new TestServer(() => promise);
  const all = Array.from({ length: 5 }, () => bench.fetch(server.at("/data.csv")));
  await until(() => bench.told.length === 5 && server.asked.length === 1);
  resolve(new Response("shared"));
  for (const { texts } of await Promise.all(all)) assertEquals(texts, { "data.csv": "shared" });
  assertEquals(server.asked.length, 1);
});

Deno.test("cache: one who leaves does not take the file from the others; the last one does", async () => {
  await using bench = await Bench.make();
  let isCancelled = false;
  const sent = Promise.withResolvers<ReadableStreamDefaultController<Uint8Array>>();
  await using server = new TestServer((_request, { pathname }) => {
    const body = new ReadableStream<Uint8Array>({
      start: (stream) => {
        stream.enqueue(new Uint8Array(2));
        if (pathname === "/goes-on") sent.resolve(stream);
      },
      cancel: () => void (isCancelled = true),
    });
    return new Response(body);
  });
  const [first, second] = [new AbortController(), new AbortController()];
  const leaves = bench.failure(server.at("/goes-on"), { signal: first.signal });
  const stays = bench.fetch(server.at("/goes-on"));
  await until(() => server.asked.length === 1 && bench.told.length === 2);
  const stream = await sent.promise;
  first.abort(new Error("not wanted"));
  assertStringIncludes(await leaves, "not wanted");
  assertEquals(isCancelled, false);
  stream.enqueue(new Uint8Array(3));
  stream.close();
  assertEquals((await stays).files[0]?.size, 5);

  const alone = bench.failure(server.at("/stalls"), { signal: second.signal });
  await until(() => server.asked.length === 2);
  second.abort(new Error("not wanted"));
  assertStringIncludes(await alone, "not wanted");
  await until(() => isCancelled);
  await bench.remote.close();
  assert(!bench.cached().some((name) => name.startsWith("tmp-")));
});

Deno.test("cache: who may have less gives up alone", async () => {
  await using bench = await Bench.make();
  const { promise, resolve } = Promise.withResolvers<Response>();
  await using server = new TestServer(() => promise);
  const url = server.at("/data.csv");
  const poor = bench.failure(url, { settings: { private_networks: true, max_mb: 1 } });
  const rich = bench.fetch(url, { settings: { private_networks: true, max_mb: 10 } });
  await until(() => bench.told.length === 2 && server.asked.length === 1);
  resolve(new Response(new Uint8Array(2 * 1024 * 1024)));
  assertStringIncludes(await poor, "more than 1 MiB");
  assertEquals((await rich).files[0]?.size, 2 * 1024 * 1024);
  assertEquals(server.asked.length, 1);
});

Deno.test("cache: a fetch that failed for all is begun anew by the next", async () => {
  await using bench = await Bench.make();
  await using server = new TestServer((_request, _url, count) =>
    count === 1 ? new Response(null, { status: 404 }) : new Response("now")
  );
  const url = server.at("/");
  const both = await Promise.all([messageOf(bench.fetch(url)), messageOf(bench.fetch(url))]);
  for (const message of both) assertStringIncludes(message, "404");
  assertEquals((await bench.fetch(url)).texts, { "data.csv": "now" });
});

Deno.test("cache: what was not used for longest goes first, and what is in use stays", async () => {
  const folder = await Deno.makeTempDir();
  const files = new CacheFiles(`${folder}/files`);
  await files.open();
  // They may be private, and of any project.
  assertEquals((Deno.statSync(`${folder}/files`).mode ?? 0) & 0o777, 0o700);
  const never = new AbortController().signal;
  const options = { signal: never, onBytes: () => {} };
  const add = async (text: string) => {
    async function* chunks() {
      yield await Promise.resolve(new TextEncoder().encode(text));
    }
    const held = await files.add(chunks(), options);
    // Times are told apart.
    await new Promise((resolve) => setTimeout(resolve, 15));
    return held;
  };
  const [a, b, c] = [
    await add("a".repeat(40)),
    await add("b".repeat(40)),
    await add("c".repeat(40)),
  ];
  a[Symbol.dispose]();
  c[Symbol.dispose]();
  const isThere = async (held: { size: number; sha256: string }) => {
    using found = await files.find(held, never);
    return found !== undefined;
  };
  // `a` is used last, `b` is in use.
  assert(await isThere(a));
  await files.prune(100);
  assertEquals([await isThere(a), await isThere(c)], [true, false]);
  await files.prune(10);
  assertEquals([await isThere(a), await isThere(b)], [false, true]);
  b[Symbol.dispose]();
  const huge = await add("x".repeat(500));
  huge[Symbol.dispose]();
  await files.prune(100);
  // One that is too large by itself goes before the others.
  assertEquals([await isThere(huge), await isThere(b)], [false, true]);
  await Deno.remove(folder, { recursive: true });
});

Deno.test("cache: it is pruned after what is fetched", async () => {
  await using bench = await Bench.make({ bytesMax: 250 });
  await using server = new TestServer((_request, { pathname }) =>
    new Response(pathname.slice(1).repeat(100), { headers: { etag: '"1"' } })
  );
  for (const name of ["a", "b", "c", "d"]) {
    await bench.fetch(server.at(`/${name}`));
    await new Promise((resolve) => setTimeout(resolve, 15));
  }
  await until(() => bench.cached().length === 2);
  const left = ["c", "d"].map((name) => sha256(name.repeat(100)));
  assertEquals(bench.cached(), left.sort());
  const { texts } = await bench.fetch(server.at("/a"));
  assertEquals(texts, { "data.csv": "a".repeat(100) });
});

Deno.test("cache: no more URLs are remembered than there may be", async () => {
  const folder = await Deno.makeTempDir();
  const index = new UrlIndex(folder);
  await index.open();
  const record = { sha256: sha256("x"), size: 1, of: "x", fetched_at: "2026-11-01T00:00:00Z" };
  for (const name of ["a", "b", "c", "d"]) {
    await index.put(sha256(name), record);
    await new Promise((resolve) => setTimeout(resolve, 15));
  }
  await index.prune(2);
  const known = await Promise.all(["a", "b", "c", "d"].map((name) => index.get(sha256(name))));
  assertEquals(known.map((each) => each !== undefined), [false, false, true, true]);
  await Deno.remove(folder, { recursive: true });
});

Deno.test({
  name: "cache: what is not in use makes room where the disk is full",
  ignore: !has("mount"),
  async fn() {
    await using bench = await Bench.make();
    const sizes: Record<string, number> = { "/old": 3, "/new": 3, "/other": 2.25 };
    const textOf = (path: string) => path.padEnd((sizes[path] ?? 0) * 2 ** 20);
    await using server = new TestServer((_request, { pathname }) => new Response(textOf(pathname)));
    await shell(`mount -t tmpfs -o size=8m tmpfs '${bench.folder}'`);
    try {
      const fetch = async (path: string) => {
        const { folder, texts } = await bench.fetch(server.at(path));
        assertEquals(texts["data.csv"] === textOf(path), true);
        await Deno.remove(folder, { recursive: true });
      };
      await fetch("/old");
      // There is no room for the copy.
      await fetch("/new");
      assertEquals(bench.cached(), [sha256(textOf("/new"))]);
      // There is none for what is kept.
      await Deno.writeFile(join(bench.folder, "filler"), new Uint8Array(3 * 2 ** 20));
      await fetch("/other");
      assertEquals(bench.cached(), [sha256(textOf("/other"))]);
      assertStringIncludes(bench.told.join(), "the disk is full: other files are removed");
      await Deno.writeFile(join(bench.folder, "filler"), new Uint8Array(7 * 2 ** 20))
        .catch(() => {});
      assertStringIncludes(await bench.failure(server.at("/new")), "No space left on device");
    } finally {
      await unmount(bench.folder);
    }
  },
});
