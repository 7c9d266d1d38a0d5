/**
 * Files of `http:` and `https:` URLs, from real servers of this machine.
 *
 * @module
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { delay } from "@std/async/delay";
import { until } from "../../service.ts";
import { Bench, EAGER, PRIVATE, RawServer, sha256, TestServer } from "./fixture.ts";

const SECRET = "s3cr3t-w0rd";

Deno.test("remote: a file is fetched, byte by byte, and the log says so", async () => {
  await using bench = await Bench.make();
  const bytes = new Uint8Array(3_000_000);
  for (let at = 0; at < bytes.length; at += 65_536) {
    crypto.getRandomValues(bytes.subarray(at, at + 65_536));
  }
  await using server = new TestServer(() => new Response(bytes));
  const { folder, files } = await bench.fetch(server.at("/deep/data.csv?key=value"));
  const copy = await Deno.readFile(`${folder}/data.csv`);
  assertEquals(sha256(copy), sha256(bytes));
  assertEquals(files, [{
    name: "data.csv",
    size: 3_000_000,
    sha256: sha256(bytes),
    uri: server.at("/deep/data.csv?key=value"),
  }]);
  assertEquals(server.asked, ["GET /deep/data.csv?key=value"]);
  assertEquals(server.headers[0]?.get("accept-encoding"), "identity");
  assertEquals(server.headers[0]?.get("authorization"), null);
  assertEquals(server.headers[0]?.get("host"), server.host);
  assertEquals(bench.told[0], `Fetching data.csv from ${server.host}/deep/data.csv`);
  assert(/^Fetched data\.csv: 2\.9 MiB in \d+\.\d s$/.test(bench.told[1] ?? ""), bench.told[1]);
});

Deno.test("remote: an empty file, and one whose length nobody says", async () => {
  await using bench = await Bench.make();
  await using server = new TestServer((_request, url) =>
    new Response(url.pathname === "/empty" ? "" : ReadableStream.from([new Uint8Array(5)]))
  );
  assertEquals((await bench.fetch(server.at("/empty"))).files[0]?.size, 0);
  assertEquals((await bench.fetch(server.at("/chunked"))).files[0]?.size, 5);
});

Deno.test("remote: what is compressed at the server stays so", async () => {
  await using bench = await Bench.make();
  const stream = new Blob(["abc"]).stream().pipeThrough(new CompressionStream("gzip"));
  const gzipped = new Uint8Array(await new Response(stream).arrayBuffer());
  await using server = new TestServer(() =>
    new Response(gzipped, { headers: { "content-encoding": "gzip" } })
  );
  const { files } = await bench.fetch(server.at("/a.gz"));
  assertEquals(files[0]?.sha256, sha256(gzipped));
});

Deno.test("remote: the suggested name counts when the URL gives none", async () => {
  await using bench = await Bench.make();
  const headers = { "content-disposition": 'attachment; filename="../report.csv"', etag: '"1"' };
  await using server = new TestServer((request) =>
    request.headers.has("if-none-match")
      ? new Response(null, { status: 304 })
      : new Response("x", { headers })
  );
  const file = { name: "file", url: server.at("/") };
  const named = { name: "mine.csv", url: server.at("/") };
  // Fetched, then from the cache.
  for (let count = 0; count < 2; count++) {
    const { texts } = await bench.bring([file, named, file]);
    assertEquals(Object.keys(texts).sort(), ["mine.csv", "report-2.csv", "report.csv"]);
  }
  await using nameless = new TestServer(() => new Response("x"));
  const { texts } = await bench.bring([{ name: "file", url: nameless.at("/") }]);
  assertEquals(Object.keys(texts), ["file"]);
});

Deno.test("remote: redirects are followed, at most five", async () => {
  await using bench = await Bench.make();
  await using server = new TestServer((_request, { pathname }) => {
    const left = Number(pathname.slice(1));
    if (left === 0) return new Response("there");
    const status = [301, 302, 303, 307, 308][left % 5] ?? 302;
    return new Response(null, { status, headers: { location: `${left - 1}?secret=${SECRET}` } });
  });
  assertEquals((await bench.fetch(server.at("/5"))).texts, { "data.csv": "there" });
  const message = await bench.failure(server.at("/6"));
  assertStringIncludes(message, "there are more than 5 redirects");
  assert(!message.includes(SECRET));
  // What is wrong stays wrong: it is not tried again.
  assertEquals(server.asked.length, 6 + 6);
});

const misled: [location: string, message: string][] = [
  ["file:///etc/passwd", 'it redirects to the scheme "file:"'],
  ["ftp://127.0.0.1/x", 'it redirects to the scheme "ftp:"'],
  ["http://[", "it redirects to an address that is no URL"],
  [`http://127.0.0.1/${"x".repeat(9_000)}`, "it redirects to an address that is no URL"],
];

for (const [location, expected] of misled) {
  Deno.test(`remote: a redirect to ${location.slice(0, 30)} is not followed`, async () => {
    await using bench = await Bench.make();
    await using server = new TestServer(() =>
      new Response(null, { status: 302, headers: { location } })
    );
    assertStringIncludes(await bench.failure(server.at("/")), expected);
  });
}

Deno.test("remote: credentials are sent to whom they are for, and shown to nobody", async () => {
  await using bench = await Bench.make();
  await using other = new TestServer(() => new Response("elsewhere"));
  await using server = new TestServer((_request, { pathname }) => {
    if (pathname === "/here") return new Response("here");
    if (pathname === "/missing") return new Response(null, { status: 404 });
    const location = pathname === "/away" ? other.at("/") : "/here";
    return new Response(null, { status: 302, headers: { location } });
  });
  const at = (path: string) =>
    `http://us%40er:${SECRET}%C3%A9@${server.host}${path}?token=${SECRET}`;
  const sent = `Basic ${new TextEncoder().encode(`us@er:${SECRET}é`).toBase64()}`;
  const { files } = await bench.fetch(at("/stay"));
  assertEquals(files[0]?.uri, `http://${server.host}/stay?token=${SECRET}`);
  await bench.fetch(at("/away"));
  const message = await bench.failure(at("/missing"));
  const authorizations = server.headers.map((headers) => headers.get("authorization"));
  assertEquals(authorizations, [sent, sent, sent, sent]);
  assertEquals(other.headers[0]?.get("authorization"), null);
  assertEquals(
    message,
    `Cannot fetch data.csv from ${server.host}/missing: ${server.host}/missing answers ` +
      "404 Not Found",
  );
  const kept = [...Deno.readDirSync(bench.cachePath("urls"))].map(({ name }) =>
    name + Deno.readTextFileSync(bench.cachePath("urls", name))
  );
  assert(kept.length > 0);
  for (const text of [message, ...bench.told, ...kept]) {
    for (const secret of [SECRET, "us%40er", "us@er", "token"]) {
      assert(!text.includes(secret), text);
    }
  }
});

Deno.test("remote: a host that is silent is told of, once until something comes", async () => {
  await using bench = await Bench.make({ network: { stall_timeout_ms: 200 } });
  const silence =
    "Fetching data.csv: no data for 0.2 s; the fetch goes on until inputs.timeout is over";
  const silences = () => bench.told.filter((told) => told === silence).length;
  const toldBefore: number[] = [];
  await using server = new TestServer(() => {
    const chunks = async function* () {
      for (const [index, text] of ["a", "b"].entries()) {
        await until(() => silences() > index);
        await delay(500);
        // On a busy machine, the end behind the last one may come late enough to be told of, too.
        toldBefore.push(silences());
        yield new TextEncoder().encode(text);
      }
    };
    return new Response(ReadableStream.from(chunks()));
  });
  assertEquals((await bench.fetch(server.at("/slow"))).texts, { "data.csv": "ab" });
  assertEquals(toldBefore, [1, 2]);
});

Deno.test("remote: failures that may pass are tried again, three times in all", async () => {
  await using bench = await Bench.make();
  await using server = new TestServer((_request, { pathname }, count) => {
    if (pathname === "/recovers" && count === 3) return new Response("at last");
    if (pathname === "/busy" && count > 4) return new Response("now");
    if (pathname === "/busy") {
      return new Response(null, { status: 429, headers: { "retry-after": "0" } });
    }
    return new Response("down", { status: 503 });
  });
  assertEquals((await bench.fetch(server.at("/recovers"))).texts, { "data.csv": "at last" });
  assertEquals(server.asked.length, 3);
  assertEquals(
    bench.told[1],
    `Fetching data.csv: ${server.host}/recovers answers 503 Service Unavailable; ` +
      "it is tried again in 0.005 s",
  );
  assertEquals((await bench.fetch(server.at("/busy"))).texts, { "data.csv": "now" });
  assertStringIncludes(await bench.failure(server.at("/down")), "503 Service Unavailable");
  assertEquals(server.asked.length, 3 + 2 + 3);
});

Deno.test("remote: other failures are not tried again", async () => {
  await using bench = await Bench.make();
  await using server = new TestServer((_request, { pathname }) =>
    new Response(null, { status: Number(pathname.slice(1)) })
  );
  const statuses = [204, 206, 300, 302, 304, 400, 401, 403, 404, 410];
  for (const status of statuses) {
    assertStringIncludes(await bench.failure(server.at(`/${status}`)), `answers ${status} `);
  }
  assertEquals(server.asked.length, statuses.length);
});

Deno.test("remote: a host that is not there", async () => {
  await using bench = await Bench.make();
  assertStringIncludes(
    await bench.failure("http://127.0.0.1:1/"),
    "its host cannot be reached: Connection refused",
  );
  assertEquals(bench.told.filter((line) => line.includes("tried again")).length, 2);
});

const broken: { name: string; texts: string[]; message: string; tries?: number }[] = [
  {
    name: "shorter than its Content-Length",
    texts: ["HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc"],
    message: "its answer is cut off",
  },
  {
    name: "without its last chunk",
    texts: ["HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n"],
    message: "its answer is cut off",
  },
  { name: "no answer", texts: [""], message: "gives no proper answer" },
  { name: "no HTTP", texts: ["SSH-2.0-x\r\n"], message: "gives no proper answer" },
  {
    name: "another protocol",
    texts: ["HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nabc"],
    message: "gives no proper answer: it switches to another protocol",
  },
  {
    name: "headers without end",
    texts: [`HTTP/1.1 200 OK\r\nx: ${"y".repeat(200_000)}\r\n\r\n`],
    message: "gives no proper answer",
  },
];

for (const { name, texts, message } of broken) {
  Deno.test(`remote: ${name}`, async () => {
    await using bench = await Bench.make();
    await using server = new RawServer(texts);
    assertStringIncludes(await bench.failure(server.url), message);
    assertEquals(server.count, 3);
    assertEquals(bench.cached(), []);
  });
}

Deno.test("remote: what was cut off is fetched anew, from its beginning", async () => {
  await using bench = await Bench.make();
  await using server = new RawServer([
    "HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nabc",
    "HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nabcdef",
  ]);
  assertEquals((await bench.fetch(server.url)).texts, { "data.csv": "abcdef" });
});

Deno.test("remote: there is a limit to what all files have together", async () => {
  await using bench = await Bench.make();
  const half = new Uint8Array(600 * 1024);
  await using server = new TestServer((_request, { pathname }) =>
    pathname === "/endless"
      ? new Response(
        new ReadableStream<Uint8Array>({ pull: (stream) => stream.enqueue(half) }),
      )
      : new Response(half)
  );
  const settings = { ...PRIVATE, max_mb: 1 };
  const limit = "more than 1 MiB, the limit of the setting inputs.max_mb";
  await bench.fetch(server.at("/half"), { settings });
  const two = [{ name: "a", url: server.at("/half") }, { name: "b", url: server.at("/half") }];
  const error = await bench.bring(two, { settings }).catch((error) => error);
  assertStringIncludes(String(error), limit);
  assertStringIncludes(await bench.failure(server.at("/endless"), { settings }), limit);
  // Nothing of what was given up is left.
  await bench.remote.close();
  assertEquals(bench.cached(), [sha256(half)]);
});

Deno.test("remote: there is a limit to how long all files take together", async () => {
  await using bench = await Bench.make();
  await using server = new TestServer((_request, { pathname }) => {
    if (pathname === "/silent") return new Promise(() => {});
    return new Response(
      new ReadableStream({ start: (stream) => stream.enqueue(new Uint8Array(3)) }),
    );
  });
  const settings = { ...PRIVATE, timeout: 1 };
  const limit = "not complete after 1 s, the limit of the setting inputs.timeout";
  const messages = await Promise.all([
    bench.failure(server.at("/silent"), { settings }),
    bench.failure(server.at("/stalls"), { settings }),
  ]);
  for (const message of messages) assertStringIncludes(message, limit);
});

Deno.test("remote: waiting for a server that wants to be left alone ends with the time", async () => {
  await using bench = await Bench.make();
  await using server = new TestServer(() =>
    new Response(null, { status: 503, headers: { "retry-after": "3600" } })
  );
  const message = await bench.failure(server.at("/"), { settings: { ...PRIVATE, timeout: 1 } });
  assertStringIncludes(message, "not complete after 1 s");
  assertStringIncludes(bench.told[1] ?? "", "it is tried again in 30 s");
  assertEquals(server.asked.length, 1);
});

Deno.test("remote: TLS, and who proves to be the host", async () => {
  const read = (name: string) =>
    Deno.readTextFileSync(new URL(`../../../http/${name}`, import.meta.url));
  const tls = { cert: read("localhost_cert.pem"), key: read("localhost_key.pem") };
  await using server = new TestServer(() => new Response("safe"), tls);
  const network = {
    ...EAGER,
    caCerts: [read("localhost_ca.pem")],
    resolve: () => Promise.resolve(["127.0.0.1"]),
  };
  await using bench = await Bench.make({ network });
  const at = (host: string) => `https://user:${SECRET}@${host}:${server.port}/`;
  assertEquals((await bench.fetch(at("localhost"))).texts, { "data.csv": "safe" });
  assertEquals((await bench.fetch(at("127.0.0.1"))).texts, { "data.csv": "safe" });
  assertStringIncludes(await bench.failure(at("other.example")), "TLS fails");
  await using strict = await Bench.make();
  assertStringIncludes(await strict.failure(at("localhost")), "TLS fails");
  // Nobody who did not prove to be the host was asked, and nobody was asked twice.
  assertEquals(server.asked.length, 2);
});
