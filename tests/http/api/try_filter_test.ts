/** A filter is tried on what a trigger got: nothing is launched, and mistakes have their places. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { eventually, startService } from "../../data.ts";

const MAIN = 'body.ref == "refs/heads/main"';

interface Tried {
  delivery_id?: string;
  outcome?: string;
  verdict: string;
  reason?: string;
  found?: string;
  position?: { line: number; column: number };
}

Deno.test("a payload filter is tried on a trigger's newest deliveries, and launches nothing", async (t) => {
  await using service = await startService();
  const { id, url } = await service.trigger({
    name: "tried",
    keep_refused: "1h",
    filtered: { status: 200 },
    conditions: [
      { type: "static_token", in: "header", name: "X-Key", secrets: ["a-secret-of-the-tests"] },
      { type: "payload_filter", expression: "body.n > 0" },
    ],
    response: { type: "text", text: "{run_id}" },
  });
  const send = async (body: unknown, key = "a-secret-of-the-tests") => {
    const headers = { "content-type": "application/json", "x-key": key };
    const answer = await fetch(url, { method: "POST", body: JSON.stringify(body), headers });
    return await answer.text();
  };
  const attempt = (filter: object, more: object = {}) =>
    service.api("POST", `triggers/${id}/try-filter/`, {
      filter: { type: "payload_filter", ...filter },
      ...more,
    });
  const tried = async (filter: object, more?: object): Promise<Tried[]> => {
    const { status, body } = await attempt(filter, more);
    assertEquals(status, 200, JSON.stringify(body));
    return body.results;
  };

  await t.step("without deliveries there are no verdicts", async () => {
    assertEquals(await tried({ expression: MAIN }), []);
  });

  const main = await send({ n: 1, ref: "refs/heads/main" });
  await send({ n: 0, ref: "refs/heads/other" });
  await send({ n: 1 }, "wrong");
  await service.api("POST", `deliveries/${main}/replay/`, {});

  await t.step(
    "accepted ones and filtered ones, newest first; no refused one, no replay",
    async () => {
      await eventually(async () => (await tried({ expression: "true" })).length === 2 || undefined);
      const [filtered, accepted, ...more] = await tried({ expression: MAIN });
      assertEquals(more, []);
      assertEquals([filtered?.outcome, filtered?.verdict], ["filtered", "failed"]);
      assertStringIncludes(filtered?.found ?? "", "refs/heads/other");
      assertEquals([accepted?.delivery_id, accepted?.outcome, accepted?.verdict], [
        main,
        "accepted",
        "passed",
      ]);
      const { body } = await service.api("GET", `triggers/${id}/runs/`);
      assertEquals(body.results.length, 2, "the first, and its replay");
    },
  );

  await t.step("an error has its place in the expression", async () => {
    const [one] = await tried({ expression: "body.n >= 0 &&\n  body.m > 1" });
    assertEquals([one?.verdict, one?.position], ["error", { line: 2, column: 7 }]);
    assertStringIncludes(one?.reason ?? "", "field not found: m");
    const [list] = await tried({ all: [{ path: "body.m", op: "eq", value: 1 }] });
    assertEquals([list?.verdict, list?.position], ["failed", undefined]);
    const [two] = await tried({ expression: "body.n >= 0 && body.ref" });
    assertEquals([two?.verdict, two?.position], ["error", { line: 1, column: 20 }]);
  });

  await t.step("no value of a credential is shown", async () => {
    const [filtered] = await tried({ expression: "headers['x-key'] == 'x'" });
    assertEquals(filtered?.found, 'headers["x-key"] is not shown');
  });

  await t.step(
    "a filter that cannot be saved is refused with the place of its mistake",
    async () => {
      for (
        const [expression, detail] of [
          ["body.n = 1", "Syntax error at line 1, column 8"],
          ["body.n == 1 && bdy.m", "Unknown variable 'bdy'"],
          ["body.n == 1 && bdy.m", "(line 1, column 16)"],
          ["true &&\n size(body.n)", "this is of type int (line 2, column 2)"],
        ] as const
      ) {
        const { status, body } = await attempt({ expression });
        assertEquals([status, body.errors[0].pointer], [422, "/filter/expression"]);
        assertStringIncludes(body.errors[0].detail, detail);
      }
    },
  );

  await t.step("requests that are sent are tried in place of deliveries", async () => {
    const json = { "content-type": "application/json" };
    const requests = [{ headers: json, body: '{"n":3}' }, { headers: json, body: '{"n":0}' }];
    const given = await tried({ expression: "body.n == 3" }, { requests });
    assertEquals(given.map(({ verdict }) => verdict), ["passed", "failed"]);
    const filter = { type: "payload_filter", expression: "body.n == 3" };
    const { body } = await service.api("POST", "try-filter/", { filter, requests });
    assertEquals(body.results, given);
  });

  await t.step("what takes too long ends, and the rest is not tried", async () => {
    const list = JSON.stringify(Array.from({ length: 3_000 }, (_, index) => index));
    const request = { headers: { "content-type": "application/json" }, body: list };
    const large = { body: "x".repeat(1024 * 1024 + 1) };
    const [late, rest, tooLarge] = await tried(
      { expression: "body.all(x, body.exists(y, y == x + 5000) || x >= 0)" },
      { requests: [request, request, large] },
    );
    assertEquals([late?.verdict, rest?.verdict], ["error", "not tried"]);
    assertStringIncludes(late?.reason ?? "", "it took longer than 2000 ms");
    assertEquals([tooLarge?.verdict, tooLarge?.reason], [
      "not tried",
      "The body is longer than 1 MiB",
    ]);
  });

  await t.step("it needs the scope that editing needs, and is not in the audit log", async () => {
    const { body: { token } } = await service.api("POST", "tokens/", {
      name: "operator",
      scope: "operate",
    });
    for (const path of [`triggers/${id}/try-filter/`, "try-filter/"]) {
      const answer = await fetch(`${service.url}/api/v0/${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}` },
        body: "{}",
      });
      assertEquals(answer.status, 403);
      await answer.body?.cancel();
    }
    const { body } = await service.api("GET", "audit/");
    assert(!JSON.stringify(body.results).includes("try-filter"));
  });
});
