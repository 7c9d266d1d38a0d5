/** Work in a real browser: logs that follow, are searched and linked; charts; pipelines that are watched. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { endOfExecution, endOfRun, startService } from "../../data.ts";
import { has } from "../../needs.ts";
import { slownessOfThread } from "../../surroundings.ts";
import { launchCommand } from "../api/fixture.ts";
import { assertAccessible, busyTime, openConsole, sharedChromium, watch } from "./browser.ts";

const ignore = !has("chromium");

Deno.test({
  name: "executions in a browser",
  ignore,
  // The connection to the browser is closed with it.
  sanitizeResources: false,
  sanitizeOps: false,
  async fn(t) {
    await using service = await startService();
    const chromium = await sharedChromium();
    await using window = await openConsole(chromium, service);
    const { page } = window;
    const wrong = watch(page);
    const lines = page.locator(".lines");
    const last = page.locator(".line").last();
    const scrollTop = async () => Number(await lines.evaluate((element) => element.scrollTop));

    await t.step("a log of 100,000 lines: a window of them, search, links", async () => {
      const id = await launchCommand(service, "seq 100000; printf '\\033[31mred\\033[0m plain\\n'");
      await endOfExecution(service, id);
      await page.goto(`/executions/${id}`);
      await page.getByText("red plain").waitFor();
      assertMatch(await last.innerText(), /100001\s*red plain/);
      assert(await page.locator(".line").count() < 200, "a window");
      assertEquals(await last.locator(".fg-1").innerText(), "red");

      const took_ms = await busyTime(page, () =>
        page.evaluate(`(async () => {
          const view = document.querySelector(".lines");
          for (let step = 0; step < 50; step++) {
            view.scrollTop = step * 40_000;
            await new Promise(requestAnimationFrame);
          }
        })()`));
      const most_ms = 5_000 * await slownessOfThread();
      assert(took_ms > 0 && took_ms < most_ms, `50 jumps took ${took_ms} ms of its thread's time`);
      await page.getByText("Not following: go to the end").waitFor();

      await page.locator("body").press("/");
      await page.keyboard.type("7777");
      await page.getByText(/^1 of \d+/).waitFor();
      assertMatch(await page.locator(".line.hit").innerText(), /7777/);
      await page.keyboard.press("Enter");
      await page.getByText(/^2 of \d+/).waitFor();

      await page.goto(`/executions/${id}#L120`);
      await page.reload();
      const target = page.locator(".line.target");
      assertMatch(await target.innerText(), /120\s*120/);
      assert(await target.isVisible());
      await page.getByText("Not following: go to the end").click();
      await page.getByText("red plain").waitFor();
    });

    await t.step("a log follows at its end, stops when scrolled up, and says so", async () => {
      const waitFor = (name: string) =>
        `while [ ! -e ${service.folder}/${name} ]; do sleep 0.1; done`;
      const release = (name: string) => Deno.writeTextFile(`${service.folder}/${name}`, "");
      const id = await launchCommand(
        service,
        [
          `seq 200; echo '{"loss": 0.5}'`,
          waitFor("more"),
          `seq 201 300; echo '{"loss": 0.25}'`,
          waitFor("end"),
          `seq 301 400`,
        ].join("\n"),
      );
      await page.goto(`/executions/${id}`);
      const printed = (text: string) =>
        page.locator(".line > span").filter({ hasText: new RegExp(`^${text}$`) });
      await printed("200").waitFor();
      assert(await scrollTop() > 0, "it follows");
      await release("more");
      await printed("300").waitFor();
      await page.getByRole("img", { name: "loss: 2 values between 0.25 and 0.5" }).waitFor();

      await lines.evaluate((element) => element.scrollTop = 0);
      await printed("1").waitFor();
      await release("end");
      const follow = page.getByRole("button", { name: "100 new lines: follow" });
      await follow.waitFor();
      assertEquals(await scrollTop(), 0);
      await page.locator("#head").getByText("complete").waitFor();
      await follow.click();
      await printed("400").waitFor();
      assertEquals(await follow.isVisible(), false);
      await assertAccessible(page);
    });

    const printed = (text: string) => page.locator(".line > span").getByText(text);
    /** Shows an execution that fails once a file exists, and is tried again. */
    const showRetried = async (go: string, first: number, before = "") => {
      const command = `
        [ -e ${go} ] && echo second && exit
        ${before}echo first; while [ ! -e ${go} ]; do sleep 0.1; done; exit 3`;
      const step = { step: { name: "again", image: "debian", command } };
      await Deno.writeTextFile(`${service.folder}/project/valohai.yaml`, JSON.stringify([step]));
      const retry = { attempts: 2, first, exit_codes: "*" };
      const { url } = await service.trigger({
        response: { type: "text", text: "{run_id}" },
        actions: [{ type: "run_execution", step: "again", retry }],
      });
      const runId = await (await fetch(url, { method: "POST" })).text();
      const { actions: [{ created: { execution_id: id } }] } = await endOfRun(service, runId);
      await page.goto(`/executions/${id}`);
      await printed("first").waitFor();
      return id;
    };

    await t.step(
      "a new attempt shows its own log; a line of an earlier one is linked",
      async () => {
        const go = `${service.folder}/fail`;
        const id = await showRetried(go, 0);
        await Deno.writeTextFile(go, "");
        await printed("second").waitFor();
        // A link leads to the same line once there is a later attempt.
        await page.getByRole("link", { name: "1", exact: true }).click();
        await page.locator(".line.target").waitFor();
        assertEquals(page.url(), `${service.url}/executions/${id}?attempt=2#L1`);

        await page.getByRole("link", { name: "1 of 2" }).click();
        await printed("first").waitFor();
        await page.getByRole("link", { name: "1", exact: true }).click();
        await page.locator(".line.target").waitFor();
        assertEquals(page.url(), `${service.url}/executions/${id}?attempt=1#L1`);
      },
    );

    await t.step(
      "the log of an attempt that has failed stays until the next one begins",
      async () => {
        const go = `${service.folder}/fail_later`;
        await showRetried(go, 3_600);
        await Deno.writeTextFile(go, "");
        await page.getByText("It waits: Attempt 2 of 2").waitFor();
        await page.waitForResponse((answer) => answer.request().resourceType() === "xhr");
        assertEquals(await printed("first").count(), 1);
      },
    );

    await t.step(
      "who reads an earlier log is led to the newest one, also after all has ended",
      async () => {
        const go = `${service.folder}/fail_unseen`;
        await showRetried(go, 0, "seq 100; ");
        await page.getByRole("searchbox").waitFor();
        await lines.evaluate((element) => element.scrollTop = 0);
        const follow = page.locator(".follow");
        await follow.waitFor();
        await Deno.writeTextFile(go, "");
        await page.locator("#head").getByText("complete").waitFor();
        await follow.click();
        await printed("second").waitFor();
      },
    );

    await t.step("an execution is stopped by a second click", async () => {
      const id = await launchCommand(service, "echo begun; sleep 30");
      await page.goto(`/executions/${id}`);
      await page.getByText("Stop", { exact: true }).click();
      await page.getByRole("button", { name: "Stop this execution" }).click();
      await page.locator("#head .stopped, #head .state", { hasText: "stopped" }).waitFor();
    });

    await t.step("colours and underlines of all ways to write them", async () => {
      const cases = [
        ["31", "fg-1"],
        ["1;38;5;2", "bold fg-2"],
        ["38;2;255;0;0", "fg-1"],
        ["38:5:4", "fg-4"],
        ["38:2:0:255:0", "fg-2"],
        // With the place of a colour space, as the standard has it.
        ["38:2::255:0:0", "fg-1"],
        ["31;4:3", "fg-1 underline"],
        ["4;4:0;31", "fg-1"],
        // The colour of an underline is not shown.
        ["32;58;2;255;0;0", "fg-2"],
        ["32;58:5:1", "fg-2"],
      ] as const;
      const id = await launchCommand(
        service,
        cases.map(([codes]) => `printf '\\033[${codes}m${codes}\\n'`).join("\n"),
      );
      await endOfExecution(service, id);
      await page.goto(`/executions/${id}`);
      const texts = page.locator(".line > span > span");
      await texts.nth(cases.length - 1).waitFor();
      assertEquals(
        await texts.evaluateAll((all) => all.map((each) => [each.textContent, each.className])),
        cases.map((each) => [...each]),
      );
    });

    await t.step("hostile lines, keys and codes stay text", async () => {
      const hostile =
        `"><img src=x onerror="document.title='hit'"><script>document.title='hit'</script>`;
      const json = JSON.stringify({ [hostile]: 1 });
      const id = await launchCommand(
        service,
        `cat <<'END'\n${hostile}\n\x1b[31m${hostile}\x1b]8;;javascript:alert(1)\x07\n${json}\n${json}\nEND`,
      );
      await endOfExecution(service, id);
      await page.goto(`/executions/${id}`);
      await page.locator(".charts figure").waitFor();
      assertEquals(await page.locator("main img").count(), 0);
      assertEquals(await page.locator("main script").count(), 0);
      assertEquals(await page.locator("main a[href^='javascript']").count(), 0);
      assert(!(await page.title()).includes("hit"));
    });
    assertEquals(wrong, []);
  },
});

