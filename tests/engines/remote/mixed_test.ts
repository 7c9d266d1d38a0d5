/** Executions of different engines use each other's outputs. */
import { mixEngines } from "../mixed.ts";

Deno.test(
  "remote: outputs go from one engine to another, by edges and as data, and so does a long payload",
  () => mixEngines({ fields: { engine: { type: "remote" } } }),
);
