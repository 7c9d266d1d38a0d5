/** The pages of pipelines over HTTP: the graph, approval, stopping. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { eventually, startService } from "../../data.ts";
import { loggedIn, textOf } from "./fixture.ts";
import { fillSample } from "./sample.ts";

Deno.test("a pipeline's page draws its graph, and lets those who may approve, stop and start again", async (t) => {
  await using service = await startService();
  const { pipeline: id, executions } = await fillSample(service);
  const browser = await loggedIn(service);
  const page = () => browser.get(`pipelines/${id}`);

  await t.step("the list tells what waits", async () => {
    const text = textOf(await browser.get("pipelines"));
    for (const part of ["Train and deploy", "awaiting approval", "4 of 5 complete"]) {
      assertStringIncludes(text, part);
    }
    assertStringIncludes(
      textOf(await browser.get("pipelines?status=error")),
      "No pipeline matches",
    );
  });
  await t.step("the graph has each node once, and leads to its execution", async () => {
    const { text } = await page();
    assertEquals([...text.matchAll(/<g class="node /g)].length, 5);
    assertEquals([...text.matchAll(/<polyline /g)].length, 5);
    const { body } = await service.api("GET", `executions/?pipeline=${id}`);
    for (const { id } of body.results) assertStringIncludes(text, `href="executions/${id}"`);
    assert(!text.includes(executions.completed));
  });
  await t.step("the list of executions says where those of a pipeline stand", async () => {
    const said = "stand where the pipeline was created";
    assertStringIncludes(textOf(await browser.get("executions")), said);
    assert(!textOf(await browser.get("executions?trigger=labels")).includes(said));
  });
  await t.step("a reader gets no buttons", async () => {
    const { body } = await service.api("POST", "tokens/", { name: "reader", scope: "read" });
    const reader = await loggedIn(service, body.token);
    const { text } = await reader.get(`pipelines/${id}`);
    assert(!text.includes(`action="pipelines/${id}`), text);
    const csrf = await reader.csrf();
    assertEquals(
      (await reader.post(`pipelines/${id}/approve`, { csrf, node: "deploy" })).status,
      403,
    );
  });
  await t.step("what does not wait is not approved, and the page says why", async () => {
    const csrf = await browser.csrf();
    const { status, text } = await browser.post(`pipelines/${id}/approve`, { csrf, node: "split" });
    assertEquals(status, 409);
    assertStringIncludes(text, "does not wait for approval");
  });
  await t.step("it is stopped", async () => {
    const csrf = await browser.csrf();
    assertEquals((await browser.post(`pipelines/${id}/stop`, { csrf })).status, 303);
    await eventually(async () => textOf(await page()).includes("– stopped") ? true : undefined);
  });
  await t.step("it is retried, and copied", async () => {
    const csrf = await browser.csrf();
    for (const how of ["retry", "copy"]) {
      const { status, headers } = await browser.post(`pipelines/${id}/${how}`, { csrf });
      const made = headers.get("location")?.slice(1) ?? "";
      assertEquals(status, 303);
      assert(made.startsWith("pipelines/") && !made.endsWith(id), made);
      const { text } = await browser.get(made);
      assertStringIncludes(text, `href="pipelines/${id}">an earlier one</a>`);
      assert(!text.includes(`action="${made}/retry"`), "it has not ended");
      await browser.post(`${made}/stop`, { csrf });
    }
  });
});
