/** What needs attention, by the API, the command line and the console: failures apart from warnings of set-ups. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { Cause } from "../../src/attention/cause.ts";
import type { AuditedChange } from "../../src/store/records/audit.ts";
import { runHosted } from "../commands/hosted.ts";
import {
  ADMIN_TOKEN,
  endOfExecution,
  endOfRun,
  eventually,
  startService,
  type TestService,
} from "../data.ts";
import { type Browser, loggedIn, textOf } from "./console/fixture.ts";

const OPEN = "Nothing proves who the sender is: everyone who knows the URL can launch";
const FAILING = "- step: { name: fail, image: debian, command: exit 3 }";

/** Reads all pages of a list of causes. */
async function causes({ api }: TestService, query = ""): Promise<Cause[]> {
  const found: Cause[] = [];
  for (let path: string | undefined = `attention/?${query}`; path !== undefined;) {
    const { status, body }: Awaited<ReturnType<typeof api>> = await api("GET", path);
    assertEquals(status, 200, JSON.stringify(body));
    found.push(...body.results);
    path = body.next?.replace(/^.*\/api\/v0\//, "");
  }
  return found;
}

const saying = (all: readonly Cause[]) =>
  all.map(({ code, subject, text }) => `${code} ${subject.name}: ${text}`);

/** Fills a service: a trigger that fails, one with a warning, one without, and a project without code. */
async function fill(service: TestService) {
  await Deno.writeTextFile(`${service.folder}/project/valohai.yaml`, FAILING);
  const actions = [{ type: "run_execution", step: "fail" }];
  const response = { type: "text", text: "{run_id}" };
  const secrets = ["{env:TOKEN_OF_TESTS}"];
  const conditions = [{ type: "static_token", in: "header", name: "x-token", secrets }];
  const failing = await service.trigger({ name: "failing", actions, response, conditions });
  const open = await service.trigger({ name: "open", actions });
  const send = async (token: string) => {
    const answer = await fetch(failing.url, { method: "POST", headers: { "x-token": token } });
    return await answer.text();
  };
  const { actions: [{ created }] } = await endOfRun(service, await send(TOKEN));
  await endOfExecution(service, created.execution_id);
  await send("wrong");
  const gone = { name: "gone", repository: `file://${service.folder}/nowhere` };
  await service.api("PUT", "projects/gone/", gone);
  await service.api("POST", "projects/gone/fetch/");
  // What has ended is counted right behind its record.
  await eventually(async () => (await causes(service)).length === 4 || undefined, {
    what: "the causes",
  });
  return { failing, open };
}

const TOKEN = "a-token-of-the-tests-that-is-long";

Deno.test("failures stand apart from warnings of set-ups, which are dismissed with a reason", async (t) => {
  await using service = await startService({ env: { TOKEN_OF_TESTS: TOKEN } });
  const { failing, open } = await fill(service);
  const at = (id: string, warning: string) => `triggers/${id}/warnings/${warning}/dismissal/`;
  const warning = async () => {
    const [found] = await causes(service, "group=setup");
    assert(found);
    return found;
  };
  const hooklaunch = async (...args: string[]) => {
    const env = { HOOKLAUNCH_ADMIN_TOKEN: ADMIN_TOKEN };
    const { code, printed } = await runHosted(["attention", ...args, "--url", service.url], env);
    assertEquals(code, 0, printed);
    return printed;
  };

  await t.step(
    "one list: each cause with its code, its subject, since when and what to do",
    async () => {
      const all = await causes(service);
      assertEquals(all.map(({ group }) => group), ["failure", "failure", "failure", "setup"]);
      const [gone, executions, refused, setup] = all;
      assertMatch(saying(all)[0] ?? "", /^project_fetch_failed gone: Cannot fetch/);
      assertEquals(saying(all).slice(1), [
        "execution_error failing: 1 execution failed in the last 24 hours",
        "refused failing: 1 of 2 deliveries were refused in the last 24 hours",
        `trigger_setup open: ${OPEN}`,
      ]);
      assertEquals(setup?.subject, {
        kind: "trigger",
        name: "open",
        id: open.id,
        project: "files",
      });
      assertEquals(setup?.pointers, ["/conditions"]);
      for (const cause of [gone, executions, refused, setup]) {
        assert(cause && Date.parse(cause.since) <= Date.now() && cause.advice.length > 20);
        assertMatch(cause.id, /^[0-9a-f]{12}$/);
      }
      assertEquals(new Set(all.map(({ id }) => id)).size, 4);
    },
  );

  const filters: [query: string, codes: string[]][] = [
    ["group=setup", ["trigger_setup"]],
    ["group=failure", ["project_fetch_failed", "execution_error", "refused"]],
    ["code=refused", ["refused"]],
    ["trigger=failing", ["execution_error", "refused"]],
    [`trigger=${open.id}`, ["trigger_setup"]],
    ["project=gone", ["project_fetch_failed"]],
    ["project=files", ["execution_error", "refused", "trigger_setup"]],
    ["dismissed", []],
    ["limit=1", ["project_fetch_failed", "execution_error", "refused", "trigger_setup"]],
    ["limit=1&project=files", ["execution_error", "refused", "trigger_setup"]],
  ];
  for (const [query, codes] of filters) {
    await t.step(`the list with ${query}`, async () => {
      assertEquals((await causes(service, query)).map(({ code }) => code), codes);
    });
  }

  const wrong: [method: string, path: string, body: unknown, status: number][] = [
    ["GET", "attention/?group=none", undefined, 422],
    ["GET", "attention/?cursor=x", undefined, 422],
    ["GET", "attention/?trigger=none", undefined, 422],
    ["PUT", at(open.id, "0123456789ab"), { reason: "a" }, 404],
    ["PUT", at(failing.id, (await warning()).id), { reason: "of another trigger" }, 404],
    ["PUT", at("none", (await warning()).id), { reason: "a" }, 404],
    ["PUT", at(open.id, (await warning()).id), { reason: "  " }, 422],
    ["PUT", at(open.id, (await warning()).id), { reason: "a".repeat(1_001) }, 422],
    ["PUT", at(open.id, (await warning()).id), {}, 422],
    ["DELETE", at(open.id, (await warning()).id), undefined, 404],
  ];
  for (const [method, path, body, status] of wrong) {
    await t.step(`refused: ${method} ${path} ${JSON.stringify(body)?.slice(0, 40)}`, async () => {
      assertEquals((await service.api(method, path, body)).status, status);
    });
  }

  await t.step("a failure cannot be dismissed", async () => {
    const [, { id } = { id: "" }] = await causes(service, "group=failure");
    assertEquals((await service.api("PUT", at(failing.id, id), { reason: "a" })).status, 404);
  });

  await t.step("limited tokens see and dismiss their own alone", async () => {
    const tokens: [settings: Record<string, unknown>, codes: string[], status: number][] = [
      [
        { scope: "read" },
        ["project_fetch_failed", "execution_error", "refused", "trigger_setup"],
        403,
      ],
      [{ scope: "admin", triggers: ["open"] }, ["trigger_setup"], 200],
      [{ scope: "admin", triggers: ["failing"] }, ["execution_error", "refused"], 403],
      [{ scope: "admin", projects: ["gone"] }, ["project_fetch_failed"], 403],
    ];
    const { id } = await warning();
    for (const [index, [settings, codes, status]] of tokens.entries()) {
      const made = await service.api("POST", "tokens/", { name: `t-${index}`, ...settings });
      const headers = {
        authorization: `Bearer ${made.body.token}`,
        "content-type": "application/json",
      };
      const url = `${service.url}/api/v0/`;
      const { results } = await (await fetch(`${url}attention/`, { headers })).json();
      assertEquals(results.map(({ code }: Cause) => code), codes, JSON.stringify(settings));
      const body = JSON.stringify({ reason: "mine" });
      const answer = await fetch(url + at(open.id, id), { method: "PUT", headers, body });
      await answer.body?.cancel();
      assertEquals(answer.status, status, JSON.stringify(settings));
    }
    assertEquals((await service.api("DELETE", at(open.id, id))).status, 204);
  });

  await t.step(
    "the command line lists, dismisses by the beginning of an id, and brings back",
    async () => {
      const { id } = await warning();
      const listed = await hooklaunch();
      assertStringIncludes(listed, "refused  trigger failing  since ");
      assertStringIncludes(listed, `${id}  trigger_setup  trigger open  since `);
      assertStringIncludes(listed, `\n  /conditions: ${OPEN}\n  → Change the trigger, or dismiss`);
      const reason = "Reached from our network alone";
      assertStringIncludes(await hooklaunch("dismiss", id.slice(0, 6), "--reason", reason), reason);
      assertEquals((await hooklaunch("-q")).includes(id), false);
      assertStringIncludes(
        await hooklaunch("list", "--dismissed"),
        `dismissed by HOOKLAUNCH_ADMIN_TOKEN at `,
      );
      const [first] = JSON.parse(await hooklaunch("--json", "--dismissed"));
      assertEquals([first.id, first.dismissed.reason], [id, reason]);
      assertEquals(
        await hooklaunch("restore", id.slice(0, 6)),
        `Warning ${id} of trigger open is back\n`,
      );
      assertEquals(await hooklaunch("--dismissed"), "No warning is dismissed\n");
      assertEquals((await warning()).id, id);
    },
  );

  await t.step(
    "the audit log has who dismissed what and why, and who brought it back",
    async () => {
      const { body } = await service.api("GET", "audit/?operation=dismissWarning");
      const [{ author, path, changes }] = body.results;
      const { id } = await warning();
      assertEquals(author.name, "HOOKLAUNCH_ADMIN_TOKEN");
      assertEquals(path, `/${at(open.id, id)}`);
      const told = (all: AuditedChange[], name: string) =>
        all.find(({ pointer }) => pointer === `/dismissed/${id}/${name}`);
      const reason = "Reached from our network alone";
      assertEquals(told(changes, "reason"), { pointer: `/dismissed/${id}/reason`, after: reason });
      assertEquals(told(changes, "text"), { pointer: `/dismissed/${id}/text`, after: OPEN });
      const restored = await service.api("GET", "audit/?operation=restoreWarning");
      assertEquals(told(restored.body.results[0].changes, "reason"), {
        pointer: `/dismissed/${id}/reason`,
        before: reason,
      });
    },
  );

  await t.step(
    "a warning comes back when what it says changes, and its dismissal ends",
    async () => {
      const unset = (name: string) => ({
        conditions: [{ type: "static_token", in: "header", name: "x", secrets: [`{env:${name}}`] }],
      });
      await service.api("PATCH", `triggers/${open.id}/`, unset("ONE"));
      const one = await warning();
      assertStringIncludes(one.text, "variable ONE is not set");
      assertEquals((await service.api("PUT", at(open.id, one.id), { reason: "Soon" })).status, 200);
      assertEquals(await causes(service, "group=setup"), []);
      await service.restart();
      assertEquals(await causes(service, "group=setup"), [], "after a restart");
      // Another save that leaves what it says alone.
      await service.api("PATCH", `triggers/${open.id}/`, { enabled: false });
      assertEquals(await causes(service, "group=setup"), [], "after a save");
      await service.api("PATCH", `triggers/${open.id}/`, unset("TWO"));
      const two = await warning();
      assertStringIncludes(two.text, "variable TWO is not set");
      assertEquals(await causes(service, "dismissed"), []);
      assertEquals((await service.api("PUT", at(open.id, two.id), { reason: "Soon" })).status, 200);
      await service.api("PATCH", `triggers/${open.id}/`, unset("ONE"));
      assertEquals((await warning()).id, one.id, "the first one was over");
      await service.api("PATCH", `triggers/${open.id}/`, { conditions: [], enabled: true });
    },
  );

  await t.step("one more place with the same weakness is another warning", async () => {
    const secrets = ["{env:ONE}"];
    const token = { type: "static_token", in: "header", secrets };
    const conditions = [{ ...token, name: "a" }, { ...token, name: "b" }];
    await service.api("PATCH", `triggers/${open.id}/`, { conditions: conditions.slice(1) });
    const one = await warning();
    await service.api("PATCH", `triggers/${open.id}/`, { conditions });
    const both = await warning();
    assertEquals(both.pointers, ["/conditions/0/secrets/0", "/conditions/1/secrets/0"]);
    assert(both.id !== one.id);
    await service.api("PATCH", `triggers/${open.id}/`, { conditions: [] });
  });

  await consoleSteps(t, service, open.id);

  await t.step("with its trigger the dismissal goes", async () => {
    const { id } = await warning();
    await service.api("PUT", at(open.id, id), { reason: "Soon" });
    assertEquals((await service.api("DELETE", `triggers/${open.id}/`)).status, 204);
    assertEquals(await causes(service, "dismissed"), []);
    await service.service.cleanUp();
    const { kv } = service.service.parts.store;
    assertEquals(await Array.fromAsync(kv.list({ prefix: ["dismissal"] })), []);
  });
});

async function consoleSteps(t: Deno.TestContext, service: TestService, open: string) {
  const browser = await loggedIn(service);
  const csrf = await browser.csrf();
  const shown = async (address: string, at: Browser = browser) => textOf(await at.get(address));
  const [{ id: warning } = { id: "" }] = await causes(service, "group=setup");

  await t.step("the first page has the failures, and one line for warnings", async () => {
    const text = await shown("");
    assertStringIncludes(text, "failing : 1 of 2 deliveries were refused in the last 24 hours");
    assertStringIncludes(text, "1 warning about how triggers are set up");
    assert(!text.includes(OPEN), text);
  });

  await t.step("a reason is needed", async () => {
    const sent = await browser.post(`attention/${open}/${warning}/dismiss`, { csrf, reason: " " });
    assertEquals(sent.status, 422);
    assertStringIncludes(sent.text, '<details class="dismiss" open');
  });

  for (const [from, page] of [["attention", "attention"], ["trigger", "triggers/open"]] as const) {
    await t.step(`dismissed and brought back on the page ${page}`, async () => {
      assertStringIncludes(await shown(page), OPEN);
      const fields = { csrf, from, reason: "Our network alone" };
      const sent = await browser.post(`attention/${open}/${warning}/dismiss`, fields);
      assertEquals(sent.status, 303);
      assertMatch(sent.headers.get("location") ?? "", new RegExp(`/${page.slice(0, 8)}`));
      assertMatch(await shown(page), /HOOKLAUNCH_ADMIN_TOKEN, now : Our network alone Bring back/);
      assertMatch(await shown("triggers"), / open ✓ enabled /);
      assert(!(await shown("")).includes("about how triggers are set up"));
      await browser.post(`attention/${open}/${warning}/restore`, { csrf, from });
      assertMatch(await shown("triggers"), / open … 1 warning /);
    });
  }

  await t.step("who may only read sees no buttons", async () => {
    const made = await service.api("POST", "tokens/", { name: "reader", scope: "read" });
    const reader = await loggedIn(service, made.body.token);
    const text = await shown("attention", reader);
    assert(text.includes(OPEN) && !text.includes("Dismiss "), text);
  });
}
