/** Who sends a request: nothing that a sender writes makes it another, whatever it is. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { isIP } from "node:net";
import { AddressRanges, canonicalAddress } from "../../src/platform/network/ip_ranges.ts";
import { peerOf } from "../../src/http/peer.ts";
import { pieces } from "../arbitraries.ts";

const exposure = { tls: false, dev: false, trustedProxies: new AddressRanges(["10.0.0.0/8"]) };
const proxy = fc.integer({ min: 0, max: 255 }).map((last) => `10.0.0.${last}`);
const stranger = fc.oneof(
  fc.ipV4().filter((address) => !address.startsWith("10.")),
  fc.integer({ min: 1, max: 0xffff }).map((last) => `2001:db8::${last.toString(16)}`),
);
/** A header cannot hold other characters. */
const header = fc.oneof(
  fc.string(),
  pieces("10.0.0.1", "192.0.2.7", ",", " ", "[", "]", "::1", ":80", "%", "https", "::ffff:"),
);
const headers = (forwardedFor: string, proto: string) =>
  new Headers({ "x-forwarded-for": forwardedFor, "x-forwarded-proto": proto });

Deno.test("a stranger is who it is over what it uses, whatever its headers say", () => {
  fc.assert(fc.property(stranger, header, header, (address, list, proto) => {
    const found = peerOf(headers(list, proto), address, exposure);
    assertEquals(found, { ip: address, secure: false });
  }));
});

Deno.test("what a client writes before the proxies' own addresses changes nothing", () => {
  fc.assert(fc.property(
    header,
    stranger,
    fc.array(proxy, { maxLength: 3 }),
    proxy,
    (forged, client, hops, nearest) => {
      const list = [forged, client, ...hops].join(", ");
      const found = peerOf(headers(list, `${forged}, https`), nearest, exposure);
      assertEquals(found, { ip: client, secure: true });
    },
  ));
});

Deno.test("whatever a proxy lists, the client has an address of it, or is unknown", () => {
  fc.assert(
    fc.property(header, header, proxy, (list, proto, nearest) => {
      const { ip } = peerOf(headers(list, proto), nearest, exposure);
      if (ip === "unknown") return;
      assert(isIP(ip) !== 0, ip);
      // It is one of those that stand there, not one that was made of something else.
      const listed = list.split(",").map((hop) =>
        canonicalAddress(hop.trim().replace(/^\[([^\]]*)\](:\d+)?$|^([\d.]+):\d+$/, "$1$3"))
      );
      assert(ip === nearest || listed.includes(ip), `${ip} of ${list}`);
    }),
    {
      numRuns: 1_000,
      examples: [
        ["[::12", "https", "10.0.0.1"],
        ["[::1]x", "", "10.0.0.1"],
        ["[10.0.0.1:80]", "", "10.0.0.0"],
      ],
    },
  );
});

Deno.test("addresses are counted from the right, up to one that is no proxy's; one that cannot be read is unknown", () => {
  const cases: [list: string, ip: string][] = [
    ["192.0.2.7", "192.0.2.7"],
    ["192.0.2.7, 10.0.0.2", "192.0.2.7"],
    ["192.0.2.7, 198.51.100.1, 10.0.0.2", "198.51.100.1"],
    // A hop that a proxy could not name stands between it and the list that the client has written.
    ["192.0.2.7, unknown", "unknown"],
    ["192.0.2.7, unknown, 10.0.0.2", "unknown"],
    ["192.0.2.7, , 10.0.0.2", "unknown"],
    ["unix:", "unknown"],
    ["nonsense, 192.0.2.7, 10.0.0.2", "192.0.2.7"],
    ["10.0.0.3, 10.0.0.2", "10.0.0.3"],
    ["", "10.0.0.1"],
    [" ", "10.0.0.1"],
    ["[fe80::1%eth0]:80", "fe80::1"],
    ["::ffff:192.0.2.7", "192.0.2.7"],
    ["0:0:0:0:0:FFFF:c000:207", "192.0.2.7"],
    ["[2001:DB8:0::1]:443", "2001:db8::1"],
  ];
  for (const [list, ip] of cases) {
    assertEquals(peerOf(headers(list, "HTTPS"), "10.0.0.1", exposure), { ip, secure: true }, list);
  }
});

Deno.test("plain HTTP is taken for trying things out from this machine alone", () => {
  const dev = { ...exposure, dev: true };
  for (const [ip, secure] of [["127.0.0.1", true], ["::1", true], ["192.0.2.7", false]] as const) {
    assertEquals(peerOf(headers("", "https"), ip, dev), { ip, secure });
  }
});
