/**
 * Tokens that are limited to a project, each operation of the API and each page of the console, and records of
 * triggers that are elsewhere, were moved, deleted or made again: no answer tells anything of another project's.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { operations } from "../../../src/http/api/mod.ts";
import { ROUTES } from "../../../src/http/console/mod.ts";
import { lowestId } from "../../../src/platform/ids.ts";
import { keys } from "../../../src/store/keys.ts";
import { getStoredTrigger, putStoredTrigger } from "../../../src/store/records/triggers.ts";
import { endOfRun, startService, type TestService } from "../../data.ts";
import { loggedIn } from "../console/fixture.ts";
import { followPath, storePipeline } from "./fixture.ts";

const TOKEN = "the-right-token-of-all";
const CONDITIONS = [
  { type: "static_token", in: "header", name: "X-Token", secrets: [TOKEN] },
  { type: "deduplication", in: "header", name: "X-Id", window: 3_600 },
  { type: "payload_filter", expression: "body.wanted == true" },
];
/** The first launches an execution; the second fails, and is in the trigger's log. */
const ACTIONS = [
  { type: "run_execution", step: "echo" },
  { type: "run_execution", step: "none" },
];
const FILTER = { type: "payload_filter", expression: 'body.mark == "x"' };

/** The records of a trigger, made while it was in one project. */
interface Story {
  name: string;
  trigger: string;
  /** The ids of records, by the first part of their paths. */
  ids: Record<string, string[]>;
  /** Texts that tell of the records. */
  marks: string[];
}

/** Makes a trigger and all that it can leave behind. */
async function tell(service: TestService, name: string, project: string): Promise<Story> {
  const trigger = await service.trigger({
    name,
    project,
    actions: ACTIONS,
    conditions: CONDITIONS,
    keep_refused: "24h",
    response: { type: "text", text: "{run_id}" },
  });
  const mark = `mark-of-${name}`;
  const send = async (sent: string, wanted: boolean, token = TOKEN) => {
    const headers = { "x-token": token, "x-id": `${mark}-${sent}`, "x-mark": mark };
    const body = JSON.stringify({ wanted, mark });
    const answer = await fetch(`${trigger.url}?q=${mark}`, { method: "POST", headers, body });
    return await answer.text();
  };
  const run = await send("accepted", true);
  await send("accepted", true);
  await send("filtered", false);
  await send("refused", true, "a-wrong-token");
  const { actions: [{ created: { execution_id } }] } = await endOfRun(service, run);
  const replayed = await service.api("POST", `runs/${run}/replay/`, {});
  assertEquals(replayed.status, 201);
  await endOfRun(service, replayed.body.id);
  const { store, triggerLog } = service.service.parts;
  triggerLog.omit({ id: trigger.id, project }, "refused");
  const pipeline = await storePipeline(store, { run_id: run, trigger_id: trigger.id, project });
  const { body } = await service.api("GET", `deliveries/?trigger=${name}`);
  const deliveries: string[] = body.results.map(({ id }: { id: string }) => id);
  assertEquals(deliveries.length, 5, "accepted, repeat, filtered, refused, replay");
  const runs = [run, replayed.body.id];
  const ids = {
    triggers: [trigger.id],
    projects: [project],
    runs,
    deliveries,
    executions: [execution_id],
    pipelines: [pipeline.id],
  };
  const { projects: _projects, triggers: _triggers, ...records } = ids;
  return { name, trigger: trigger.id, ids, marks: [mark, ...Object.values(records).flat()] };
}

/** Takes the project off all entries of a trigger's log, as earlier versions wrote them. */
async function forgetProjects({ service }: TestService, { trigger }: Story): Promise<void> {
  const { kv } = service.parts.store;
  for await (
    const { key, value } of kv.list<Record<string, unknown>>({ prefix: ["trigger_log", trigger] })
  ) {
    const { project: _project, ...entry } = value;
    await kv.set(key, entry);
    const summaryKey = keys.deliveryEntry(String(key[2]));
    const { value: summary } = await kv.get<Record<string, unknown>>(summaryKey);
    if (summary === null) continue;
    const { project: _own, ...rest } = summary;
    await kv.set(summaryKey, rest);
  }
}

