/** The page of providers shows the presets as they are. */
import { assert, assertEquals } from "@std/assert";
import { readPage } from "./preset_table.ts";

Deno.test("providers.md has the table of presets: 'deno task presets' writes it", async () => {
  const { found, expected } = await readPage();
  assert(found.includes("| `github` (hmac)"));
  // `deno fmt` has broken the lines.
  const words = (page: string) => page.replaceAll(/\s+/g, " ");
  assertEquals(words(found), words(expected));
});
