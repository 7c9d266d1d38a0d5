/**
 * Requests that are drawn from the description of the API: what it allows never fails inside the service, and
 * is answered as the description says; what it does not allow is refused, with the place of the mistake.
 */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { HMAC_CONDITION, signature, startService, type TestService } from "../../data.ts";
import { Described, type Json } from "./described.ts";
import { AUTHORIZED } from "./fixture.ts";
import { valueOf } from "./json_schema_arbitrary.ts";

/** Requests of each kind that are drawn of one operation. */
const DRAWN = 6;
/** Those of operators that need an answer of their own: a stream, a page, a token that this test uses. */
const LEFT_OUT = /\/docs\/|\/listen\/$|\/openapi\.json|\/metrics$/;
/** What is answered where a request is right and the records are not such. */
const REFUSED = [404, 409, 412, 429, 502];
/** Operations with rules that the description has in words, such as about several fields at once. */
const WITH_RULES = [
  "createTrigger",
  "replaceTrigger",
  "patchTrigger",
  "createProject",
  "putProject",
  "putProjectSecret",
  "putNotifier",
  "tryTriggerFilter",
  "tryFilter",
  "tryTriggerActions",
];
/** Fields that name something that must be there, or a URL whose host must be one. */
const NAMING = ["/trigger", "/filter/trigger", "/delivery_id", "/url"];

/** An operation, and how requests for it are drawn. */
interface Drawn {
  path: string;
  method: string;
  operation: Json;
  query: fc.Arbitrary<Record<string, unknown>>;
  body: fc.Arbitrary<unknown>;
}

interface Sent {
  query: Record<string, unknown>;
  body: unknown;
}

function operationsOf(document: Json): Drawn[] {
  const { paths, components: { schemas } } = document;
  return Object.entries<Json>(paths).filter(([path]) => !LEFT_OUT.test(path)).flatMap((
    [path, item],
  ) =>
    Object.entries<Json>(item).filter(([, { security, servers }]) => !security && !servers)
      .map(([method, operation]) => {
        const { parameters, requestBody } = operation;
        const asked = parameters.filter((each: Json) =>
          each.in === "query" && each.name !== "follow"
        );
        const query = fc.record(
          Object.fromEntries(
            asked.map(({ name, schema }: Json) => [name, valueOf(schema, schemas)]),
          ),
          { requiredKeys: [] },
        );
        const schema = requestBody?.content["application/json"]?.schema;
        const body = schema === undefined ? fc.constant(undefined) : valueOf(schema, schemas);
        return { path, method, operation, query, body };
      })
  );
}

/** Fills a service with one record of each kind, and answers what the parameters of paths stand for. */
async function fill(service: TestService): Promise<(path: string) => string> {
  const { id, url } = await service.trigger({
    conditions: [HMAC_CONDITION],
    actions: [{ type: "run_execution", step: "echo" }],
    response: { type: "text", text: "{run_id}" },
    keep_refused: "1h",
  });
  const launch = async (headers: Record<string, string>) =>
    await (await fetch(url, { method: "POST", body: "x", headers })).text();
  const run = await launch(signature("x"));
  await launch({});
  const { body: { id: replay } } = await service.api("POST", "replays/", { filter: {} });
  const ids: Record<string, string> = { triggers: id, runs: run, deliveries: run, replays: replay };
  return (path) =>
    path.replace("{name}", "files").replace("{path}", "model.json").replace("{secret}", "token")
      .replace("{id}", ids[path.split("/")[1] ?? ""] ?? "01900000-0000-7000-8000-000000000009");
}

async function send(
  service: TestService,
  { path, method }: Pick<Drawn, "path" | "method">,
  { query, body }: Sent,
): Promise<{ status: number; text: string; type: string }> {
  const asked = new URLSearchParams(
    Object.entries(query).map(([name, value]) => [name, String(value)]),
  );
  const answer = await fetch(`${service.url}/api/v0${path}?${asked}`, {
    method: method.toUpperCase(),
    headers: { ...AUTHORIZED, "content-type": "application/json" },
    body: body === undefined ? null : JSON.stringify(body),
  });
  const type = answer.headers.get("content-type")?.split(";")[0] ?? "";
  return { status: answer.status, text: await answer.text(), type };
}

/** Returns true where the description cannot foresee that a request is refused as invalid. */
function mayRefuse({ operationId }: Json, text: string): boolean {
  const { errors }: { errors: { pointer: string }[] } = JSON.parse(text);
  return WITH_RULES.includes(operationId) ||
    errors.every(({ pointer }) => NAMING.includes(pointer));
}

/** Changes a request into one that the description does not allow. */
function spoiled({ query, body }: Sent): [what: string, sent: Sent][] {
  const all: [string, Sent][] = [["an unknown parameter", {
    query: { ...query, "x-unknown": "1" },
    body,
  }]];
  if (typeof body !== "object" || body === null || Array.isArray(body)) return all;
  const wrong = (value: unknown) => ({ query, body: value });
  all.push(["an unknown field", wrong({ ...body, "x-unknown": 1 })]);
  all.push(["a list", wrong([body])]);
  for (const [name, value] of Object.entries(body)) {
    if (value === null) continue;
    all.push([`a wrong ${name}`, wrong({ ...body, [name]: [[["x"]]] })]);
  }
  return all;
}

Deno.test("requests that the description allows are answered as it says, others are refused", async (t) => {
  await using service = await startService();
  const described = await Described.of(service);
  const { body: document } = await service.api("GET", "openapi.json");
  const pathOf = await fill(service);
  // What is removed by one operation would be missing to the others.
  const isLast = ({ method }: Drawn) => method === "delete";
  const operations = operationsOf(document).toSorted((a, b) =>
    Number(isLast(a)) - Number(isLast(b))
  );
  assert(operations.length > 30);
  for (const drawn of operations) {
    const { path, method, operation } = drawn;
    await t.step(`${method} ${path}`, async () => {
      const concrete = { path: pathOf(path), method };
      const requests = fc.record({ query: drawn.query, body: drawn.body });
      await fc.assert(
        fc.asyncProperty(requests, async (sent) => {
          const { status, text, type } = await send(service, concrete, sent);
          const say = `${JSON.stringify(sent)}\n${status} ${text.slice(0, 500)}`;
          if (status < 400) described.expect({ path, method }, { status, text, type });
          else {
            assert(REFUSED.includes(status) || status === 422 && mayRefuse(operation, text), say);
            assertEquals(type, "application/problem+json", say);
          }
        }),
        { numRuns: DRAWN },
      );
      for (const sent of fc.sample(requests, 2)) {
        for (const [what, wrong] of spoiled(sent)) {
          const { status, text } = await send(service, concrete, wrong);
          const isGone = status === 404 && path.includes("{");
          assert(
            isGone || [409, 412, 422].includes(status),
            `${what} of ${operation.operationId}: ${JSON.stringify(wrong)}\n${status} ${text}`,
          );
        }
      }
    });
  }
});
