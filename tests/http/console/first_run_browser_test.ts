/** From an empty service to the first completed run, by clicking; and two operators at one trigger. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { startService } from "../../data.ts";
import { has } from "../../needs.ts";
import { assertAccessible, openConsole, sharedChromium, watch } from "./browser.ts";

Deno.test({
  name: "the first trigger in a browser",
  ignore: !has("chromium"),
  // The connection to the browser is closed with it.
  sanitizeResources: false,
  sanitizeOps: false,
  async fn(t) {
    await using service = await startService();
    await service.api("DELETE", "projects/files/");
    const chromium = await sharedChromium();
    await using window = await openConsole(chromium, service, { isHurried: true });
    const { page } = window;
    const wrong = watch(page);

    await t.step("from nothing to the first completed run", async () => {
      await page.goto("/");
      await page.getByRole("link", { name: "Make the first one" }).click();
      await page.getByRole("link", { name: "Add one" }).click();
      await page.getByLabel("Name").fill("digits");
      await page.getByLabel("Repository or folder").fill(`${service.folder}/project`);
      await page.getByRole("button", { name: "Add the project" }).click();
      await page.getByText("The project is added").waitFor();
      await page.getByRole("link", { name: "New trigger" }).click();
      await page.getByLabel("Name").fill("retrain");
      await page.getByRole("button", { name: "Make a secret" }).click();
      assertMatch(await page.getByLabel("Secret").inputValue(), /^[0-9a-f]{40}$/);
      await page.getByLabel("What it launches").selectOption({
        label: "copy, the payload as its input labels",
      });
      await page.getByRole("button", { name: "Create the trigger" }).click();
      await page.getByText("Give its URL to the sender").waitFor();
      await page.getByRole("button", { name: "Copy the URL" }).click();
      assertMatch(
        String(await page.evaluate("navigator.clipboard.readText()")),
        /\/api\/v0\/launch\/[0-9a-f-]{36}\/$/,
      );
      await page.getByText("Send a test", { exact: true }).click();
      await page.getByRole("button", { name: "Sign and send" }).click();
      await page.getByText("The test was answered 200").waitFor();
      await page.locator("#recent").getByText("complete").waitFor();
      await page.locator("#recent tbody a").first().click();
      await page.locator("#story").getByRole("link", { name: "copy" }).click();
      await page.getByRole("link", { name: "payload.json" }).waitFor();
      await page.locator("#head").getByText("complete").waitFor();
    });

    await t.step("a filter is tried while one types, on the body that came", async () => {
      await page.goto("/triggers/retrain/edit");
      await page.getByText("1 of 1 recent requests pass").waitFor();
      const filter = page.getByLabel("Launch only when");
      await filter.fill("body.ref == ");
      await page.getByText("Syntax error at line 1, column 10").waitFor();
      await assertAccessible(page);
      await filter.pressSequentially(' "other"');
      await page.getByText("does not pass").waitFor();
      await page.getByText("0 of 1 recent requests pass").waitFor();
      await filter.fill('body.rev == "push"');
      await page.getByText("line 1, column 5").waitFor();
      await page.emulateMedia({ colorScheme: "dark" });
      await assertAccessible(page, ["color-contrast"]);
      await page.emulateMedia({ colorScheme: "light" });
      await filter.fill('body.ref == "refs/heads/main"');
      await page.getByText("1 of 1 recent requests pass").waitFor();
      await page.getByLabel("Name").press("Enter");
      await page.getByText("It holds from the next request on").waitFor();
    });

    await t.step("names of fields are completed, those of the deliveries", async () => {
      await page.goto("/triggers/retrain/edit");
      const filter = page.getByLabel("Launch only when");
      await filter.fill("");
      const fields = page.locator("#filter_0-fields, #filter_1-fields");
      const left = Promise.withResolvers<void>();
      await page.route("**/payloads", (route) => left.promise.then(() => route.continue()), {
        times: 1,
      });
      const names = page.waitForResponse("**/payloads");
      await filter.pressSequentially("body.re");
      await filter.blur();
      left.resolve();
      await (await names).finished();
      await page.evaluate("new Promise((done) => setTimeout(() => requestAnimationFrame(done)))");
      assert(await fields.isHidden(), "none are offered in a field that was left");
      await filter.fill("");
      await filter.pressSequentially("body.pusher");
      await fields.getByText("body.pusher.name").waitFor();
      await assertAccessible(page);
      await filter.press("ArrowDown");
      await filter.press("ArrowDown");
      await filter.press("ArrowUp");
      await filter.press("Enter");
      assertEquals(await filter.inputValue(), "body.pusher.name");
      assert(await fields.isHidden());
      await filter.pressSequentially(' == "octo" && headers["x-g');
      await fields.getByText("headers['x-github-event']").click();
      assertEquals(
        await filter.inputValue(),
        `body.pusher.name == "octo" && headers['x-github-event']`,
      );
      await filter.fill("");
      await filter.pressSequentially("body.re");
      await fields.getByText("body.ref").waitFor();
      await filter.press("Escape");
      assert(await fields.isHidden());
      await filter.press("Tab");
      assertEquals(await filter.inputValue(), "body.re");
      const actions = page.getByLabel("Actions", { exact: true });
      await actions.fill("");
      await actions.pressSequentially('[{"if": "body.aft');
      await page.locator("#actions-fields").getByText("body.after").click();
      assertEquals(await actions.inputValue(), '[{"if": "body.after');
    });

    await t.step("a delivery that differs from those before is told", async () => {
      await page.goto("/triggers/retrain");
      await page.getByText("Send a test", { exact: true }).click();
      await page.getByLabel("Body").fill('{"ref": "refs/heads/main", "before": 7}');
      await page.getByRole("button", { name: "Sign and send" }).click();
      await page.getByText("The test was answered 200").waitFor();
      await page.locator("#differences").getByText("A delivery differs from those before")
        .waitFor();
      await assertAccessible(page);
      await page.getByRole("link", { name: "what its payloads have in common" }).click();
      await page.getByRole("heading", { name: "Schema" }).waitFor();
      await assertAccessible(page);
    });

    await t.step("the second of two operators keeps what was typed", async () => {
      const other = await openConsole(chromium, service, { isHurried: true });
      for (const each of [page, other.page]) await each.goto("/triggers/retrain/edit");
      await other.page.getByLabel("Keep refused").fill("6h");
      await other.page.getByRole("button", { name: "Save" }).click();
      await other.page.getByText("It holds from the next request on").waitFor();
      await page.getByLabel("Keep refused").fill("12h");
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByText("Somebody else saved this trigger").waitFor();
      assertEquals(await page.getByLabel("Keep refused").inputValue(), "12h");
      assert(await page.getByText("/keep_refused").isVisible());
      await assertAccessible(page);
      await page.getByRole("button", { name: "Save mine" }).click();
      await page.getByText("It holds from the next request on").waitFor();
      const { body } = await service.api("GET", "triggers/?name=retrain");
      assertEquals(body.results[0].keep_refused, "12h");
      await other.context.close();
    });
    assertEquals(wrong, []);
  },
});
