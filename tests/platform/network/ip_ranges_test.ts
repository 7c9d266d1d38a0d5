/** Ranges of addresses hold what their bits say, however an address is written. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  AddressRanges,
  canonicalAddress,
  isAddressRange,
  networkOf,
} from "../../../src/platform/network/ip_ranges.ts";
import { anyText, pieces } from "../../arbitraries.ts";

const byte = fc.integer({ min: 0, max: 255 });
const v4 = fc.tuple(byte, byte, byte, byte);
const word = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 0xffff }));
const v6 = fc.array(word, { minLength: 8, maxLength: 8 });

const bitsOf = (parts: readonly number[], width: number) =>
  parts.map((part) => part.toString(2).padStart(width, "0")).join("");
const v6Text = (words: readonly number[]) => words.map((word) => word.toString(16)).join(":");
/** The same address, shortened as URLs write it (RFC 5952). */
const shortened = (words: readonly number[]) =>
  new URL(`http://[${v6Text(words)}]`).hostname.slice(1, -1);

/** The bits of a range, and of an address that begins with as many of them as a number says. */
function near<Parts extends readonly number[]>(
  base: Parts,
  other: Parts,
  same: number,
  width: number,
) {
  const bits = bitsOf(base, width).slice(0, same) + bitsOf(other, width).slice(same);
  return base.map((_, i) => parseInt(bits.slice(i * width, (i + 1) * width), 2));
}

Deno.test("an IPv4 range holds the addresses that begin with its bits, and no other", () => {
  fc.assert(
    fc.property(v4, v4, fc.nat(32), fc.nat(32), (base, other, prefix, same) => {
      const address = near(base, other, same, 8);
      const range = `${base.join(".")}/${prefix}`;
      assert(isAddressRange(range));
      const isIn = bitsOf(base, 8).slice(0, prefix) === bitsOf(address, 8).slice(0, prefix);
      assertEquals(new AddressRanges(["192.0.2.0/32", range]).has(address.join(".")), isIn, range);
    }),
    { numRuns: 300 },
  );
});

Deno.test("an IPv6 range holds the addresses that begin with its bits, and no other", () => {
  // Addresses that stand for IPv4 are looked for among IPv4 ranges as well: not here.
  fc.assert(
    fc.property(v6, v6, fc.nat(128), fc.nat(128), (base, other, prefix, same) => {
      const address = near(base, other, same, 16);
      const isIn = bitsOf(base, 16).slice(0, prefix) === bitsOf(address, 16).slice(0, prefix);
      const ranges = [new AddressRanges([`${v6Text(base)}/${prefix}`])];
      ranges.push(new AddressRanges([`${shortened(base)}/${prefix}`]));
      for (const range of ranges) {
        assertEquals(range.has(v6Text(address)), isIn);
        assertEquals(range.has(shortened(address)), isIn);
      }
    }),
    { numRuns: 300 },
  );
});

Deno.test("an address without a prefix is a range of itself alone", () => {
  for (
    const [address, next] of [["192.0.2.7", "192.0.2.6"], ["2001:db8::7", "2001:db8::6"]] as const
  ) {
    const range = new AddressRanges([address]);
    assertEquals([range.has(address), range.has(next)], [true, false]);
  }
});

Deno.test("any text that is taken for a range makes one, and any other is refused", () => {
  const signs = [
    "0",
    "1",
    "255",
    "10.0.0.0",
    ".",
    ":",
    "::",
    "/",
    "8",
    "129",
    "%",
    "eth0",
    "fe80::1",
  ];
  const zones = fc.constantFrom("fe80::1%eth0", "fe80::1%eth0/64", "fe80::1%", "::1/128", "::/0");
  fc.assert(
    fc.property(fc.oneof(anyText, pieces(...signs), zones, fc.ipV4(), fc.ipV6()), (text) => {
      if (isAddressRange(text)) new AddressRanges([text]).has("192.0.2.7");
      new AddressRanges(["10.0.0.0/8", "fd00::/8"]).has(text);
    }),
    { numRuns: 500 },
  );
});

Deno.test("an IPv6 address belongs to the network of its first 64 bits, however it is written", () => {
  // A mapped IPv4 address is another kind of network: see below.
  const isMapped = (words: readonly number[]) => /^(0,){5}65535,/.test(words.join());
  fc.assert(fc.property(v6, v6, (words, other) => {
    const mixed = [...words.slice(0, 4), ...other.slice(4)];
    fc.pre(![words, other, mixed].some(isMapped));
    const network = networkOf(v6Text(words));
    assertEquals(networkOf(shortened(words)), network);
    assertEquals(networkOf(v6Text(mixed)), network);
    const isSame = other.slice(0, 4).join() === words.slice(0, 4).join();
    assertEquals(networkOf(shortened(other)) === network, isSame);
  }));
  assertEquals(networkOf("64:ff9b:0:1::192.0.2.7"), networkOf("64:ff9b:0:1::1"));
});

Deno.test("an IPv4 address is a network of its own, as is text that is no address", () => {
  for (const text of ["192.0.2.7", "unknown", ""]) assertEquals(networkOf(text), text);
});

Deno.test("an address has one way to write it", () => {
  const cases: [written: string, canonical: string][] = [
    ["192.0.2.7", "192.0.2.7"],
    ["::ffff:192.0.2.7", "192.0.2.7"],
    ["::FFFF:c000:207", "192.0.2.7"],
    ["0:0:0:0:0:ffff:192.0.2.7", "192.0.2.7"],
    ["0000:0000:0000:0000:0000:ffff:c000:0207", "192.0.2.7"],
    ["2001:DB8:0:0:0:0:0:1", "2001:db8::1"],
    ["2001:0db8::0001", "2001:db8::1"],
    ["fe80::1%eth0", "fe80::1"],
    ["::1", "::1"],
    ["unknown", "unknown"],
    ["", ""],
  ];
  for (const [written, canonical] of cases) {
    assertEquals(canonicalAddress(written), canonical, written);
    assertEquals(networkOf(written), networkOf(canonical), written);
  }
});
