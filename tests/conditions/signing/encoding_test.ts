/** What is written can be read; what is not exactly an encoding is refused. */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  decode,
  encode,
  encodedLength,
  type Encoding,
} from "../../../src/conditions/signing/encoding.ts";

const encodings: Encoding[] = ["hex", "base64", "base64url"];

Deno.test("decode reads what encode wrote, and its length is known", () => {
  fc.assert(fc.property(fc.uint8Array(), fc.constantFrom(...encodings), (bytes, encoding) => {
    const text = encode(bytes, encoding);
    assertEquals(text.length, encodedLength(bytes.length, encoding));
    assertEquals(decode(text, encoding)?.toString(), bytes.toString());
  }));
});

Deno.test("decode reads upper-case hex, and base64 with and without its padding", () => {
  fc.assert(fc.property(fc.uint8Array(), (bytes) => {
    const upper = encode(bytes, "hex").toUpperCase();
    const unpadded = encode(bytes, "base64").replaceAll("=", "");
    const url = encode(bytes, "base64url");
    const padded = url + "=".repeat((4 - url.length % 4) % 4);
    assertEquals(decode(upper, "hex")?.toString(), bytes.toString());
    assertEquals(decode(unpadded, "base64")?.toString(), bytes.toString());
    assertEquals(decode(padded, "base64url")?.toString(), bytes.toString());
  }));
});

const malformed: { encoding: Encoding; text: string; why: string }[] = [
  { encoding: "hex", text: "abc", why: "an odd number of digits" },
  { encoding: "hex", text: "0g", why: "no digit" },
  { encoding: "hex", text: " ab", why: "white space" },
  { encoding: "hex", text: "0x", why: "a prefix" },
  { encoding: "base64", text: "-_8=", why: "the other alphabet" },
  { encoding: "base64url", text: "+/8=", why: "the other alphabet" },
  { encoding: "base64", text: "aGk =", why: "white space" },
  { encoding: "base64", text: "aGk\n", why: "a line end" },
  { encoding: "base64", text: "YWJj    ZGVm", why: "blanks in place of four characters" },
  { encoding: "base64url", text: "YWJj    ZGVm", why: "blanks in place of four characters" },
  { encoding: "base64", text: "aA=", why: "too little padding" },
  { encoding: "base64", text: "aGk==", why: "too much padding" },
  { encoding: "base64", text: "aGk=a", why: "padding in the middle" },
  { encoding: "base64", text: "aGl", why: "bits behind the last byte" },
  { encoding: "base64", text: "aGkxa", why: "a lone character" },
  { encoding: "base64", text: "====", why: "nothing but padding" },
];

for (const { encoding, text, why } of malformed) {
  Deno.test(`decode refuses ${encoding} with ${why}`, () => {
    assertEquals(decode(text, encoding), undefined);
  });
}
