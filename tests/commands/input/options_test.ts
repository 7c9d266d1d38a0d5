/** The values of options, as they are written. */
import { assertEquals, assertThrows } from "@std/assert";
import { InvalidArgumentError } from "commander";
import { byteSize, list, wholeNumber } from "../../../src/commands/input/options.ts";

Deno.test("sizes are read with units of 1024, whatever their case, up to the largest", () => {
  const read = byteSize(2 ** 31);
  const sizes: [text: string, bytes: number][] = [
    ["1", 1],
    ["1048576", 1_048_576],
    ["500k", 512_000],
    ["500 KiB", 512_000],
    ["16MiB", 16_777_216],
    ["16mb", 16_777_216],
    ["2g", 2 ** 31],
    ["7B", 7],
  ];
  for (const [text, bytes] of sizes) assertEquals(read(text), bytes, text);
  for (const text of ["0", "0k", "2147483649", "3g", "", "k", "1.5m", "-1", "1t", "1 2", "0x10"]) {
    assertThrows(() => read(text), InvalidArgumentError, "from 1 to 2147483648 bytes", text);
  }
});

Deno.test("whole numbers are digits alone, within their bounds", () => {
  const read = wholeNumber(1, 200);
  for (const [text, value] of [["1", 1], ["007", 7], ["200", 200]] as const) {
    assertEquals(read(text), value);
  }
  for (const text of ["0", "201", "", " 1", "1e2", "0x10", "-1", "1.0"]) {
    assertThrows(() => read(text), InvalidArgumentError, "from 1 to 200", text);
  }
});

Deno.test("a list is made of several options, or of one with commas", () => {
  assertEquals(list("b", ["a"]), ["a", "b"]);
  assertEquals(list("10.0.0.1, ::1,", undefined), ["10.0.0.1", "::1"]);
});
