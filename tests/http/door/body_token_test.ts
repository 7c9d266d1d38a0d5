/** A token in a body is shown nowhere, however it is written, and is not stored where its condition says so. */
import { assert, assertEquals } from "@std/assert";
import {
  ADMIN_TOKEN,
  type ApiAnswer,
  endOfExecution,
  endOfRun,
  eventually,
  startService,
  type TestService,
} from "../../data.ts";
import { loggedIn } from "../console/fixture.ts";

const SECRET = "the-t0ken-of-the-body";
const FORM = "application/x-www-form-urlencoded";
const JSON_TYPE = "application/json";

/** Where a token is, and a body that carries it. */
interface Written {
  name: string;
  place: object;
  body: string;
  type?: string;
}

const top = { name: "token" };
const written: Written[] = [
  { name: "top", place: top, body: `{"token":"${SECRET}","ref":"main"}` },
  { name: "nested", place: { name: "/a/0/b" }, body: `{"a":[{"b":"${SECRET}"}],"ref":"main"}` },
  { name: "escaped", place: top, body: `{"\\u0074oken":"${escaped(SECRET)}","ref":"main"}` },
  { name: "twice", place: top, body: `{"token":"${SECRET}-old","ref":"main","token":"${SECRET}"}` },
  { name: "form", place: top, body: `ref=main&token=${SECRET}`, type: FORM },
  {
    name: "encoded",
    place: top,
    body: `ref=main&%74oken=${SECRET.replaceAll("-", "%2D")}`,
    type: FORM,
  },
  {
    name: "each",
    place: { each: "/events", name: "state" },
    body: `{"events":[{"state":"${SECRET}"},{"state":"${SECRET}"}],"ref":"main"}`,
  },
];