Deno.test({
  name: "a pipeline in a browser",
  ignore,
  sanitizeResources: false,
  sanitizeOps: false,
  async fn() {
    await using service = await startService();
    const hostile = `"><img src=x onerror=alert(1)>`;
    const step = (name: string, more: object = {}) => ({
      step: { name, image: "debian", command: "sleep 0.2; touch $VH_OUTPUTS_DIR/file", ...more },
    });
    const input = { inputs: [{ name: "file", optional: true }] };
    const node = (name: string, step: string) => ({ name, type: "execution", step });
    const file = [step("make"), step("use", input), {
      pipeline: {
        name: "flow",
        nodes: [node("make", "make"), {
          ...node(hostile, "use"),
          actions: [{ when: "node-starting", then: "require-approval" }],
        }],
        edges: [["make.output.*", `${hostile}.input.file`]],
      },
    }];
    await Deno.writeTextFile(`${service.folder}/project/valohai.yaml`, JSON.stringify(file));
    const trigger = await service.trigger({
      actions: [{ type: "run_pipeline", pipeline: "flow" }],
      response: { type: "text", text: "{run_id}" },
    });
    const chromium = await sharedChromium();
    await using window = await openConsole(chromium, service, { isHurried: true });
    const { page } = window;
    const wrong = watch(page);

    const runId = await (await fetch(trigger.url, { method: "POST" })).text();
    await page.goto(`/deliveries/${runId}`);
    await page.locator("#story").getByRole("link", { name: "flow" }).click();
    const graph = page.locator(".graph");
    await graph.getByText("awaiting approval").waitFor();
    assertEquals(await graph.locator("g.node").count(), 2);
    assertEquals(await graph.locator("polyline").count(), 1);
    await assertAccessible(page);
    await page.getByRole("button", { name: `Approve ${hostile}` }).click();
    await page.locator("#pipeline .title").getByText("complete").waitFor();
    assertEquals(await graph.locator("g.node.ok").count(), 2);
    assertEquals(await page.locator("main img").count(), 0);
    await page.getByRole("button", { name: "Copy", exact: true }).click();
    await page.getByText("This is the copy").waitFor();
    await graph.getByText("awaiting approval").waitFor();
    await page.getByText("Stop", { exact: true }).click();
    await page.getByRole("button", { name: "Stop this pipeline" }).click();
    await page.locator("#pipeline .title").getByText("stopped").waitFor();
    await page.getByRole("button", { name: "Retry" }).click();
    await page.getByText("This pipeline retries the other").waitFor();
    await page.getByRole("row", { name: /^make.*reused/ }).waitFor();
    await assertAccessible(page);

    await graph.getByRole("link", { name: "make, complete" }).click();
    await page.getByRole("heading", { name: "make", level: 1 }).waitFor();
    await page.getByRole("link", { name: "flow" }).click();
    await page.waitForURL("**/pipelines/*");
    assertEquals(wrong, []);
  },
});