/** Makes a trigger with the id of one that was deleted, as earlier versions let clients do. */
async function makeAgain({ service }: TestService, { trigger, name }: Story, project: string) {
  const { store } = service.parts;
  const { key, value } = await store.kv.get(keys.formerTrigger(trigger));
  assert(value !== null);
  await store.kv.delete(key);
  const created_at = new Date().toISOString();
  const settings = { name, project, enabled: true, conditions: [], actions: ACTIONS };
  await putStoredTrigger(store, {
    id: trigger,
    name,
    created_at,
    updated_at: created_at,
    settings,
  });
}

/** All stories: the token is limited to the project `mine`. */
interface Stories {
  /** Of other projects' records. */
  foreign: Story[];
  /** A trigger that was always the token's. */
  own: Story;
  /** A trigger that was moved to another project afterwards. */
  left: Story;
}

async function makeStories(service: TestService): Promise<Stories> {
  for (const name of ["mine", "others"]) {
    const directory = `${service.folder}/project`;
    assertEquals((await service.api("PUT", `projects/${name}/`, { directory })).status, 201);
  }
  const own = await tell(service, "own", "mine");
  const left = await tell(service, "left", "mine");
  await patch(service, left, { project: "others", name: "secret-name-in-others" });
  const other = await tell(service, "other", "others");
  const moved = await tell(service, "moved", "others");
  const movedBefore = await tell(service, "moved-old", "others");
  const deleted = await tell(service, "deleted", "others");
  const remade = await tell(service, "remade", "others");
  const remadeBefore = await tell(service, "remade-old", "others");
  for (const story of [movedBefore, remadeBefore]) await forgetProjects(service, story);
  await patch(service, moved, { project: "mine" });
  await patch(service, movedBefore, { project: "mine" });
  for (const { trigger } of [deleted, remade, remadeBefore]) {
    assertEquals((await service.api("DELETE", `triggers/${trigger}/`)).status, 204);
  }
  for (const story of [remade, remadeBefore]) await makeAgain(service, story, "mine");
  const foreign = [other, moved, movedBefore, deleted, remade, remadeBefore];
  return { foreign, own, left };
}

async function patch(service: TestService, { trigger }: Story, change: unknown): Promise<void> {
  const { status, body } = await service.api("PATCH", `triggers/${trigger}/`, change);
  assertEquals(status, 200, JSON.stringify(body));
}

/** Makes a token that is limited to the project `mine`. */
async function limitedToken(service: TestService): Promise<string> {
  const { status, body } = await service.api("POST", "tokens/", { name: "p", projects: ["mine"] });
  assertEquals(status, 201);
  return body.token;
}

