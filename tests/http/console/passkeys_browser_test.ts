/** Passkeys in a browser, with an authenticator that checks who uses it: added, used, named, ended. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { BrowserContext, Page } from "playwright-core";
import { beginDeviceLogin } from "../../../src/logins/device.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import { listPasskeys } from "../../../src/store/records/passkeys.ts";
import { getPerson, putPerson } from "../../../src/store/records/people.ts";
import { startService } from "../../data.ts";
import { browserOf, storePerson } from "../../logins/person.ts";
import { has } from "../../needs.ts";
import { assertAccessible, openConsole, sharedChromium, watch } from "./browser.ts";

/** Gives a page an authenticator of its own. */
async function addAuthenticator(context: BrowserContext, page: Page) {
  const session = await context.newCDPSession(page);
  await session.send("WebAuthn.enable");
  const { authenticatorId } = await session.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return {
    async forget() {
      await session.send("WebAuthn.clearCredentials", { authenticatorId });
    },
    async verifies(isUserVerified: boolean) {
      await session.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified });
    },
  };
}

/** The next form that the page sends to an address: its fields, and the browser's cookies then. */
async function nextForm(page: Page, address: string) {
  const request = await page.waitForRequest((each) =>
    each.method() === "POST" && each.url().endsWith(address)
  );
  const { cookie = "", origin = "" } = await request.allHeaders();
  return { body: request.postData() ?? "", cookie, origin };
}

