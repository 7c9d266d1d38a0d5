/** Addresses that people type, share and go back to. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { startService } from "../../data.ts";
import { Browser, loggedIn, textOf } from "./fixture.ts";

Deno.test("the address of a form leads to the page that has it", async (t) => {
  await using service = await startService();
  const browser = await loggedIn(service);
  for (
    const [address, page] of [
      ["deliveries/an-id/diagnose", "/deliveries/an-id"],
      ["deliveries/an-id/replay", "/deliveries/an-id"],
      ["projects/my%20files/fetch", "/projects/my%20files"],
      ["triggers/an-id/test", "/triggers/an-id"],
      ["triggers/an-id/secrets/add", "/triggers/an-id"],
      ["triggers/an-id/delete/", "/triggers/an-id"],
      ["executions/an-id/stop", "/executions/an-id"],
      ["notifications/an-id/resend", "/notifications/an-id"],
      ["notifications/notifiers/ops/test", "/notifications"],
      ["access/tokens", "/access"],
      ["access/sessions/an-id/end", "/access"],
    ] as const
  ) {
    await t.step(address, async () => {
      const { status, headers } = await browser.get(address);
      assertEquals([status, headers.get("location")], [303, page]);
    });
  }
});

Deno.test("a mistake in a filter is at its field, and the form stays", async (t) => {
  await using service = await startService();
  const browser = await loggedIn(service);
  for (
    const [address, field, mistake] of [
      ["deliveries?trigger=retr", "trigger", "Expected the name or the id of a trigger"],
      ["deliveries?outcome=none", "outcome", "Expected one of"],
      ["executions?trigger=retr", "trigger", "Expected the name or the id of a trigger"],
      ["pipelines?status=none", "status", "Expected one of"],
      ["notifications?status=none", "status", "Expected one of"],
      [`triggers?name=${"x".repeat(65)}`, "name", ""],
    ] as const
  ) {
    await t.step(address, async () => {
      const { status, text } = await browser.get(address);
      assertEquals(status, 422);
      const [, told = ""] = new RegExp(`<label for="f-${field}">.*?<p class="problem">(.*?)</p>`)
        .exec(text) ?? [];
      assertStringIncludes(told, mistake);
      assert(told !== "", text);
      assert(!text.includes('role="alert"'), "each is at its field");
      assert(!text.includes("Replay these"), "there is nothing to replay");
    });
  }
  await t.step("a filter without a field is named", async () => {
    const { status, text } = await browser.get("deliveries?from=yesterday");
    assertEquals(status, 422);
    assertMatch(textOf({ text }), /from: Expected a time such as/);
    assertStringIncludes(text, 'id="f-trigger"');
  });
  await t.step("triggers are found by their whole names", async () => {
    const seen = textOf(await browser.get("triggers?name=retr"));
    assertStringIncludes(seen, "Only a trigger with exactly this name is found");
  });
});

Deno.test("an unknown address is a page for a browser, and JSON for all else", async () => {
  await using service = await startService();
  const browser = await loggedIn(service);
  const html = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };
  for (const from of [browser, new Browser(service.url)]) {
    const page = await from.get("nope", html);
    assertEquals(page.status, 404);
    assertStringIncludes(textOf(page), "There is no such page");
  }
  for (const [address, headers] of [["nope", {}], ["api/nope", html]] as const) {
    const seen = await browser.get(address, headers);
    const type = seen.headers.get("content-type");
    assertEquals([seen.status, type], [404, "application/problem+json"], address);
  }
});

Deno.test("a token that may not send a form does not get it", async () => {
  await using service = await startService();
  const { body } = await service.api("POST", "tokens/", { name: "reader", scope: "read" });
  const reader = await loggedIn(service, body.token);
  for (const address of ["triggers", "deliveries"]) {
    assert(!(await reader.get(address)).text.includes("triggers/new"), address);
  }
  await service.trigger({ name: "seen" });
  for (const address of ["triggers/new", "triggers/seen/edit"]) {
    const seen = await reader.get(address);
    assertEquals(seen.status, 403, address);
    assertStringIncludes(textOf(seen), "needs a token with the scope &quot;admin&quot;");
  }
});
