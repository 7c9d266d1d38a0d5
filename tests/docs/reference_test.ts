import { assertEquals } from "@std/assert";
import { referencePages } from "./reference.ts";

Deno.test("the references of the API, the command line and metrics are current: run deno task docs", async () => {
  for (const { path, found, expected } of await referencePages()) {
    assertEquals(found, expected, path);
  }
});
