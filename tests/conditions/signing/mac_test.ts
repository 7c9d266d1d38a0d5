/**
 * HMACs against the vectors of RFC 4231 and RFC 2202, and against another implementation.
 */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { createHmac } from "node:crypto";
import { macMaker, macMatcher } from "../../../src/conditions/signing/algorithms.ts";
import { MAC_BYTES, type MacAlgorithm } from "../../../src/conditions/signing/scheme.ts";

const encoder = new TextEncoder();

function filled(value: number, length: number): Uint8Array {
  return new Uint8Array(length).fill(value);
}

/** RFC 4231 sections 4.2, 4.3 and 4.7 (a key longer than a block); RFC 2202 section 3, cases 1 and 6. */
const vectors: readonly [MacAlgorithm, key: Uint8Array, data: string, mac: string][] = [
  [
    "sha256",
    filled(0x0b, 20),
    "Hi There",
    "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
  ],
  [
    "sha256",
    encoder.encode("Jefe"),
    "what do ya want for nothing?",
    "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
  ],
  [
    "sha256",
    filled(0xaa, 131),
    "Test Using Larger Than Block-Size Key - Hash Key First",
    "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
  ],
  [
    "sha384",
    filled(0x0b, 20),
    "Hi There",
    "afd03944d84895626b0825f4ab46907f15f9dadbe4101ec682aa034c7cebc59cfaea9ea9076ede7f4af152e8b2fa9cb6",
  ],
  [
    "sha512",
    encoder.encode("Jefe"),
    "what do ya want for nothing?",
    "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737",
  ],
  ["sha1", filled(0x0b, 20), "Hi There", "b617318655057264e28bc0b6fb378c8ef146be00"],
  [
    "sha1",
    filled(0xaa, 80),
    "Test Using Larger Than Block-Size Key - Hash Key First",
    "aa4ae5e15272d00e95705637ce8a3b55ed402112",
  ],
];

for (const [algorithm, key, data, expected] of vectors) {
  Deno.test(`HMAC-${algorithm} of "${data}"`, () => {
    assertEquals(macMaker(algorithm, key)([encoder.encode(data)]).toHex(), expected);
  });
}

Deno.test("HMACs of any key and content are those of WebCrypto, which checks long contents", async () => {
  const algorithms = fc.constantFrom(...Object.keys(MAC_BYTES) as MacAlgorithm[]);
  const pieces = fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 4 });
  const keys = fc.uint8Array({ minLength: 1, maxLength: 300 });
  await fc.assert(
    fc.asyncProperty(algorithms, keys, pieces, async (algorithm, key, pieces) => {
      const mac = macMaker(algorithm, key)(pieces);
      const other = mac.map((byte, at) => at === 0 ? byte ^ 1 : byte);
      const { matches, matchesLong } = macMatcher(algorithm, [key, encoder.encode("other")]);
      for (const [macs, expected] of [[[other, mac], true], [[other], false]] as const) {
        assertEquals(matches(pieces, macs), expected);
        assertEquals(await matchesLong(pieces, macs), expected);
      }
    }),
  );
});

Deno.test("HMACs of long contents are right", () => {
  const mac = macMaker("sha256", encoder.encode("secret"));
  for (const size of [64 * 1024 - 1, 64 * 1024, 64 * 1024 + 1, 1024 * 1024]) {
    const body = filled(7, size);
    const expected = createHmac("sha256", "secret").update("v0:").update(body).digest("hex");
    assertEquals(mac([encoder.encode("v0:"), body]).toHex(), expected);
  }
});
