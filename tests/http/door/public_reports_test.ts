/**
 * Reports of people who receive webhooks with other programs, on one running service: each case is what a user
 * would notice. Some have tests of their own: bodies in other encodings (`content_encoding_test.ts`), multipart
 * (`multipart_test.ts`), Amazon SNS (`sns_test.ts`), bursts (`pace_test.ts`), files of variables (`env_text_test.ts`).
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { endOfRun, startService, type TestService } from "../../data.ts";
import { github, makeReports, type Report, signed } from "./public_reports.ts";

const NO_AUTH = /Nothing proves who the sender is/;

async function playReport(service: TestService, report: Report, index: number): Promise<void> {
  const { settings, sent } = report;
  const { body: trigger, status } = await service.api("POST", "triggers/", {
    name: `report ${index}`,
    project: "values",
    actions: [{ type: "run_execution", step: "show" }],
    ...settings,
  });
  assertEquals(status, 201, JSON.stringify(trigger));
  const details: string[] = trigger.warnings.map(({ detail }: { detail: string }) => detail);
  const others = details.filter((detail) => !NO_AUTH.test(detail));
  if (report.warned) assertMatch(others.join("\n"), report.warned);
  for (const [{ method = "POST", query = "", body, headers = {} }, status, text, named] of sent) {
    const answer = await fetch(trigger.url + query, {
      method,
      headers,
      ...(body !== undefined && { body }),
    });
    const said = await answer.text();
    assertEquals(answer.status, status, said);
    if (text) assertMatch(said, text);
    for (const [name, value] of Object.entries(named ?? {})) {
      assertMatch(answer.headers.get(name) ?? "none", value, name);
    }
  }
  const { body: { results: runs } } = await service.api("GET", `triggers/${trigger.id}/runs/`);
  assertEquals(runs.length, report.runs);
  if (report.log) {
    const { body: log } = await service.api("GET", `triggers/${trigger.id}/log/`);
    assertMatch(JSON.stringify(log.results[0]), report.log);
  }
  if (report.parameters === undefined && report.outcome === undefined) return;
  const run = await endOfRun(service, runs[0].id);
  if (report.outcome) assertMatch(JSON.stringify(run.actions), report.outcome);
  if (report.parameters === undefined) return;
  const created = run.actions.flatMap((action: { created?: { execution_id: string } }) =>
    action.created?.execution_id ?? []
  );
  assertEquals(created.length, 1, JSON.stringify(run));
  const { body: execution } = await service.api("GET", `executions/${created[0]}/`);
  for (const [name, value] of Object.entries(report.parameters)) {
    assertEquals(execution.parameters[name], value);
  }
}

const PROJECT = `
- step:
    name: show
    image: debian
    command: "true"
    parameters:
      - { name: text, type: string, optional: true }
      - { name: whole, type: integer, optional: true }
`;

Deno.test("what people reported of other receivers", async (t) => {
  await using service = await startService();
  await Deno.mkdir(`${service.folder}/values`);
  await Deno.writeTextFile(`${service.folder}/values/valohai.yaml`, PROJECT);
  const directory = `${service.folder}/values`;
  await service.api("PUT", "projects/values/", { name: "values", directory });
  for (const [index, report] of makeReports().entries()) {
    await t.step(report.name, () => playReport(service, report, index));
  }
  await t.step("the provider's redeliver launches, once the mistake is mended", async () => {
    const missing = [{ type: "run_execution", step: "missing" }];
    const trigger = await service.trigger({
      name: "redelivered",
      conditions: [github, { type: "deduplication" }],
      actions: missing,
      response: { type: "text", text: "{run_id}" },
    });
    const { body, headers } = signed("{}");
    const deliver = async () => {
      const sent = { ...headers, "x-github-delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958" };
      const answer = await fetch(trigger.url, { method: "POST", body: body ?? "", headers: sent });
      return await answer.text();
    };
    const first = await deliver();
    assertEquals((await endOfRun(service, first)).status, "error");
    await service.api("PATCH", `triggers/${trigger.id}/`, {
      actions: [{ type: "run_execution", step: "echo" }],
    });
    const second = await deliver();
    assert(second !== first);
    assertEquals((await endOfRun(service, second)).status, "completed");
    assertEquals(await deliver(), second);
  });
});
