/** YAML on the pages that no command uses: each block is read as what it is. */
import { assert, assertEquals } from "@std/assert";
import { z } from "zod";
import { actionSchema } from "../../src/actions/mod.ts";
import { conditionSchema } from "../../src/conditions/mod.ts";
import { parseConfig } from "../../src/config/document.ts";
import { parseYaml } from "../../src/platform/yaml/parse.ts";
import { readConfigFile } from "../../src/projects/format/config_file.ts";
import { type Block, blocksOf, documents } from "./blocks.ts";

/** Parts of a trigger, as pages show them. */
const partsSchema = z.strictObject({
  conditions: z.array(conditionSchema),
  actions: z.array(actionSchema),
}).partial();

Deno.test("each YAML block on the pages is what the service reads", () => {
  for (const block of documents().flatMap(blocksOf)) {
    if (block.language !== "yaml" || block.file?.endsWith(".yml")) continue;
    read(block);
  }
});

function read({ text, at }: Block): void {
  const { value } = parseYaml(text, at);
  assert(typeof value === "object" && value !== null, at);
  if (Array.isArray(value)) {
    readConfigFile(text, at);
  } else if (
    ["storage", "backup", "oidc", "projects", "triggers", "notifications"].some((name) =>
      name in value
    )
  ) {
    parseConfig(text, at);
  } else {
    const { success, error } = partsSchema.safeParse(value);
    assertEquals(success, true, `${at}: ${error?.message}`);
  }
}
