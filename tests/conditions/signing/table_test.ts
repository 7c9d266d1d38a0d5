/** The page of providers shows the presets as they are. */
import { assertEquals } from "@std/assert";
import { presetTable } from "./preset_table.ts";

Deno.test("providers.md contains the table of presets between its markers", async () => {
  const readme = await Deno.readTextFile(
    new URL("../../../src/docs/providers.md", import.meta.url),
  );
  const found = /<!-- presets -->\n+([^]*?)\n+<!-- \/presets -->/.exec(readme)?.[1];
  assertEquals(found, presetTable());
});