async function ask(url: string, token: string, { method = "GET", body, headers = {} }: {
  method?: string;
  body?: unknown;
  headers?: Record<string, string>;
} = {}): Promise<{ status: number; text: string; next: string | undefined }> {
  const answer = await fetch(url, {
    method,
    headers: { authorization: `Bearer ${token}`, ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  const next: unknown = text.startsWith("{") ? JSON.parse(text).next : undefined;
  return { status: answer.status, text, next: typeof next === "string" ? next : undefined };
}

/** Bodies that reach for records; other operations get one that fits none of them. */
function bodiesOf(id: string, { ids, name }: Story): unknown[] {
  switch (id) {
    case "tryTriggerFilter":
      return [{ filter: FILTER }];
    case "tryTriggerActions":
      return [{}, ...(ids.deliveries ?? []).map((delivery_id) => ({ delivery_id }))];
    case "diagnoseRequest":
      return (ids.deliveries ?? []).map((delivery_id) => ({ delivery_id }));
    case "createReplay":
      return [{ filter: { trigger: name }, dry_run: true }];
    case "createTrigger":
    case "replaceTrigger":
      return [{ name, project: "mine", actions: ACTIONS, id: ids.triggers?.[0] }];
    default:
      return [{}];
  }
}

/** The paths of an operation with the ids of a story. */
function pathsOf(path: string, { ids }: Story): string[] {
  const [, kind = ""] = path.split("/");
  if (!/\{(?:id|name)\}/.test(path)) return [path];
  // A path of a new kind is tried with every id.
  const names = ids[kind] ?? Object.values(ids).flat();
  return names.map((name) => path.replace(/\{(?:id|name)\}/, name).replace("{path}", "x"));
}

function assertTellsNothing(text: string, { name, marks }: Story, what: string): void {
  for (const mark of marks) {
    assert(!text.includes(mark), `${what} tells ${mark} of the trigger ${name}: ${text}`);
  }
}

Deno.test("no operation and no page tells a limited token anything of another project's records", async (t) => {
  await using service = await startService();
  const { foreign, own, left } = await makeStories(service);
  const token = await limitedToken(service);
  const isLast = ({ method }: { method: string }) => method === "delete";
  const ordered = operations.toSorted((a, b) => Number(isLast(a)) - Number(isLast(b)));
  const send = async (path: string, what: string, init: Parameters<typeof ask>[2] = {}) => {
    let url: string | undefined = `${service.url}/api/v0${path}`;
    const texts: string[] = [];
    while (url !== undefined) {
      const answer: Awaited<ReturnType<typeof ask>> = await ask(url, token, init);
      assert(answer.status < 500, `${what}: ${answer.text}`);
      for (const story of foreign) {
        assertTellsNothing(asked(answer.text, path, init.body), story, what);
      }
      assert(!answer.text.includes("secret-name-in-others"), `${what}: ${answer.text}`);
      texts.push(answer.text);
      url = answer.next;
    }
    return texts.join("");
  };

  await t.step("what is the token's own is told", async () => {
    for (const { ids, name, marks } of [own, left]) {
      const [run = ""] = ids.runs ?? [];
      const texts = await Promise.all(
        ["/runs/", "/deliveries/", "/executions/", "/pipelines/", `/deliveries/${run}/`].map((
          path,
        ) => send(path, path)),
      );
      for (const mark of marks) assertStringIncludes(texts.join(""), mark, name);
    }
    const ofTrigger = await Promise.all(
      ["runs/", "log/", "activity/"].map((path) => send(`/triggers/${own.trigger}/${path}`, path)),
    );
    for (const mark of own.ids.runs ?? []) assertStringIncludes(ofTrigger[0] ?? "", mark);
    for (const kind of ["refused", "action_failed"]) assertStringIncludes(ofTrigger[1] ?? "", kind);
    assertStringIncludes(ofTrigger[2] ?? "", '"accepted":1');
    const tried = await send(`/triggers/${own.trigger}/try-filter/`, "try-filter", {
      method: "POST",
      body: { filter: FILTER },
    });
    assertStringIncludes(tried, "mark-of-own");
  });

  await t.step("the hours of a trigger in another project are not counted", async () => {
    for (const { name, trigger } of foreign.filter(({ name }) => name.startsWith("moved"))) {
      const text = await send(`/triggers/${trigger}/activity/`, name);
      assert(!text.includes("accepted") && !text.includes("last_delivery_at"), text);
    }
  });

  const { cookies } = await loggedIn(service, token);
  const cookie = [...cookies].map((each) => each.join("=")).join("; ");
  for (const { path } of ROUTES.filter(({ show, answer }) => show ?? answer)) {
    await t.step(`the page ${path}`, async () => {
      for (const address of foreign.flatMap((story) => addressesOf(path, story))) {
        const answer = await fetch(`${service.url}/${address}`, { headers: { cookie } });
        // What streams tell is looked at below.
        if (answer.headers.get("content-type") === "text/event-stream") {
          await answer.body?.cancel();
          continue;
        }
        const text = await answer.text();
        assert(answer.status < 500, text);
        for (const story of foreign) assertTellsNothing(asked(text, address), story, address);
      }
    });
  }

  // What it tells is looked at below.
  const others = ordered.filter(({ id }) => id !== "listenToTrigger");
  for (const { id, method, path, query } of others) {
    await t.step(id, async () => {
      for (const story of foreign) {
        for (const address of pathsOf(path, story)) {
          const bodies = method === "get" || isLast({ method }) ? [undefined] : bodiesOf(id, story);
          const filters = "trigger" in (query?.shape ?? {})
            ? ["", `?trigger=${story.name}`, `?trigger=${story.trigger}`]
            : [""];
          for (const body of bodies) {
            for (const filter of filters) {
              await send(address + filter, id, { method: method.toUpperCase(), body });
            }
          }
        }
      }
    });
  }
});

/** Takes out of an answer what was asked with: an error may repeat it. */
function asked(text: string, path: string, body: unknown = ""): string {
  const sent = `${path} ${JSON.stringify(body)}`.match(/[0-9a-f-]{36}/g) ?? [];
  return sent.reduce((rest, each) => rest.replaceAll(each, "…"), text);
}

/** The addresses of a page with the ids of a story. */
function addressesOf(path: string, { ids, name, trigger }: Story): string[] {
  const [, kind = ""] = path.split("/");
  const address = path.slice(1);
  if (!address.includes(":")) {
    const [run = ""] = ids.runs ?? [];
    return [
      address,
      ...["trigger", "text", "delivery"].map((field) => `${address}?${field}=${run}`),
      `${address}?trigger=${name}`,
    ];
  }
  const names = kind === "triggers" ? [name, trigger] : ids[kind] ?? Object.values(ids).flat();
  return names.map((each) => address.replaceAll(/:\w+/g, each));
}

Deno.test("no trigger gets an id that another one had, and limited tokens choose none", async (t) => {
  await using service = await startService();
  const token = await limitedToken(service);
  const directory = `${service.folder}/project`;
  await service.api("PUT", "projects/mine/", { directory });
  const taken = await service.trigger({ name: "taken" });
  const gone = await service.trigger({ name: "gone" });
  await service.api("DELETE", `triggers/${gone.id}/`);
  const before = await service.trigger({
    name: "before",
    response: { type: "text", text: "{run_id}" },
  });
  await endOfRun(service, await (await fetch(before.url, { method: "POST" })).text());
  await service.api("DELETE", `triggers/${before.id}/`);
  const { store } = service.service.parts;
  await store.kv.delete(keys.formerTrigger(before.id));
  await service.restart();
  const trigger = (id: string) => ({ name: "fresh", project: "mine", actions: ACTIONS, id });
  const url = `${service.url}/api/v0/triggers/`;
  const ids = { taken: taken.id, gone: gone.id, "left runs of an earlier version": before.id };
  const answers = new Set<string>();
  for (const [name, id] of Object.entries({ ...ids, free: crypto.randomUUID() })) {
    await t.step(name, async () => {
      const limited = await ask(url, token, { method: "POST", body: trigger(id) });
      answers.add(limited.text);
      const { status } = await service.api("POST", "triggers/?dry_run", trigger(id));
      assertEquals([limited.status, status], [403, name === "free" ? 200 : 409]);
    });
  }
  assertEquals(answers.size, 1, "a limited token learns nothing of which ids there are");
});

Deno.test("records of other projects stay hidden wherever else they show", async (t) => {
  await using service = await startService();
  const stories = await makeStories(service);
  const token = await limitedToken(service);

  await t.step("streams tell a limited token nothing of another project's records", async (t) => {
    const { foreign, own } = stories;
    for (const { id, path } of operations.filter(({ query }) => "follow" in (query?.shape ?? {}))) {
      await t.step(id, async () => {
        for (const address of pathsOf(path, foreign[0] ?? own)) {
          await using followed = await followPath(`${service.url}/api/v0${address}?follow`, {
            authorization: `Bearer ${token}`,
            ...(id === "listDeliveries" && { "last-event-id": lowestId(Date.now() - 50_000) }),
          });
          if (followed.response.status === 403) continue;
          let text = "";
          while (!text.includes(own.ids.runs?.[0] ?? "none")) {
            const event = await followed.next();
            assert(event !== undefined, text);
            text += JSON.stringify(event);
          }
          for (const story of foreign) assertTellsNothing(text, story, id);
        }
      });
    }
  });

  await t.step("who listens gets nothing of another project's requests", async () => {
    const { foreign, own } = stories;
    let count = 0;
    for (const { trigger } of [...foreign, own]) {
      const at = `${service.url}/api/v0/triggers/${trigger}/listen/`;
      const from = new Date(Date.now() - 50_000).toISOString();
      await using followed = await followPath(at, { authorization: `Bearer ${token}` }, { from });
      if (followed.response.status !== 200) continue;
      count++;
      const headers = { "x-token": TOKEN, "x-id": crypto.randomUUID() };
      const fresh = crypto.randomUUID();
      const sent = { method: "POST", body: JSON.stringify({ wanted: true, fresh }), headers };
      const answer = await fetch(`${service.url}/api/v0/launch/${trigger}/`, sent);
      assertEquals(answer.status, 200, await answer.text());
      let text = "";
      while (!text.includes(fresh)) {
        const event = await followed.next();
        assert(event !== undefined, text);
        const { body = "", ...rest } = JSON.parse(event.data);
        text += JSON.stringify(rest) + new TextDecoder().decode(Uint8Array.fromBase64(body));
      }
      for (const story of foreign) assertTellsNothing(text, story, "listenToTrigger");
    }
    assert(count > 1, "a trigger that has come from another project is among them");
  });

  await t.step("run info knows no run from before its trigger was created", async () => {
    const { foreign, own } = stories;
    const { store, triggers } = service.service.parts;
    const infoOf = async (story: Story) => {
      const [run] = story.ids.runs ?? [];
      const url = `${service.url}/api/v0/launch/${story.trigger}/run/?run_id=${run}`;
      const answer = await fetch(url, { headers: { "x-token": TOKEN } });
      await answer.body?.cancel();
      return answer.status;
    };
    const remade = foreign.filter(({ name }) => name.startsWith("remade"));
    assertEquals(remade.length, 2);
    for (const story of remade) {
      assert(
        await getStoredTrigger(store, story.trigger) && await triggers.prepared(story.trigger),
      );
      assertEquals(await infoOf(story), 404);
    }
    assertEquals(await infoOf(own), 200);
  });

  await t.step("a record shows no other project's records in it", async () => {
    const { foreign, left } = stories;
    const detailsOf = async (id = "") => {
      const { text } = await ask(`${service.url}/api/v0/deliveries/${id}/`, token);
      return JSON.parse(text);
    };
    const [run, replay] = left.ids.runs ?? [];
    const { body: later } = await service.api("POST", `runs/${run}/replay/`, {});
    const { replays } = await detailsOf(run);
    assertEquals(replays.map(({ id }: { id: string }) => id), [replay], `and not ${later.id}`);

    const moved = foreign.find(({ name }) => name === "moved");
    assert(moved);
    const [first] = moved.ids.runs ?? [];
    const repeat = await fetch(`${service.url}/api/v0/launch/${moved.trigger}/`, {
      method: "POST",
      headers: { "x-token": TOKEN, "x-id": `mark-of-moved-accepted` },
      body: JSON.stringify({ wanted: true }),
    });
    assertEquals(await repeat.text(), first);
    const { body } = await service.api("GET", `deliveries/?trigger=moved&outcome=repeat&limit=1`);
    const details = await detailsOf(body.results[0].id);
    assertEquals([details.project, details.outcome, details.run], ["mine", "repeat", undefined]);
  });

  await t.step(
    "what a deleted trigger leaves is found by its name, by those who could see it",
    async (t) => {
      const { foreign } = stories;
      const deleted = foreign.find(({ name }) => name === "deleted");
      assert(deleted);
      const { trigger, ids } = deleted;
      const tokens: Record<string, string> = { mine: token };
      const { body } = await service.api("POST", "tokens/", { name: "o", projects: ["others"] });
      tokens.others = body.token;
      for (const list of ["deliveries", "runs", "executions", "pipelines"] as const) {
        await t.step(list, async () => {
          const path = `${service.url}/api/v0/${list}/?trigger=deleted`;
          const { status, text } = await ask(path, tokens.others ?? "");
          assertEquals(status, 200, text);
          for (const id of ids[list] ?? []) assertStringIncludes(text, id);
          assertEquals((await ask(path, tokens.mine ?? "")).status, 403);
        });
      }
      await t.step("its log and its runs", async () => {
        for (const [part, mark] of [["log", "action_failed"], ["runs", ids.runs?.[0] ?? ""]]) {
          const path = `${service.url}/api/v0/triggers/${trigger}/${part}/`;
          assertStringIncludes((await ask(path, tokens.others ?? "")).text, mark ?? "");
          assertEquals(JSON.parse((await ask(path, tokens.mine ?? "")).text).results, []);
        }
      });
      await t.step("until another trigger has the name", async () => {
        await service.trigger({ name: "deleted", project: "mine" });
        const { body } = await service.api("GET", "runs/?trigger=deleted");
        assertEquals(body.results, []);
      });
    },
  );
});
