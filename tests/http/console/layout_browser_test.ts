/** The layout in a real browser: second clicks on the place of the first, and names of any length, wide and narrow. */
import { assert } from "@std/assert";
import type { Page } from "playwright-core";
import { endOfExecution, endOfRun, startService } from "../../data.ts";
import { has } from "../../needs.ts";
import { assertAccessible, openConsole, sharedChromium } from "./browser.ts";

const WIDTHS = [1_280, 375];
const LONG = `long_${"x".repeat(150)}`;
const LONG_NAME = `a-${"long-".repeat(12)}x`;
const STEP = {
  name: LONG,
  image: "debian",
  command: `echo '{"${LONG}": 1}'; echo '{"${LONG}": 2}'; seq 2000`,
};
const NODES = [{ name: LONG, type: "execution", step: LONG }];

/** Clicks twice on one point, as an operator who does not look again. */
async function clickTwice(page: Page, label: string): Promise<void> {
  const first = page.locator(".ask").getByText(label, { exact: true }).last();
  await first.scrollIntoViewIfNeeded();
  const { x, y, width, height } = await first.boundingBox() ?? { x: 0, y: 0, width: 0, height: 0 };
  const [atX, atY] = [x + width / 2, y + height / 2];
  await page.mouse.click(atX, atY);
  await page.locator(".confirm[open] .cancel").waitFor();
  // Colors and names do not depend on the width.
  if (page.viewportSize()?.width === WIDTHS[0]) {
    await assertAccessible(page, ["color-contrast", "button-name"]);
  }
  await page.mouse.click(atX, atY);
}

async function assertFits(page: Page): Promise<void> {
  const extra = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
  assert(Number(extra) <= 0, `${page.url()} is ${extra} px too wide`);
}

Deno.test({
  name: "the layout in a browser",
  ignore: !has("chromium"),
  // The connection to the browser is closed with it.
  sanitizeResources: false,
  sanitizeOps: false,
  async fn(t) {
    await using service = await startService();
    const file = [{ step: STEP }, { pipeline: { name: LONG, nodes: NODES, edges: [] } }];
    await Deno.writeTextFile(`${service.folder}/project/valohai.yaml`, JSON.stringify(file));
    const actions = [{ type: "run_execution", step: LONG }, {
      type: "run_pipeline",
      pipeline: LONG,
    }];
    const { url } = await service.trigger({
      name: LONG_NAME,
      actions,
      response: { type: "text", text: "{run_id}" },
    });
    const runId = await (await fetch(url, { method: "POST", body: "{}" })).text();
    const { actions: [{ created: { execution_id } }, { created: { pipeline_id } }] } =
      await endOfRun(service, runId);
    await endOfExecution(service, execution_id);
    const chromium = await sharedChromium();

    await using window = await openConsole(chromium, service, { isHurried: true });
    const { page } = window;

    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 800 });
      await t.step(
        `a second click on the same place does what was asked, at ${width} px`,
        async () => {
          const secrets = ["a-secret-of-the-layout", { name: "next", value: "{env:NOT_THERE}" }];
          await service.trigger({
            name: "short",
            conditions: [{ type: "hmac", preset: "github", secrets }],
          });
          await service.api("POST", "tokens/", { name: "ci" });
          await page.goto("/triggers/short");
          await assertFits(page);
          await clickTwice(page, "Remove");
          await page.getByText("The secrets are changed").waitFor();
          await clickTwice(page, "Delete");
          await page.getByText("The trigger is deleted").waitFor();
          await page.goto("/access");
          await clickTwice(page, "Revoke");
          await page.getByText("The token opens nothing any more").waitFor();
          await page.goto("/replays/new");
          await clickTwice(page, "Replay");
          await page.waitForURL("**/replays/*-*");
        },
      );

      await t.step(`names of any length fit, at ${width} px`, async () => {
        for (
          const address of [
            `triggers/${LONG_NAME}`,
            `deliveries/${runId}`,
            `executions/${execution_id}`,
            `executions?pipeline=${pipeline_id}`,
            `deliveries?delivery_id=${LONG}`,
            `pipelines/${pipeline_id}`,
          ]
        ) {
          await page.goto(`/${address}`);
          if (address.startsWith("executions/")) await page.locator("figure").waitFor();
          await assertFits(page);
        }
        const state = await page.locator("tbody .state").boundingBox();
        assert(state && state.x < width, "the state of a node is in sight");
      });

      await t.step(`a list of changes needs no scrolling, at ${width} px`, async () => {
        const { id } = await service.trigger({ name: `open-${width}` });
        const { body: { results: [{ id: warning }] } } = await service.api(
          "GET",
          `attention/?trigger=open-${width}`,
        );
        const path = `triggers/${id}/warnings/${warning}/dismissal/`;
        await service.api("PUT", path, { reason: "our own network" });
        await page.goto("/access");
        await page.getByText(`/${path}`).waitFor();
        const hidden = await page.getByRole("region", { name: "Changes" }).evaluate((region) =>
          region.scrollWidth - region.clientWidth
        );
        assert(hidden <= 0, `${hidden} px of the changes are out of sight`);
      });

      await t.step(`a log is searched, at ${width} px`, async () => {
        await page.goto(`/executions/${execution_id}`);
        const field = page.getByRole("searchbox");
        await field.fill("1");
        const found = page.getByText(/^\d+ of \d+$/);
        await found.waitFor();
        const [input, told] = [await field.boundingBox(), await found.boundingBox()];
        assert(input && input.width > 150, `the field is ${input?.width} px wide`);
        assert(told && told.height < 30, "its result is one line");
      });
    }
  },
});
