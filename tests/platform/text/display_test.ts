import { assertEquals } from "@std/assert";
import { formatBytes } from "../../../src/platform/text/display.ts";

Deno.test("shown size: in the largest unit of which there is one", () => {
  const sizes = [0, 1_023, 1_024, 12_900_000, 5 * 1024 ** 3, 3e15].map(formatBytes);
  assertEquals(sizes, ["0 B", "1023 B", "1.0 KiB", "12.3 MiB", "5.0 GiB", "2728.5 TiB"]);
});
