/**
 * What bodies hold that are read as values takes memory from other such bodies, and from nobody else.
 *
 * @module
 */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { IncomingRequest } from "../../../src/http/door/incoming_request.ts";
import { ParsedValueBudget } from "../../../src/http/door/parsed_value_budget.ts";
import { startService } from "../../data.ts";
import { REJECTED } from "../scenario.ts";

/** A token that says which key it is signed with, and so has the key server asked. */
const TOKEN = `${btoa('{"alg":"ES256","kid":"k"}').replaceAll("=", "")}.e30.AAAA`;

/** A body of so many values. */
function bodyOf(values: number): string {
  return `{"token":"${TOKEN}","list":[${new Array(values).fill(0).join()}]}`;
}

Deno.test("bodies of many values are turned away for a moment while others are held, and no others", async () => {
  const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
  const { promise: answer, resolve: letAnswer } = Promise.withResolvers<Response>();
  await using keys = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, () => {
    ask();
    return answer.then((response) => response.clone());
  });
  await using service = await startService();
  const { url } = await service.trigger({
    conditions: [{
      ...{ type: "jwt", in: "body", name: "token", prefix: "", algorithms: ["ES256"] },
      jwks_url: `http://127.0.0.1:${keys.addr.port}/`,
      private_networks: true,
    }],
  });
  const plain = await service.trigger();
  const send = (values: number) => fetch(url, { method: "POST", body: bodyOf(values) });

  // A longer body is parsed in the Worker. Of those of 60 kB, 66 have two million values.
  const sent = Array.from({ length: 68 }, () => send(30_000));
  const first = await Promise.race(sent);
  assertEquals([first.status, first.headers.get("retry-after")], [503, "1"]);
  await asked;
  // What looks into no body has room, as has what is small beside what is held.
  const other = await fetch(plain.url, { method: "POST", body: bodyOf(30_000) });
  assertEquals(other.status, 200);
  const small = send(10);
  letAnswer(Response.json({ keys: [] }));
  assertEquals((await small).status, 400);
  const answers = await Promise.all(sent);
  assertEquals(answers.map(({ status }) => status).sort(), [...Array(66).fill(400), 503, 503]);
  // The room is given back.
  const again = await send(30_000);
  assertEquals([again.status, await again.text()], [400, REJECTED]);
  for (const { body } of [...answers, other, await small]) await body?.cancel();
  const { body: metrics } = await service.service.parts.metrics.text();
  assertStringIncludes(metrics, 'hooklaunch_launch_seconds_count{status="503"} 2');
});

Deno.test("what a request lets go of before its answer is given back once", () => {
  const values = new ParsedValueBudget();
  const facts = {
    baseUrl: "http://localhost",
    remoteIp: "127.0.0.1",
    receivedAt_ms: 0,
    isDelivery: true,
    values,
    readPart: () => Promise.reject(new TypeError("The body is short")),
  };
  const request = new Request("http://localhost/", { method: "POST" });
  {
    using sent = new IncomingRequest(request, facts);
    sent.body = new TextEncoder().encode("[1,2,3]");
    assertEquals(sent.parsedBody(), { kind: "json", value: [1, 2, 3] });
    // As run info does before it waits.
    sent[Symbol.dispose]();
  }
  assertEquals([values.take(2_000_000), values.take(1)], [true, false]);
});