Deno.test({
  name: "passkeys in a browser",
  ignore: !has("chromium"),
  // The connection to the browser is closed with it.
  sanitizeResources: false,
  sanitizeOps: false,
  async fn(t) {
    await using service = await startService();
    const { store } = service.service.parts;
    const url = service.url.replace("127.0.0.1", "localhost");
    service.service.parts.baseUrl = url;
    const { body: shared } = await service.api("POST", "tokens/", { name: "shared" });
    const chromium = await sharedChromium();
    await using window = await openConsole(chromium, { url }, { token: shared.token });
    const { page, context } = window;
    const wrong = watch(page);
    const authenticator = await addAuthenticator(context, page);
    const logOut = async () => {
      await page.getByRole("button", { name: "Log out" }).click();
      await page.getByRole("heading", { name: "Log in" }).waitFor();
    };
    const logIn = async () =>
      await page.getByRole("button", { name: "Log in with a passkey" }).click();

    await t.step("one is added on the grounds of the token, and named", async () => {
      await page.getByRole("link", { name: "shared" }).click();
      await page.getByLabel("Your name").fill("Ada");
      await page.getByLabel("Name of the passkey").fill("laptop");
      await page.getByRole("button", { name: "Add a passkey" }).click();
      await page.getByText("The passkey is added").waitFor();
      await page.getByText("Rename").click();
      await page.getByLabel("Name", { exact: true }).fill("old laptop");
      await page.getByRole("button", { name: "Save the name" }).click();
      await page.getByText("The name is saved").waitFor();
      const [stored] = await listPasskeys(store);
      assert(stored);
      assertEquals([stored.name, stored.owner, stored.person], ["old laptop", "Ada", undefined]);
    });

    await t.step("the pages fit, and axe-core finds nothing, light and dark", async () => {
      const begun = await beginDeviceLogin({ store, clock: systemClock }, {
        device: "a computer with a name of many letters in one",
        remote_ip: "127.0.0.1",
        scope: undefined,
      });
      const device = `/access/device?code=${begun.user_code}`;
      for (const address of ["/access/passkeys", "/access/device", device, "/access"]) {
        await page.setViewportSize({ width: 375, height: 800 });
        await page.goto(address);
        await assertAccessible(page);
        await page.emulateMedia({ colorScheme: "dark" });
        await assertAccessible(page, ["color-contrast"]);
        await page.emulateMedia({ colorScheme: "light" });
        const extra = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
        assert(Number(extra) <= 0, `${address} is ${extra} px too wide`);
      }
      await page.setViewportSize({ width: 1_280, height: 800 });
    });

    let sent = { body: "", cookie: "", origin: "" };
    await t.step("it logs in alone, as the person", async () => {
      await logOut();
      await assertAccessible(page);
      const form = nextForm(page, "/login/passkey");
      await logIn();
      sent = await form;
      await page.getByRole("link", { name: "Ada (shared)" }).waitFor();
      await page.goto("/access");
      await page.getByText("New token").click();
      await page.getByLabel("Name", { exact: true }).fill("made-by-ada");
      await page.getByRole("button", { name: "Create the token" }).click();
      await page.getByText('The token "made-by-ada" is made').waitFor();
      const { body: { results: [entry] } } = await service.api("GET", "audit/?limit=1");
      assertEquals([entry.operation, entry.author], [
        "createToken",
        { name: "Ada (shared)", id: shared.id },
      ]);
    });

    const send = async ({ body, cookie, origin }: typeof sent) => {
      const answer = await fetch(`${service.url}/login/passkey`, {
        method: "POST",
        redirect: "manual",
        headers: { cookie, origin, "content-type": "application/x-www-form-urlencoded" },
        body,
      });
      const cookies = answer.headers.getSetCookie().filter((each) => /_session_/.test(each));
      return { status: answer.status, text: await answer.text(), cookies };
    };
    await t.step("an answer serves once, in its own browser, from its own page", async () => {
      const cases: [sent: Partial<typeof sent>, status: number, says: RegExp][] = [
        [{}, 401, /has served once already/],
        [{ cookie: "" }, 401, /in another browser/],
        [{ origin: "https://evil.example" }, 403, /Expected a form of/],
        [{ body: "credential=x" }, 401, /cannot be accepted/],
      ];
      for (const [changes, status, says] of cases) {
        const answer = await send({ ...sent, ...changes });
        assertEquals([answer.status, answer.cookies], [status, []], answer.text);
        assertMatch(answer.text, says);
      }
    });

    await t.step("who is not verified does not get in", async () => {
      await logOut();
      await authenticator.verifies(false);
      await logIn();
      await page.getByText("It was cancelled, or took too long").waitFor();
      await authenticator.verifies(true);
    });

    await t.step("it ends with its token, and so does its session", async () => {
      await logIn();
      await page.getByRole("link", { name: "Ada (shared)" }).waitFor();
      await service.api("DELETE", `tokens/${shared.id}/`);
      assertEquals(await listPasskeys(store), []);
      await page.goto("/triggers");
      await page.getByRole("heading", { name: "Log in" }).waitFor();
      assertEquals(await page.getByRole("button", { name: "passkey" }).count(), 0);
      // A person would choose; this authenticator takes the first one.
      await authenticator.forget();
    });

    await t.step(
      "that of a person at an issuer counts as long as their last login there",
      async () => {
        const key = await storePerson(service);
        const { cookies } = await browserOf(service, key);
        await context.addCookies([...cookies].map(([name, value]) => ({ name, value, url })));
        await page.goto("/access/passkeys");
        await page.getByText("24 hours after your last login").waitFor();
        await page.getByLabel("Name of the passkey").fill("laptop");
        await page.getByRole("button", { name: "Add a passkey" }).click();
        await page.getByText("The passkey is added").waitFor();
        await logOutOfIssuer(page);
        await logIn();
        await page.getByRole("link", { name: "ada@example.com" }).waitFor();
        const person = await getPerson(store, key);
        assert(person);
        await putPerson(store, { ...person, expires_at: new Date(0).toISOString() });
        await page.goto("/triggers");
        await logIn();
        await page.getByText("more than a day ago").waitFor();
        await page.getByRole("link", { name: "Log in with Example" }).waitFor();
        await assertAccessible(page);
        await putPerson(store, person);
        await logIn();
        await page.getByRole("link", { name: "ada@example.com" }).waitFor();
      },
    );

    await t.step("removed, it opens nothing, and its session has ended", async () => {
      const [stored] = await listPasskeys(store);
      const { status } = await service.api("DELETE", `passkeys/${stored?.id}/`);
      assertEquals(status, 204);
      await page.goto("/triggers");
      await page.getByRole("heading", { name: "Log in" }).waitFor();
    });
    assertEquals(wrong, []);
  },
});

/** Logs out. The issuer of the test cannot be reached: nothing leads to its own logout. */
async function logOutOfIssuer(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Log out" }).click();
  await page.getByRole("heading", { name: "Log in" }).waitFor();
  assertStringIncludes(page.url(), "/login");
}