function escaped(text: string): string {
  return [...text].map((char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");
}

/** Every way in which a text may tell the token. */
function tells(text: string): boolean {
  const plain = text.replace(
    /\\+u([0-9a-f]{4})/g,
    (_, code) => String.fromCharCode(parseInt(code, 16)),
  );
  return [text, plain, plain.replaceAll("%2D", "-")].some((each) => each.includes("t0ken-of"));
}

const conditionOf = ({ place }: Written, rest: object = {}) => ({
  type: "static_token",
  in: "body",
  ...place,
  secrets: [SECRET],
  ...rest,
});

async function send(url: string, { body, type = JSON_TYPE }: Pick<Written, "body" | "type">) {
  const answer = await fetch(url, { method: "POST", headers: { "content-type": type }, body });
  return { status: answer.status, text: await answer.text() };
}

async function download(service: TestService, path: string): Promise<string> {
  const answer = await fetch(`${service.url}/api/v0/${path}`, {
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
  });
  return await answer.text();
}

/** Returns the path of the address of a next page, below that of the API. */
function followed(next: string): string {
  return next.slice(next.indexOf("/api/v0/") + "/api/v0/".length);
}

const bodyOf = (delivery: { body: string }) =>
  new TextDecoder().decode(Uint8Array.fromBase64(delivery.body));

Deno.test("a token in a body is masked wherever the body is shown or searched", async (t) => {
  await using service = await startService();
  const browser = await loggedIn(service);
  for (const each of written) {
    await t.step(each.name, async () => {
      const made = await service.api("POST", "triggers/", {
        name: each.name,
        project: "files",
        keep_refused: "1h",
        conditions: [conditionOf(each), {
          type: "payload_filter",
          expression: "body.ref == 'main'",
        }],
        actions: [{ type: "run_execution", step: "copy", payload_input_name: "labels" }],
        response: { type: "text", text: "{run_id}" },
      });
      const { id, url, warnings } = made.body;
      const told = warnings.filter(({ pointer }: { pointer: string }) =>
        pointer === "/conditions/0"
      );
      assert(told[0]?.detail.startsWith("The token is in the body"), JSON.stringify(warnings));
      const { text: run } = await send(url, each);
      await endOfRun(service, run);
      const filtered = { ...each, body: each.body.replace("main", "other") };
      assertEquals((await send(url, filtered)).status, 400);
      const { body: { results } } = await eventually(async () => {
        const found = await service.api("GET", `deliveries/?trigger=${each.name}`);
        return found.body.results.length === 2 ? found : undefined;
      }, { what: "both deliveries" });
      for (const { id: delivery } of results) {
        const { body } = await service.api("GET", `deliveries/${delivery}/`);
        assert(bodyOf(body).includes("********"), bodyOf(body));
        assert(/main|other/.test(bodyOf(body)) && !tells(bodyOf(body)), bodyOf(body));
        const page = await browser.get(`deliveries/${delivery}`);
        assert(!tells(page.text), page.text);
      }
      const payload = await download(service, `runs/${run}/payload/`);
      assert(payload.includes("********") && payload.includes("main") && !tells(payload), payload);
      // A search ends its page when its time is over.
      const search = async (text: string) => {
        let found = 0;
        let path: string | null = `deliveries/?trigger=${each.name}&text=${
          encodeURIComponent(text)
        }`;
        while (path !== null) {
          const { body }: ApiAnswer = await service.api("GET", path);
          found += body.results.length;
          path = body.next === null ? null : followed(body.next);
        }
        return found;
      };
      for (const part of [SECRET, SECRET.slice(4, 12), escaped("t0k")]) {
        assertEquals(await search(part), 0, part);
      }
      assertEquals(await search("main"), 1);
      const expression = `raw.contains("t0ken") || raw.contains("u0074\\\\u0030")`;
      const tried = await service.api("POST", `triggers/${id}/try-filter/`, {
        filter: { type: "payload_filter", expression },
      });
      const verdicts = tried.body.results.map(({ verdict }: { verdict: string }) => verdict);
      assertEquals(verdicts, ["failed", "failed"], JSON.stringify(tried.body));

      const replayed = await service.api("POST", `deliveries/${run}/replay/`);
      assertEquals(replayed.status, 201);
      await endOfRun(service, replayed.body.id);
      // Also where the trigger no longer knows of it.
      await service.api("PATCH", `triggers/${id}/`, { conditions: [] });
      for (const path of [`runs/${replayed.body.id}/payload/`, `runs/${run}/payload/`]) {
        assert(!tells(await download(service, path)), path);
      }
      for (const part of [SECRET, SECRET.slice(4, 12), "t0", escaped("t0k")]) {
        assertEquals(await search(part), 0, part);
      }
      assertEquals(await search("other"), each.type === FORM ? 0 : 1);
      for (const { id: delivery } of results) {
        const { body } = await service.api("GET", `deliveries/${delivery}/`);
        assert(!tells(bodyOf(body)), bodyOf(body));
      }
    });
  }
});

Deno.test("with redact the body is stored without its token, and refused requests are not kept", async (t) => {
  await using service = await startService();
  for (const each of written) {
    await t.step(each.name, async () => {
      const { id, url, warnings } = (await service.api("POST", "triggers/", {
        name: each.name,
        project: "files",
        keep_refused: "1h",
        conditions: [conditionOf(each, { redact: true })],
        actions: [{ type: "run_execution", step: "copy", payload_input_name: "labels" }],
        response: { type: "text", text: "{run_id}" },
      })).body;
      assertEquals(warnings, []);
      const { text: run } = await send(url, each);
      const { actions, payload, request } = await endOfRun(service, run);
      assertEquals(request.redacted, true);
      const [{ created: { execution_id } }] = actions;
      // The step has copied its input: it is what is stored.
      const { outputs: [output] } = await endOfExecution(service, execution_id);
      const stored = await download(service, `executions/${execution_id}/outputs/${output.path}`);
      assert(stored.includes("********") && stored.includes("main") && !tells(stored), stored);
      assertEquals(payload.size, new TextEncoder().encode(stored).length);
      const { body } = await service.api("GET", `deliveries/${run}/`);
      assertEquals([body.redacted, bodyOf(body)], [true, stored]);
      assertEquals((await send(url, { ...each, body: "token" })).status, 400);
      const { body: { results: [refused] } } = await eventually(async () => {
        const found = await service.api("GET", `deliveries/?trigger=${each.name}&outcome=refused`);
        return found.body.results.length > 0 ? found : undefined;
      }, { what: "the refusal" });
      const details = await service.api("GET", `deliveries/${refused.id}/`);
      assertEquals([details.body.body, details.body.kept_until], [undefined, undefined]);
      assertEquals((await service.api("DELETE", `triggers/${id}/`)).status, 204);
    });
  }
});
