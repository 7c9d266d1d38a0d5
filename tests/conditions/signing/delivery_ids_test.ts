/** Delivery ids of presets: a repeat has the same id, and another event has another. */
import { assertEquals, assertNotEquals } from "@std/assert";
import type { Field } from "../../../src/conditions/field.ts";
import { hmacPresets, tokenPresets } from "../../../src/conditions/signing/presets/mod.ts";
import { prepareConditions } from "../../../src/conditions/prepare.ts";
import { keptId } from "../../../src/runs/delivery_ids.ts";
import { childOf, pointerParts } from "../../../src/platform/schema/pointer.ts";
import { context, json, request, type RequestParts } from "../fixture.ts";

/** Bodies of two events, as the pages of the providers show them. */
const events: Record<string, [unknown, unknown]> = {
  datocms: [
    { webhook_call_id: "103216210", entity_type: "item", event_type: "update" },
    { webhook_call_id: "103216211", entity_type: "item", event_type: "update" },
  ],
  ashby: [
    { action: "applicationSubmit", webhookActionId: "75395d87-4044-4dc4-bc29-0cec185e5f06" },
    { action: "applicationSubmit", webhookActionId: "d1b1f3fd-995a-4066-88ab-8ce4f6960654" },
  ],
  quickbooks: [
    [{ id: "88cd52aa-33b6-4351-9aa4-47572edbd068", type: "qbo.account.created.v1" }],
    [{ id: "5f3ce6c1-0d4e-4b5c-9d6f-8f0f1f0c2f8a", type: "qbo.account.created.v1" }],
  ],
  new_relic: [{ id: "0ea2df1c", state: "ACTIVATED" }, { id: "0ea2df1c", state: "CLOSED" }],
  scale: [
    { task: { task_id: "576c41bf", status: "completed" }, task_id: "576c41bf" },
    { task: { task_id: "576c41bf", customer_review_status: "fixed" }, task_id: "576c41bf" },
  ],
  // An edit of a message, where Run On Edits is on, has the id of the message.
  rocket_chat: [
    { token: "t", message_id: "8JmQNXmL4Pz9GfkFe", text: "deploy" },
    { token: "t", message_id: "8JmQNXmL4Pz9GfkFe", text: "deploy it", isEdited: true },
  ],
  viber: [
    { event: "delivered", timestamp: 1457764197627, message_token: 4912661846655238145 },
    { event: "seen", timestamp: 1457764198000, message_token: 4912661846655238145 },
  ],
};

function idField(name: string): Field | undefined {
  return hmacPresets[name]?.scheme.delivery_id ?? tokenPresets[name]?.delivery_id;
}

Deno.test("no preset takes for a delivery's id what two events of it share", () => {
  for (const [name, bodies] of Object.entries(events)) {
    const field = idField(name);
    if (field === undefined) continue;
    assertEquals(field.in, "body", name);
    const path = field.name.startsWith("/") ? pointerParts(field.name) : [field.name];
    const [one, other] = bodies.map((body) => path.reduce<unknown>(childOf, body));
    assertNotEquals(one, undefined, name);
    assertNotEquals(one, other, name);
  }
  for (const name of ["ashby", "datocms", "quickbooks"]) {
    assertNotEquals(idField(name), undefined, name);
  }
});

/** Requests of CloudEvents, whose id need only be unique under their source. */
const ofSource: Record<string, (source: string | undefined, id: string) => RequestParts> = {
  cloudevents: (source, id) => ({
    headers: { "ce-id": id, ...(source !== undefined && { "ce-source": source }) },
  }),
  azure_event_grid_cloudevents: (source, id) => json({ id, source }),
};

for (const [preset, make] of Object.entries(ofSource)) {
  Deno.test(`${preset}: the same id of two sources is of two deliveries`, async () => {
    const token = { type: "static_token", preset, secrets: ["a token that is long"] };
    const settings = [token, { type: "deduplication", window: 60 }];
    const { quotas: [quota] } = await prepareConditions(settings, context(), "t");
    // Knative's KafkaSource has the topic in the source alone.
    const id = "partition:0/offset:7";
    const read = async (source?: string) => await quota?.readDelivery?.(request(make(source, id)));
    const sources = ["/kafkasources/a#t1", "/kafkasources/a#t2", undefined];
    const found = await Promise.all(sources.map(read));
    const deliveries = found.filter((one) => one !== undefined && "id" in one);
    assertEquals(new Set(deliveries.map((one) => one.id)).size, 3);
    assertEquals(deliveries.map(keptId), [id, id, id]);
    assertEquals(await read(sources[0]), found[0]);
  });
}
