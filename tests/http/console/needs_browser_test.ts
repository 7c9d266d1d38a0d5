/** One click sets the answers that a provider needs. The page is tried in both colours and at both widths. */
import { assert, assertEquals } from "@std/assert";
import { generateKeyPairSync } from "node:crypto";
import { startService } from "../../data.ts";
import { has } from "../../needs.ts";
import { assertAccessible, openConsole, sharedChromium, watch } from "./browser.ts";

const SECRET = "a-secret-of-the-tests-0123456789";
const KEY = generateKeyPairSync("ed25519").publicKey.export({ format: "pem", type: "spki" });
const LIMIT = { type: "rate_limit", period: 60, quota: 5 };
const FILTER = { type: "payload_filter", expression: "body.a == 1" };

interface Need {
  name: string;
  settings: Record<string, unknown>;
  button: string;
  /** The settings that the trigger has afterwards. */
  expected: Record<string, unknown>;
}

const needs: Need[] = [
  {
    name: "xero",
    settings: { conditions: [{ type: "hmac", preset: "xero", secrets: [SECRET] }] },
    button: "Set 401 for wrong signatures, an empty answer",
    expected: { refused: { authentication: 401 }, response: { type: "text", text: "" } },
  },
  {
    name: "discord_events",
    settings: {
      conditions: [{ type: "signature", preset: "discord_events", public_keys: [KEY] }],
    },
    button: "Set 401 for wrong signatures, 204 for what is accepted",
    expected: {
      refused: { authentication: 401 },
      response: { type: "text", text: "", status: 204 },
    },
  },
  {
    name: "twilio",
    settings: { conditions: [{ type: "hmac", preset: "twilio", secrets: [SECRET] }] },
    button: "Set the answer in XML that it waits for",
    expected: { response: { type: "xml", text: "<Response/>" } },
  },
  {
    name: "gitlab",
    settings: {
      conditions: [{ type: "static_token", preset: "gitlab", secrets: [SECRET] }, FILTER, LIMIT],
      refused: { authentication: 403 },
    },
    button: "Set 429 for launches over the limit, 200 for what the filter refuses",
    expected: { refused: { authentication: 403, rate_limit: 429, filter: 200 } },
  },
];

Deno.test({
  name: "what providers need is set in a browser",
  ignore: !has("chromium"),
  // The connection to the browser is closed with it.
  sanitizeResources: false,
  sanitizeOps: false,
  async fn(t) {
    await using service = await startService();
    const chromium = await sharedChromium();
    const read = async (id: string) => (await service.api("GET", `triggers/${id}/`)).body;
    await using window = await openConsole(chromium, service);
    const { page } = window;
    const wrong = watch(page);
    for (const { name, settings, button, expected } of needs) {
      await t.step(name, async () => {
        const { id } = await service.trigger({ name, ...settings });
        // The longest one tells whether all have room.
        for (const width of name === "gitlab" ? [375, 1_280] : []) {
          await page.setViewportSize({ width, height: 800 });
          await page.goto(`/triggers/${name}`);
          await page.getByRole("button", { name: button, exact: true }).waitFor();
          const excess = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
          assertEquals(Number(excess), 0, `${width} px`);
          // Colors and names do not depend on the width.
          for (const colorScheme of width === 375 ? ["dark", "light"] as const : []) {
            await page.emulateMedia({ colorScheme });
            await assertAccessible(page);
          }
        }
        await page.goto(`/triggers/${name}`);
        await page.getByRole("button", { name: button, exact: true }).click();
        await page.getByText("It answers as its provider needs it").waitFor();
        assertEquals(await page.locator(".needs").count(), 0, "nothing is left to set");
        const trigger = await read(id);
        for (const [field, value] of Object.entries(expected)) {
          assertEquals(trigger[field], value);
        }
      });
    }

    await t.step("an answer in XML, and a response that was there", async () => {
      const { id } = await service.trigger({
        name: "salesforce",
        conditions: [{ type: "static_token", preset: "salesforce", secrets: [SECRET] }],
        response: { type: "json", json: { run: "{run_id}" } },
      });
      await page.goto("/triggers/salesforce");
      await page.getByRole("button", { name: "Set the answer in XML that it waits for" }).click();
      await page.getByText("It answers as its provider needs it").waitFor();
      const { url, response } = await read(id);
      assertEquals(response.type, "xml");
      const answer = await fetch(`${url}?token=${SECRET}`, { method: "POST", body: "<a/>" });
      assert((await answer.text()).includes("<Ack>true</Ack>"));
    });

    await t.step("the secret of a handshake is asked for", async () => {
      const { id, url } = await service.trigger({
        name: "whatsapp",
        conditions: [{ type: "hmac", preset: "whatsapp", secrets: [SECRET] }],
      });
      await page.goto("/triggers/whatsapp");
      await page.getByLabel(/^Secret with which Meta .* checks the URL$/).fill(
        "verify-0123456789",
      );
      await page.getByRole("button", { name: "Answer its check" }).click();
      await page.getByText("It answers as its provider needs it").waitFor();
      const query = "?hub.mode=subscribe&hub.verify_token=verify-0123456789&hub.challenge=42";
      const answer = await fetch(url + query);
      assertEquals([answer.status, await answer.text()], [200, "42"]);
      assertEquals((await read(id)).handshakes.length, 1);
    });

    await t.step(
      "a trigger that was changed meanwhile stays as it is, and says so",
      async () => {
        const { id } = await service.trigger({
          name: "changed",
          conditions: [{ type: "hmac", preset: "xero", secrets: [SECRET] }],
        });
        await page.goto("/triggers/changed");
        await service.api("PATCH", `triggers/${id}/`, { enabled: false });
        await page.getByRole("button", { name: "Set 401 for wrong signatures" }).click();
        await page.locator(".notice.bad").waitFor();
        assertEquals((await read(id)).refused, undefined);
      },
    );
    assertEquals(wrong, []);
  },
});
