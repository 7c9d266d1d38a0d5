/** The page of steps names every key that a step may have. */
import { assertEquals } from "@std/assert";
import { stepSchema } from "../../src/projects/format/step/step.ts";

Deno.test("the page of steps names every key of a step", async () => {
  const page = await Deno.readTextFile(new URL("../../src/docs/steps.md", import.meta.url));
  const keys = Object.keys(stepSchema.in.shape);
  assertEquals(keys.filter((key) => !page.includes(`\`${key}\``)), []);
});
