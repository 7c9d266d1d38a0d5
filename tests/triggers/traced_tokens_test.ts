import { assertEquals } from "@std/assert";
import { tracedTokenWarnings } from "../../src/triggers/traced_tokens.ts";
import { triggerSchema } from "../../src/triggers/trigger.ts";

Deno.test("tokens in the query are warned of on Deno Deploy, whose traces hold URLs", () => {
  const token = { type: "static_token", secrets: ["a-long-token-of-the-tests"] };
  const { conditions } = triggerSchema.parse({
    name: "t",
    project: "p",
    actions: [{ type: "fetch_repository" }],
    conditions: [
      { ...token, in: "query", name: "token" },
      { ...token, in: "header", name: "X-Token" },
      { type: "jwt", algorithms: ["HS256"], in: "query", name: "jwt", secrets: ["x".repeat(32)] },
      { type: "rate_limit", period: 60, quota: 1 },
    ],
  });
  const on = (value: string | undefined) => (name: string) =>
    name === "DENO_DEPLOY" ? value : undefined;
  assertEquals(
    tracedTokenWarnings(conditions, on("true")).map(({ pointer }) => pointer),
    ["/0", "/2"],
  );
  assertEquals(tracedTokenWarnings(conditions, on(undefined)), []);
});
