import { assertEquals } from "@std/assert";
import { startService } from "../../data.ts";

Deno.test("a header in UTF-8 is the same text to a filter, in the delivery, and when it is replayed", async () => {
  await using service = await startService();
  const title = "Zürich 日本";
  const trigger = await service.trigger({
    conditions: [
      { type: "payload_filter", expression: `headers['x-title'] == '${title}'` },
      { type: "deduplication", in: "header", name: "X-Title" },
    ],
  });
  // Each character stands for a byte.
  const sent = String.fromCharCode(...new TextEncoder().encode(title));
  const answer = await fetch(trigger.url, { method: "POST", headers: { "x-title": sent } });
  assertEquals([answer.status, await answer.text()], [200, '{"status":"accepted"}']);
  const { body: { results: [{ id, delivery_id }] } } = await service.api("GET", "deliveries/");
  const { body: delivery } = await service.api("GET", `deliveries/${id}/`);
  assertEquals([delivery.headers["x-title"], delivery_id], [title, title]);
  const tried = await service.api("POST", `triggers/${trigger.id}/try-filter/`, {
    filter: { type: "payload_filter", expression: `headers['x-title'] == '${title}'` },
  });
  assertEquals(tried.status, 200, JSON.stringify(tried.body));
  assertEquals(tried.body.results?.map(({ verdict }: { verdict: string }) => verdict), ["passed"]);
});
