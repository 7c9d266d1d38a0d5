/**
 * URLs that lead to what only this machine and its network can reach are refused, in whatever form.
 *
 * @module
 */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { isPublic } from "../../../../src/platform/network/public_addresses.ts";
import { Bench, EAGER, TestServer } from "./fixture.ts";

const REFUSED = "set inputs.private_networks of the project's engine to true";

const hosts = [
  "127.0.0.1",
  "127.1",
  "2130706433",
  "0x7f000001",
  "0x7f.1",
  "0177.0.0.1",
  "017700000001",
  "①②⑦.0.0.1",
  "127.0.0.1.",
  "0.0.0.0",
  "0",
  "10.1.2.3",
  "172.16.0.1",
  "192.168.0.1",
  "169.254.169.254",
  "100.64.0.1",
  "224.0.0.1",
  "255.255.255.255",
  "[::]",
  "[::1]",
  "[::ffff:127.0.0.1]",
  "[::ffff:7f00:1]",
  "[::127.0.0.1]",
  "[64:ff9b::127.0.0.1]",
  "[fe80::1]",
  "[fd00::1]",
  "[ff02::1]",
  "localhost",
  "LOCALHOST",
];

Deno.test("private networks: no form of such a host is asked", async () => {
  await using bench = await Bench.make();
  await using server = new TestServer(() => new Response("secret"));
  for (const host of hosts) {
    for (const scheme of ["http", "https"]) {
      const url = `${scheme}://${host}:${server.port}/`;
      assertStringIncludes(await bench.failure(url, { settings: {} }), REFUSED, url);
    }
  }
  assertEquals(server.asked, []);
  // Asking again changes nothing.
  assertEquals(bench.told.length, hosts.length * 2);
});

Deno.test("private networks: a redirect to one is refused, and who allows them is asked", async () => {
  // Here, the server's own address stands for one of the public internet.
  const network = { ...EAGER, isPublic: (address: string) => address === "127.0.0.1" };
  await using bench = await Bench.make({ network });
  await using server = new TestServer((_request, { searchParams }) =>
    new Response(null, { status: 302, headers: { location: searchParams.get("to") ?? "" } })
  );
  for (
    const to of [
      "http://169.254.169.254/latest/meta-data/",
      "http://[::1]/",
      "http://[::ffff:127.0.0.1]/",
      "//10.0.0.1/",
      "https://192.168.0.1/",
    ]
  ) {
    const message = await bench.failure(server.at(`/?to=${encodeURIComponent(to)}`), {
      settings: {},
    });
    assertStringIncludes(message, REFUSED);
    assertStringIncludes(message, "it redirects to ");
  }
});

Deno.test("private networks: the connection goes to the address that was checked", async () => {
  await using server = new TestServer(() => new Response("secret"));
  const resolved: string[][] = [];
  const answers = [["192.0.2.1"], ["127.0.0.1"]];
  const network = {
    ...EAGER,
    resolve: (host: string) => {
      const addresses = answers[resolved.length] ?? ["127.0.0.1"];
      resolved.push([host, ...addresses]);
      return Promise.resolve(addresses);
    },
  };
  // The first answer is fine, as far as the check goes; what the name stands for then is not.
  await using bench = await Bench.make({
    network: { ...network, isPublic: (address) => address === "192.0.2.1", backoff_ms: [] },
  });
  const message = await bench.failure(`http://rebound.example:${server.port}/`, { settings: {} });
  assertStringIncludes(message, "its host cannot be reached");
  assertEquals(resolved, [["rebound.example", "192.0.2.1"]]);
  assertEquals(server.asked, []);
});

Deno.test("private networks: of a host's addresses, only public ones are connected to", async () => {
  await using server = new TestServer(() => new Response("public"));
  const resolve = () => Promise.resolve(["10.0.0.1", "::1", "127.0.0.1"]);
  const network = { ...EAGER, resolve, isPublic: (address: string) => address === "127.0.0.1" };
  await using bench = await Bench.make({ network });
  const { texts } = await bench.fetch(`http://mixed.example:${server.port}/`, { settings: {} });
  assertEquals(texts, { "data.csv": "public" });
  assertEquals(server.headers[0]?.get("host"), `mixed.example:${server.port}`);
});

Deno.test("private networks: names that stand for such addresses, or for none", async () => {
  for (
    const [addresses, message] of [
      [["127.0.0.1"], REFUSED],
      [["::ffff:10.0.0.1"], REFUSED],
      [["fe80::1%eth0"], REFUSED],
      [["nonsense"], REFUSED],
      [[], "its host has no address"],
    ] as const
  ) {
    const network = { ...EAGER, isPublic, resolve: () => Promise.resolve([...addresses]) };
    await using bench = await Bench.make({ network });
    const failure = await bench.failure("http://intranet.example/", { settings: {} });
    assertStringIncludes(failure, message);
  }
});

Deno.test("private networks: what one project may reach is not shared with another", async () => {
  await using bench = await Bench.make();
  const { promise: asked, resolve: isAsked } = Promise.withResolvers<void>();
  const { promise, resolve } = Promise.withResolvers<Response>();
  await using server = new TestServer(() => {
    isAsked();
    return promise;
  });
  const allowed = bench.fetch(server.at("/"));
  await asked;
  const refused = await bench.failure(server.at("/"), { settings: {}, project: "other" });
  assertStringIncludes(refused, REFUSED);
  resolve(new Response("internal", { headers: { etag: '"1"' } }));
  assertEquals((await allowed).texts, { "data.csv": "internal" });
  // Nor what is kept of it.
  assertStringIncludes(await bench.failure(server.at("/"), { settings: {} }), REFUSED);
});
