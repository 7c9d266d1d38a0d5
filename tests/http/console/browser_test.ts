/** The console in a real browser: live lists, keyboard, copying, second clicks, hostile text, axe-core. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { ADMIN_TOKEN, eventually, startService } from "../../data.ts";
import { has } from "../../needs.ts";
import { slownessOfThread } from "../../surroundings.ts";
import { assertAccessible, longestTask, openConsole, sharedChromium, watch } from "./browser.ts";
import { fillNotifications, fillSample, pagesOf, push } from "./sample.ts";

const HOSTILE = `"><img src=x onerror="document.title='hit'"><script>document.title='hit'</script>`;
const ignore = !has("chromium");

Deno.test({
  name: "the console in a browser",
  ignore,
  // The connection to the browser is closed with it.
  sanitizeResources: false,
  sanitizeOps: false,
  async fn(t) {
    await using service = await startService();
    const sample = await fillSample(service);
    const { triggers, deliveries } = sample;
    const chromium = await sharedChromium();
    await using window = await openConsole(chromium, service);
    const { page } = window;
    const wrong = watch(page);
    const rows = page.locator("tbody tr");

    await t.step("a list takes up what comes, also while a filter is on", async () => {
      await page.goto("/deliveries?trigger=labels");
      const before = await rows.count();
      await page.evaluate("scrollTo(0, 0)");
      await (await fetch(triggers.labels.url, { method: "POST", body: "{}" })).body?.cancel();
      await push(triggers.retrain.url, "main", "elsewhere");
      await eventually(async () => await rows.count() === before + 1 ? true : undefined);
      await page.getByText("complete").nth(before).waitFor();
    });

    await t.step("a list that cannot be loaded is loaded again", async () => {
      // It is loaded once more when its events begin.
      const begun = page.waitForRequest((request) => request.resourceType() === "xhr");
      await page.goto("/deliveries?trigger=retrain&outcome=refused");
      await (await begun).response();
      const before = await rows.count();
      let failed = 0;
      const address = /outcome=refused$/;
      await page.route(address, (route) => {
        return failed++ === 0 ? route.fulfill({ status: 503 }) : route.continue();
      });
      // It is told once.
      await (await fetch(triggers.retrain.url, { method: "POST", body: "{}" })).body?.cancel();
      await eventually(async () => await rows.count() === before + 1 || undefined);
      assert(failed > 1, `${failed} loads`);
      await page.unroute(address);
      assertMatch(wrong.splice(0).join(), /^Failed to load [^,]* 503 [^,]*$/);
    });

    await t.step("a list that is pointed at does not move: a bar counts what is new", async () => {
      await page.goto("/deliveries");
      await rows.first().hover();
      const first = await rows.first().getAttribute("id");
      for (const sent of [1, 2, 3]) await push(triggers.retrain.url, "other", `bar-${sent}`);
      const bar = page.getByRole("button", { name: "3 new" });
      await bar.waitFor();
      assertEquals(await rows.first().getAttribute("id"), first);
      await bar.click();
      assert(await rows.first().getAttribute("id") !== first);
      assertEquals(await bar.isVisible(), false);
    });

    await t.step("with 200 launches a second a list stays live, and the page answers", async () => {
      const { url } = await service.trigger({
        name: "busy",
        actions: [{ type: "run_execution", step: "none" }],
        response: { type: "text", text: "{run_id}" },
      });
      await page.goto("/deliveries?trigger=busy");
      await page.mouse.move(0, 0);
      await page.evaluate(`globalThis.loads = 0;
        new PerformanceObserver((list) => loads += list.getEntries().length)
          .observe({ type: "resource" });`);
      const began_ms = performance.now();
      const longest_ms = await longestTask(page, async () => {
        let last = "";
        for (let tenth = 0; tenth < 15; tenth++) {
          const sent = Array.from({ length: 20 }, () => fetch(url, { method: "POST", body: "{}" }));
          const pause = new Promise((resolve) => setTimeout(resolve, 100));
          const ids = await Promise.all((await Promise.all(sent)).map((answer) => answer.text()));
          last = ids.toSorted().at(-1) ?? "";
          await pause;
        }
        await page.locator(`#row-${last}`).waitFor();
      });
      // A search that takes long ends before it has found as many.
      await eventually(async () => await rows.count() === 50 || undefined);
      const most_ms = 200 * await slownessOfThread();
      assert(
        longest_ms > 0 && longest_ms < most_ms,
        `the page did not answer for ${longest_ms} ms`,
      );
      const loads = Number(await page.evaluate("loads"));
      const took_s = (performance.now() - began_ms) / 1_000;
      assert(loads <= 4 * took_s, `the list was loaded ${loads} times in ${took_s} s`);
    });

    await t.step("the keyboard moves, opens, searches and lists its keys", async () => {
      await page.goto("/deliveries");
      await page.keyboard.press("j");
      await page.keyboard.press("j");
      await page.keyboard.press("k");
      const id = await rows.first().getAttribute("id");
      await page.keyboard.press("o");
      await page.waitForURL(`**/deliveries/${id?.replace("row-", "")}`);
      await page.goBack();
      await page.keyboard.press("/");
      await page.keyboard.type("?j");
      assertEquals(await page.getByRole("searchbox").inputValue(), "?j");
      await page.getByRole("heading", { name: "Deliveries" }).click();
      await page.keyboard.press("?");
      await page.getByRole("dialog", { name: "Keys" }).waitFor();
      await assertAccessible(page);
      await page.keyboard.press("Escape");
      // Its first row has nothing to press.
      await page.goto("/access");
      await page.keyboard.press("j");
      const row = await page.evaluate("document.activeElement.closest('[data-row]')?.innerText");
      assertMatch(String(row), /this one/);
    });

    await t.step("a delivery is launched again by a key, and followed to its end", async () => {
      await page.goto(`/deliveries/${deliveries.completed}`);
      await page.keyboard.press("r");
      await page.getByText("Launched again: this is the new delivery").waitFor();
      await page.locator("#story li", { hasText: "run_execution" })
        .getByText("✓ complete", { exact: true }).waitFor();
      await page.getByRole("button", { name: "Copy the id" }).click();
      const copied = await page.evaluate("navigator.clipboard.readText()");
      assert(page.url().endsWith(`/${copied}`));
    });

    await t.step(
      "a held key launches once, and none launches behind the list of keys",
      async () => {
        const replays = async () =>
          (await service.api("GET", `deliveries/${deliveries.failed}/`)).body.replays?.length ?? 0;
        await page.goto(`/deliveries/${deliveries.failed}`);
        await page.keyboard.press("?");
        await page.getByRole("dialog", { name: "Keys" }).waitFor();
        await page.keyboard.press("r");
        await page.keyboard.press("Escape");
        assertEquals(await replays(), 0);
        for (let times = 0; times < 10; times++) await page.keyboard.down("r");
        await page.getByText("Launched again: this is the new delivery").waitFor();
        await page.keyboard.up("r");
        assertEquals(await replays(), 1);
      },
    );

    await t.step("Enter in a field of a bulk replay launches nothing", async () => {
      await page.goto("/replays/new?trigger=labels");
      await page.getByLabel("Commit").press("Enter");
      await page.locator(".ask").click();
      await page.getByRole("button", { name: /^Launch \d+ deliveries again$/ }).waitFor();
      assertEquals((await service.api("GET", "replays/")).body.results, []);
    });

    await t.step("a refused one is diagnosed", async () => {
      await page.goto(`/deliveries/${deliveries.refused}`);
      await page.getByRole("button", { name: "Why?" }).click();
      await page.getByRole("heading", { name: "What the doctor says" }).waitFor();
      await assertAccessible(page);
      await page.reload();
      await page.waitForURL(`**/deliveries/${deliveries.refused}`);
    });

    await t.step("a token is made, shown once, and revoked by a second click", async () => {
      await page.goto("/access");
      await page.getByText("New token").click();
      await page.getByLabel("Name").fill("a b");
      await page.getByRole("button", { name: "Create the token" }).click();
      await page.locator(".field.wrong").waitFor();
      assertEquals(await page.getByLabel("Name").inputValue(), "a b");
      await page.getByLabel("Name").fill("ci");
      await page.getByRole("button", { name: "Create the token" }).click();
      assertMatch(await page.locator(".notice code").innerText(), /^hl_[\w-]{43}$/);
      await page.goto("/access");
      const row = rows.filter({ hasText: "ci" }).first();
      const place = await row.getByText("Revoke", { exact: true }).boundingBox();
      await row.getByText("Revoke", { exact: true }).click();
      const second = row.getByRole("button", { name: "Revoke ci" });
      const box = await second.boundingBox();
      assert(
        place && box && box.x <= place.x && box.x + box.width >= place.x + 4,
        "the same place",
      );
      await second.click();
      await page.getByText("The token opens nothing any more").waitFor();
      assertEquals((await service.api("GET", "tokens/")).body.results, []);
    });

    await t.step("hostile text stays text, whether it comes with the page or live", async () => {
      await page.goto("/deliveries?trigger=labels");
      const sent = await fetch(triggers.labels.url, {
        method: "POST",
        body: HOSTILE,
        headers: { "user-agent": HOSTILE, "x-note": HOSTILE, "content-type": "text/html" },
      });
      const id = await sent.text();
      await page.locator(`#row-${id}`).waitFor();
      await page.goto(`/deliveries/${id}`);
      assert((await page.locator("pre[aria-label=Body]").innerText()).includes("<script>"));
      assertEquals(await page.title(), `Delivery ${id.slice(-8)} · Hooklaunch`);
      assertEquals(await page.locator("main img").count(), 0);
    });

    await t.step("a login in another tab keeps what was typed", async () => {
      await using other = await openConsole(chromium, service);
      await other.page.goto("/access");
      await other.page.getByText("New token").click();
      await other.page.getByLabel("Name").fill("typed-in-one-tab");
      const tab = await other.context.newPage();
      await tab.goto("/access");
      await tab.getByRole("button", { name: "Log out" }).click();
      await tab.getByLabel("Operator's token").fill(ADMIN_TOKEN);
      await tab.getByRole("button", { name: "Log in", exact: true }).click();
      await tab.getByRole("button", { name: "Log out" }).waitFor();
      await other.page.getByRole("button", { name: "Create the token" }).click();
      await other.page.getByRole("button", { name: "Send it now" }).click();
      await other.page.getByText('The token "typed-in-one-tab" is made').waitFor();
    });

    await t.step("an expired session keeps what was typed", async () => {
      const { body } = await service.api("POST", "tokens/", { name: "short" });
      const other = await openConsole(chromium, service, { token: body.token });
      await other.page.goto("/access");
      await other.page.getByText("New token").click();
      await other.page.getByLabel("Name").fill("typed-before");
      await service.api("DELETE", `tokens/${body.id}/`);
      await other.page.getByRole("button", { name: "Create the token" }).click();
      await other.page.getByText("Your session is over").waitFor();
      const { body: { token } } = await service.api("POST", "tokens/", { name: "long" });
      await other.page.getByLabel("Operator's token").fill(token);
      await other.page.getByRole("button", { name: "Log in" }).click();
      await other.page.getByRole("button", { name: "Send it now" }).click();
      await other.page.getByText('The token "typed-before" is made').waitFor();
      await other.context.close();
    });

    await t.step(
      "axe-core finds nothing on any page, light and dark, and no page is too wide",
      async () => {
        const told = await fillNotifications(service, sample);
        const addresses = [...Object.values(pagesOf(sample)), `notifications/${told}`];
        await page.setViewportSize({ width: 375, height: 800 });
        for (const address of addresses) {
          await page.goto(`/${address}`);
          await assertAccessible(page);
          await page.emulateMedia({ colorScheme: "dark" });
          await assertAccessible(page, ["color-contrast"]);
          await page.emulateMedia({ colorScheme: "light" });
          const extra = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
          assert(Number(extra) <= 0, `${address} is ${extra} px too wide`);
        }
      },
    );
    assertEquals(wrong, []);
  },
});
