/**
 * Chromium without a window, for the tests of the console and its screenshots.
 *
 * It is started through a shell, as the tests may start nothing else, and driven over a WebSocket.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import type { AxeResults } from "axe-core";
// Its short form takes half as long to load, for each page.
import axe from "axe-core/axe.min.js";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { ADMIN_TOKEN, eventually, type TestService } from "../../data.ts";
import { PATIENCE_MS } from "../../surroundings.ts";

/**
 * Runs Chromium until its own input ends. The one without a window takes half of the processor time. Debian's command
 * for it is a script, so that what it starts is ended by its session.
 */
const START = `
chromium=$(command -v chromium-headless-shell) || chromium="chromium --headless=new"
setsid $chromium --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run \\
  --disable-extensions --disable-background-networking --disable-component-update --disable-sync \\
  --disable-default-apps --disable-breakpad --metrics-recording-only --hide-scrollbars \\
  --user-data-dir="$1" --remote-debugging-port=0 about:blank >/dev/null 2>&1 &
read -r _ || true
kill -- -$! || kill $!
wait $! || true
`;

/** A running Chromium. */
export interface Chromium extends AsyncDisposable {
  browser: Browser;
}

let shared: Promise<Chromium> | undefined;
Deno.test.afterAll(async () => await (await shared)?.[Symbol.asyncDispose]());

/** Returns the Chromium of all tests of this process. It ends after the last one. */
export function sharedChromium(): Promise<Chromium> {
  return shared ??= startChromium();
}

/** Starts Chromium. */
export async function startChromium(): Promise<Chromium> {
  const profile = await Deno.makeTempDir({ prefix: "hooklaunch-chromium-" });
  const process = new Deno.Command("sh", {
    args: ["-c", START, "sh", profile],
    stdin: "piped",
    stdout: "null",
    stderr: "null",
  }).spawn();
  const browser = await chromium.connectOverCDP(await addressOf(profile));
  return {
    browser,
    async [Symbol.asyncDispose]() {
      await browser.close();
      await process.stdin.close();
      await process.status;
      // Processes of Chromium that outlive it for a moment may still write there.
      await eventually(() =>
        Deno.remove(profile, { recursive: true }).then(() => true, () => undefined)
      );
    },
  };
}

/** Returns the address at which a Chromium takes orders: it writes it into its profile. */
async function addressOf(profile: string): Promise<string> {
  return await eventually(async () => {
    const text = await Deno.readTextFile(`${profile}/DevToolsActivePort`).catch(() => "");
    const [port, path] = text.split("\n");
    return path === undefined ? undefined : `ws://127.0.0.1:${port}${path}`;
  }, { what: "the start of Chromium" });
}

/** Timers of pages that are hurried end so many times sooner. */
const HURRY = 5;
/** Runs in a page before its own script. */
const HURRIED = ["setTimeout", "setInterval"].map((name) =>
  `{ const { ${name} } = globalThis;
    globalThis.${name} = (call, time_ms, ...rest) => ${name}(call, time_ms / ${HURRY}, ...rest); }`
).concat(
  `{ const { get, set } = Object.getOwnPropertyDescriptor(XMLHttpRequest.prototype, "timeout");
    Object.defineProperty(XMLHttpRequest.prototype, "timeout",
      { get, set(time_ms) { set.call(this, time_ms / ${HURRY}); } }); }`,
).join("\n");

/** How a page is looked at. */
export interface Looks {
  width?: number;
  colorScheme?: "light" | "dark";
}

/** A window that has logged in to the console of a service. */
export async function openConsole(
  { browser }: Chromium,
  { url }: Pick<TestService, "url">,
  { width = 1_280, colorScheme = "light", token = ADMIN_TOKEN, isHurried = false }:
    & Looks
    & { token?: string; isHurried?: boolean } = {},
): Promise<AsyncDisposable & { page: Page; context: BrowserContext }> {
  const context = await browser.newContext({
    baseURL: url,
    viewport: { width, height: 800 },
    colorScheme,
    permissions: ["clipboard-read", "clipboard-write"],
  });
  if (isHurried) await context.addInitScript(HURRIED);
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  await page.goto("/login");
  await page.getByLabel("Operator's token").fill(token);
  await page.getByRole("button", { name: "Log in", exact: true }).click();
  await page.getByRole("button", { name: "Log out" }).waitFor();
  return { page, context, [Symbol.asyncDispose]: () => context.close() };
}

/** Returns how much of its thread's time a page takes for some work, in milliseconds, whatever else runs. */
export async function busyTime(page: Page, work: () => Promise<unknown>): Promise<number> {
  const session = await page.context().newCDPSession(page);
  const busy_ms = async () => {
    const { metrics } = await session.send("Performance.getMetrics");
    return 1_000 * (metrics.find(({ name }) => name === "TaskDuration")?.value ?? NaN);
  };
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const before_ms = await busy_ms();
  await work();
  const took_ms = await busy_ms() - before_ms;
  await session.detach();
  return took_ms;
}

/** Returns the most that a page takes of its thread's time at once during some work, in milliseconds. */
export async function longestTask(page: Page, work: () => Promise<unknown>): Promise<number> {
  const browser = page.context().browser();
  if (browser === null) throw new Error("Expected a page of a browser");
  await browser.startTracing(page, { categories: ["toplevel"] });
  await work();
  const trace = new TextDecoder().decode(await browser.stopTracing());
  const { traceEvents: events }: { traceEvents: TraceEvent[] } = JSON.parse(trace);
  const threads = events.filter(({ name, args }) =>
    name === "thread_name" && args.name === "CrRendererMain"
  ).map(({ pid, tid }) => `${pid} ${tid}`);
  let longest_ms = 0;
  for (const { pid, tid, tdur = 0 } of events) {
    if (threads.includes(`${pid} ${tid}`)) longest_ms = Math.max(longest_ms, tdur / 1_000);
  }
  return longest_ms;
}

/** A piece of work of a thread, as Chromium's traces tell it. */
interface TraceEvent {
  name: string;
  pid: number;
  tid: number;
  /** Its thread's time, in microseconds. */
  tdur?: number;
  args: { name?: string };
}

/** Collects what the policy of a page has refused, and the failures of its script. */
export function watch(page: Page): string[] {
  const wrong: string[] = [];
  page.on("console", (message) => {
    // An answer that is an error is what some steps look for.
    if (message.type() === "error" && !/status of 4\d\d/.test(message.text())) {
      wrong.push(message.text());
    }
  });
  page.on("pageerror", (error) => wrong.push(String(error)));
  return wrong;
}

/** Checks that axe-core finds nothing on the page that is shown: by all rules, or by some. */
export async function assertAccessible(page: Page, rules?: string[]): Promise<void> {
  // The page's policy lets no script in but its own; what a debugger evaluates is not of the page. Sending it to
  // each page would take longer than its checks: the browser keeps it for the pages that the window opens next.
  if (await page.evaluate("typeof axe") === "undefined") {
    await page.context().addInitScript(axe.source);
    await page.evaluate(axe.source);
  }
  const options = {
    resultTypes: ["violations"],
    ...(rules === undefined ? {} : { runOnly: rules }),
  };
  // It runs in the page, where axe is a global. What it lists of what passes is long.
  const violations = await page.evaluate(
    `axe.run(${JSON.stringify(options)}).then(({ violations }) => violations)`,
  ) as AxeResults["violations"];
  const found = violations.map(({ id, nodes }) =>
    `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join("\n")}`
  );
  assertEquals(found, [], page.url());
}
