/** Live pages in a real browser: what is refreshed, and what stays while somebody reads, points or types. */
import { assert, assertEquals } from "@std/assert";
import { endOfExecution, eventually, HMAC_CONDITION, startService } from "../../data.ts";
import { has } from "../../needs.ts";
import { launchCommand } from "../api/fixture.ts";
import { openConsole, sharedChromium, watch } from "./browser.ts";

Deno.test({
  name: "live pages in a browser",
  ignore: !has("chromium"),
  // The connection to the browser is closed with it.
  sanitizeResources: false,
  sanitizeOps: false,
  async fn(t) {
    await using service = await startService();
    const chromium = await sharedChromium();
    await using window = await openConsole(chromium, service, { isHurried: true });
    const { page } = window;
    const wrong = watch(page);
    const rows = page.locator("tbody tr");
    const launch = async (url: string) =>
      await (await fetch(url, { method: "POST", body: "{}" })).text();
    const letGo = (name: string) => Deno.writeTextFile(`${service.folder}/${name}`, "");
    /** Lets a command go on to its end, which the page is to show then. */
    const release = async (name: string, id: string) => {
      await letGo(name);
      assertEquals((await endOfExecution(service, id)).status, "complete");
    };
    const waiting = (name: string) =>
      `while [ ! -e ${service.folder}/${name} ]; do sleep 0.05; done`;

    await t.step("the words of an empty list go when the first delivery arrives", async () => {
      const { url } = await service.trigger({ name: "first" });
      await page.goto("/deliveries");
      await page.mouse.move(0, 0);
      await page.getByText("Nothing has arrived yet").waitFor();
      await launch(url);
      await rows.first().waitFor();
      assertEquals(await page.getByText("Nothing has arrived yet").count(), 0);

      const signed = await service.trigger({ name: "signed", conditions: [HMAC_CONDITION] });
      await page.goto("/deliveries?trigger=signed");
      await page.getByText("No delivery matches").waitFor();
      await launch(signed.url);
      await rows.first().waitFor();
      assertEquals(await page.getByText("No delivery matches").count(), 0);
    });

    await t.step(
      "a delivery's title and an execution's head go on, also with the focus",
      async () => {
        const id = await launchCommand(service, `echo begun; ${waiting("one")}`);
        const { body: { run_id } } = await service.api("GET", `executions/${id}/`);
        await page.goto(`/deliveries/${run_id}`);
        const head = page.locator("#head");
        await head.getByText("started").waitFor();
        await release("one", id);
        await head.getByText("complete").waitFor();

        const next = await launchCommand(service, `echo begun; ${waiting("two")}`);
        await page.goto(`/executions/${next}`);
        await head.getByText("Stop", { exact: true }).click();
        await head.getByText("Cancel", { exact: true }).click();
        await head.getByRole("button", { name: "Launch again" }).focus();
        await release("two", next);
        await head.getByText("complete").waitFor();
        assertEquals(await page.evaluate("document.activeElement.textContent"), "Launch again");
      },
    );

    await t.step("what a delivery has sent goes on, to its answer", async () => {
      const goOn = Promise.withResolvers<void>();
      await using server = Deno.serve(
        { hostname: "127.0.0.1", port: 0, onListen() {} },
        async () => {
          await goOn.promise;
          return new Response("what came back");
        },
      );
      using stack = new DisposableStack();
      stack.defer(() => goOn.resolve());
      const { url } = await service.trigger({
        name: "sends",
        actions: [{
          type: "http_request",
          url: `http://127.0.0.1:${server.addr.port}/`,
          private_networks: true,
        }],
        response: { type: "text", text: "{run_id}" },
      });
      await page.goto(`/deliveries/${await launch(url)}`);
      const sent = page.locator("#sent");
      await sent.getByText("sending").waitFor();
      goOn.resolve();
      await sent.getByText("what came back").waitFor();
      await sent.getByText("complete").waitFor();
    });

    await t.step("a page whose question is never answered asks again", async () => {
      const id = await launchCommand(service, waiting("answered"));
      const { body: { run_id } } = await service.api("GET", `executions/${id}/`);
      await page.goto(`/deliveries/${run_id}`);
      await page.locator("#head").getByText("started").waitFor();
      const lost = Promise.withResolvers<void>();
      await page.route(`**/deliveries/${run_id}`, () => lost.resolve(), { times: 1 });
      await lost.promise;
      await release("answered", id);
      await page.locator("#head").getByText("complete").waitFor();
    });

    await t.step("a list goes on after its events were refused for a moment", async () => {
      const { url } = await service.trigger({ name: "refuses", conditions: [HMAC_CONDITION] });
      await launch(url);
      await page.route("**/deliveries/events*", (route) => route.fulfill({ status: 503 }), {
        times: 1,
      });
      const refused = page.waitForResponse((answer) => answer.status() === 503);
      await page.goto("/deliveries?trigger=refuses");
      await page.mouse.move(0, 0);
      await refused;
      await launch(url);
      await rows.nth(1).waitFor();
      wrong.length = 0;
    });

    await t.step(
      "a log goes on after parts and events of it were refused for a moment",
      async () => {
        const id = await launchCommand(service, `seq 20000; ${waiting("late")}; echo late`);
        await eventually(async () =>
          (await service.api("GET", `executions/${id}/log/?limit=1000&cursor=0`)).body.next ??
            undefined
        );
        let parts = 0;
        await page.route(
          "**/log/lines*",
          (route) => parts++ === 1 ? route.fulfill({ status: 503 }) : route.continue(),
        );
        await page.route("**/log/events*", (route) => route.fulfill({ status: 503 }), { times: 1 });
        const refused = page.waitForResponse((answer) => answer.url().includes("/log/events"));
        await page.goto(`/executions/${id}`);
        await refused;
        await release("late", id);
        await page.locator(".line", { hasText: /^20001\s*late$/ }).waitFor();
        await page.unroute("**/log/lines*");
        wrong.length = 0;
      },
    );

    await t.step("a list that was scrolled to its side stays there", async () => {
      await page.setViewportSize({ width: 375, height: 800 });
      await page.goto("/executions");
      await page.mouse.move(0, 0);
      const list = page.getByRole("region", { name: "Executions" });
      await list.evaluate((region) => region.scrollLeft = 100);
      const id = await launchCommand(service, "true");
      await page.locator(`#row-${id}`).waitFor({ state: "attached" });
      assertEquals(await list.evaluate((region) => region.scrollLeft), 100);
      await page.setViewportSize({ width: 1_280, height: 800 });
    });

    await t.step(
      "a button that copies has its name again, however often it is pressed",
      async () => {
        await page.goto("/triggers/first");
        const name = await page.getByRole("button", { name: "Copy the URL" }).evaluate(
          async (button) => {
            const { setTimeout } = globalThis;
            const later: (() => void)[] = [];
            Object.assign(globalThis, { setTimeout: (call: () => void) => later.push(call) });
            for (const count of [1, 2]) {
              button.click();
              while (later.length < count) await new Promise((done) => setTimeout(done));
            }
            for (const call of later) call();
            return button.textContent;
          },
        );
        assertEquals(name, "Copy");
      },
    );

    await t.step("what new rows push off a list is behind its link to older ones", async () => {
      await launchCommand(service, "true");
      const { url } = await service.trigger({
        name: "paged",
        actions: [{ type: "run_execution", step: "it" }],
      });
      const older = page.getByRole("link", { name: "Older" });
      await Promise.all(Array.from({ length: 50 }, () => launch(url)));
      for (const list of ["deliveries", "executions"]) {
        await page.goto(`/${list}?trigger=paged`);
        await page.mouse.move(0, 0);
        await rows.nth(49).waitFor();
        const oldest = await rows.last().getAttribute("id");
        if (list === "deliveries") assertEquals(await older.count(), 0);
        await launch(url);
        await page.locator(`#${oldest}`).waitFor({ state: "detached" });
        await older.click();
        await page.locator(`#${oldest}`).waitFor();
      }
    });

    await t.step("no row moves under the pointer, but its state goes on", async () => {
      const id = await launchCommand(service, waiting("three"));
      await page.goto("/executions");
      const row = page.locator(`#row-${id}`);
      await row.getByText("started").waitFor();
      await row.hover();
      const newer = await launchCommand(service, "true");
      await endOfExecution(service, newer);
      await release("three", id);
      await row.getByText("complete").waitFor();
      assertEquals(await rows.first().getAttribute("id"), `row-${id}`);
      await page.mouse.move(0, 0);
      await page.locator(`#row-${newer}`).waitFor();
    });

    await t.step("a hidden page follows no log, and goes on where it was", async () => {
      const id = await launchCommand(
        service,
        `seq 3; ${waiting("more")}; seq 4 6; ${waiting("end")}; seq 7 9`,
      );
      const streams: string[] = [];
      page.on("request", (request) => {
        if (request.url().includes("/log/events")) streams.push(request.url());
      });
      const show = (hidden: boolean) =>
        page.evaluate(`Object.defineProperty(document, "hidden",
          { configurable: true, value: ${hidden} });
          document.dispatchEvent(new Event("visibilitychange"));`);
      await page.goto(`/executions/${id}`);
      const texts = page.locator(".line > span");
      await texts.nth(2).waitFor();
      await letGo("more");
      await texts.nth(5).waitFor();
      await show(true);
      await letGo("end");
      await endOfExecution(service, id);
      assertEquals([await texts.count(), streams.length], [6, 1]);
      await show(false);
      await texts.nth(8).waitFor();
      assertEquals(
        await texts.allInnerTexts(),
        Array.from({ length: 9 }, (_, index) => String(index + 1)),
      );
      assertEquals(streams.length, 2);
    });

    await t.step("a replay that has ended has no Stop, and leads to the rest of it", async () => {
      const { url } = await service.trigger({
        name: "many",
        actions: [{ type: "fetch_repository" }],
      });
      await Promise.all(Array.from({ length: 60 }, () => launch(url)));
      const filter = { trigger: "many" };
      await eventually(async () => {
        const { body } = await service.api("POST", "replays/", { filter, dry_run: true });
        return body.count === 60 ? true : undefined;
      });
      const { acceptor } = service.service.parts;
      const accept = acceptor.accept.bind(acceptor);
      const shown = Promise.withResolvers<void>();
      acceptor.accept = (launch) => shown.promise.then(() => accept(launch));
      const { body } = await service.api("POST", "replays/", { filter, rate: 40 });
      await page.goto(`/replays/${body.id}`);
      await page.getByText("Stop", { exact: true }).waitFor();
      shown.resolve();
      await page.getByText("60 of 60").waitFor();
      assertEquals(await page.getByText("Stop", { exact: true }).count(), 0);
      assert(await page.getByRole("link", { name: "More" }).isVisible());
    });

    await t.step("a session that is over takes nothing that was typed", async () => {
      const { body } = await service.api("POST", "tokens/", { name: "short" });
      const other = await openConsole(chromium, service, { token: body.token, isHurried: true });
      await other.page.goto("/triggers/first");
      await other.page.getByText("Send a test", { exact: true }).click();
      await other.page.getByLabel("Body").fill('{"typed": 1}');
      await service.api("DELETE", `tokens/${body.id}/`);
      await other.page.getByRole("alert").getByText("Your session is over").waitFor();
      assertEquals(await other.page.getByLabel("Body").inputValue(), '{"typed": 1}');
      await other.page.getByLabel("Body").fill("");
      await other.context.close();
    });
    assertEquals(wrong, []);
  },
});
