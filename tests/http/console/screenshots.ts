/**
 * Takes a picture of each page of the console, wide and narrow, light and dark, on a service that is empty, usual
 * and full: `deno task screenshots [folder] [part of an address]`. Reports what axe-core finds.
 *
 * @module
 */
import type { Page } from "playwright-core";
import { startService, type TestService } from "../../data.ts";
import { assertAccessible, openConsole, startChromium } from "./browser.ts";
import { fillNotifications, fillSample, pagesOf, push } from "./sample.ts";

const FULL = 120;

const EMPTY_PAGES = {
  overview: "",
  deliveries: "deliveries",
  access: "access",
  notifications: "notifications",
};

async function photograph(
  service: TestService,
  { state, pages, folder }: { state: string; pages: Record<string, string>; folder: string },
): Promise<void> {
  await using chromium = await startChromium();
  for (const width of [1_280, 375]) {
    for (const colorScheme of ["light", "dark"] as const) {
      const { page, context } = await openConsole(chromium, service, { width, colorScheme });
      for (const [name, address] of Object.entries(pages)) {
        await page.goto(`/${address}`);
        await page.screenshot({
          path: `${folder}/${state}-${name}-${width}-${colorScheme}.png`,
          fullPage: true,
        });
        await report(page, `${state} ${name} ${width} ${colorScheme}`);
      }
      await context.close();
    }
  }
}

async function report(page: Page, name: string): Promise<void> {
  const width = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
  if (Number(width) > 0) console.log(`${name}: ${width} px too wide`);
  await assertAccessible(page).catch((error) => console.log(`${name}: ${error.message}`));
}

if (import.meta.main) {
  const [folder = await Deno.makeTempDir({ prefix: "hooklaunch-screenshots-" }), part = ""] =
    Deno.args;
  await Deno.mkdir(folder, { recursive: true });
  const wanted = (pages: Record<string, string>) =>
    Object.fromEntries(Object.entries(pages).filter(([name]) => name.includes(part)));
  await using service = await startService();
  await photograph(service, { state: "empty", pages: wanted(EMPTY_PAGES), folder });
  const sample = await fillSample(service);
  const told = await fillNotifications(service, sample);
  const usual = { ...pagesOf(sample), notification: `notifications/${told}` };
  await photograph(service, { state: "usual", pages: wanted(usual), folder });
  for (let sent = 0; sent < FULL; sent++) {
    await push(sample.triggers.retrain.url, sent % 3 ? "main" : "other", `full-${sent}`);
  }
  const full = { overview: "", deliveries: "deliveries" };
  await photograph(service, { state: "full", pages: wanted(full), folder });
  console.log(folder);
}
