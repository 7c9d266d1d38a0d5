/**
 * Which addresses are of the public internet.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { hasPublicHost, isPublic } from "../../../src/platform/network/public_addresses.ts";

const notPublic = [
  "127.0.0.1",
  "127.255.255.254",
  "0.0.0.0",
  "0.1.2.3",
  "10.0.0.1",
  "172.16.0.1",
  "172.31.255.255",
  "192.168.1.1",
  "169.254.169.254",
  // Of the metadata of clouds.
  "168.63.129.16",
  "64:ff9b::168.63.129.16",
  "169.254.0.23",
  "169.254.42.42",
  "100.100.100.200",
  "192.0.0.192",
  "fd00:ec2::254",
  "fd20:ce::254",
  "fd00:42::42",
  "fd00:a9fe:a9fe::1",
  "fe80::a9fe:a9fe",
  "100.64.0.1",
  "100.127.255.255",
  "198.18.0.1",
  "192.0.0.1",
  "192.0.2.1",
  "192.88.99.1",
  "198.51.100.7",
  "203.0.113.9",
  "224.0.0.1",
  "239.255.255.255",
  "240.0.0.1",
  "255.255.255.255",
  "::",
  "::1",
  "::127.0.0.1",
  "::ffff:127.0.0.1",
  "::ffff:7f00:1",
  "::ffff:10.0.0.1",
  "::ffff:8.8.8.8",
  "64:ff9b::127.0.0.1",
  "64:ff9b::a00:1",
  "64:ff9b::169.254.169.254",
  "64:ff9b:1::1",
  "100::1",
  "2001::1",
  "2001:db8::1",
  "2002:7f00:1::",
  "3fff::1",
  "fc00::1",
  "fdff::1",
  "fe80::1",
  "fe80::1%eth0",
  "fec0::1",
  "ff02::1",
  "",
  "localhost",
  "127.1",
  "1.2.3",
  "nonsense",
];
const ofThePublic = [
  "1.1.1.1",
  "8.8.8.8",
  "100.63.255.255",
  "100.128.0.1",
  "168.63.129.15",
  "168.63.129.17",
  "172.15.255.255",
  "172.32.0.1",
  "192.167.255.255",
  "223.255.255.255",
  "2606:4700::1111",
  "2a00:1450:4001::200e",
  "64:ff9b::8.8.8.8",
];

for (const address of notPublic) {
  Deno.test(`addresses: ${address || "nothing"} is not public`, () => {
    assertEquals(isPublic(address), false);
  });
}

for (const address of ofThePublic) {
  Deno.test(`addresses: ${address} is public`, () => assertEquals(isPublic(address), true));
}

Deno.test("addresses: no IPv4 address is public in another form when it is not in its own", () => {
  const byte = fc.integer({ min: 0, max: 255 });
  fc.assert(fc.property(byte, byte, byte, byte, (a, b, c, d) => {
    const address = `${a}.${b}.${c}.${d}`;
    assertEquals(isPublic(`::ffff:${address}`), false);
    assertEquals(isPublic(`64:ff9b::${address}`), isPublic(address));
  }));
});

for (
  const [url, isPublicHost] of [
    ["https://issuer.example/jwks", true],
    ["https://192.0.2.1/", false],
    ["https://1.1.1.1/", true],
    ["https://10.0.0.1/", false],
    ["http://localhost/", false],
    ["http://LOCALHOST.:8080/", false],
    ["http://api.localhost/", false],
    ["http://notlocalhost/", true],
    ["http://127.0.0.1/", false],
    ["http://2130706433/", false],
    ["http://0x7f.1/", false],
    ["https://[::1]/", false],
    ["https://[fd00::1]/", false],
    ["https://[::ffff:10.0.0.1]/", false],
  ] as const
) {
  Deno.test(`hasPublicHost: ${url} ${isPublicHost ? "may have" : "has no"} public address`, () => {
    assertEquals(hasPublicHost(url), isPublicHost);
  });
}
