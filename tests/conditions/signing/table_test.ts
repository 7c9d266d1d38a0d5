/** The page of providers shows the presets as they are. */
import { assert, assertEquals } from "@std/assert";
import { readPage } from "./preset_table.ts";

Deno.test("providers.md has the table of presets: 'deno task presets' writes it", async () => {
  const { found, expected } = await readPage();
  assert(found.includes("| `github` (hmac)"));
  assertEquals(found, expected);
});
