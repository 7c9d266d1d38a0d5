/**
 * The registry: what an owner writes, what is stored of it, what is shown, and what launches see. A
 * change counts from the moment at which its owner is told of it.
 */
import {
  assert,
  assertEquals,
  assertNotEquals,
  assertObjectMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { ConflictError, InvalidInputError, NotFoundError } from "../../src/platform/errors.ts";
import { idTime, isId, newId } from "../../src/platform/ids.ts";
import { deleteProject, putProject } from "../../src/store/records/projects.ts";
import type { Store } from "../../src/store/store.ts";
import { triggerIdByName } from "../../src/store/records/triggers.ts";
import { inspect, type Refused } from "../../src/triggers/order.ts";
import type { PreparedTrigger } from "../../src/triggers/prepare.ts";
import { type RegistryParts, TriggerRegistry } from "../../src/triggers/registry.ts";
import { settingsOf } from "../../src/triggers/revision.ts";
import { sealAgain } from "../../src/triggers/seal_again.ts";
import { SECRET_MASK, secretText } from "../../src/conditions/secret.ts";
import { LockedSecretError, type SecretBox } from "../../src/triggers/secrets.ts";
import { openSecretBox } from "../../src/triggers/secret_key.ts";
import type { Trigger } from "../../src/triggers/trigger.ts";
import { context, request } from "../conditions/fixture.ts";
import { contents, openTestStore, storedUnder, storeInMemory } from "../store/fixture.ts";
import { TestClock } from "../surroundings.ts";

const KEY = "00112233445566778899aabbccddeeff".repeat(2);
const OTHER = KEY.replaceAll("0", "1");
const ID = "0190fe82-c984-7f66-8302-69874914e1c9";
const UNKNOWN_ID = "01900000-0000-7000-8000-000000000000";
const SECRET = "hunter2-hunter2";

const TOKEN = { type: "static_token", in: "header", name: "X-Token", secrets: [SECRET] };
const HMAC = { type: "hmac", algorithm: "sha256", header: "X-Signature", secrets: [SECRET] };

/** The refusal of a request without any credentials. */
async function refusalOf(prepared: PreparedTrigger | undefined): Promise<Refused | undefined> {
  const inspection = prepared && await inspect(prepared.launch, request());
  return inspection && "refused" in inspection ? inspection.refused : undefined;
}

/** A trigger as an owner writes it. */
function written(parts: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    name: "retrain",
    project: "digits",
    actions: [{ type: "run_execution", step: "train" }],
    ...parts,
  };
}

/** A registry on a store that holds the project `digits`. */
async function openRegistry(
  store: Store,
  { clock = new TestClock(), ...parts }: Partial<RegistryParts> & { clock?: TestClock } = {},
): Promise<TriggerRegistry> {
  await putProject(store, {
    name: "digits",
    directory: "/digits",
    config_file: "valohai.yaml",
    engine: { type: "local", runner: "process" },
  });
  return new TriggerRegistry({
    store,
    secrets: await openSecretBox("/nowhere", KEY),
    context: context({ clock }),
    ...parts,
  });
}

/** The secrets of a trigger's conditions, as they are shown or as launches see them. */
function secretsOf(trigger: Trigger | undefined): string[] {
  return trigger?.conditions.flatMap((each) =>
    "secrets" in each ? (each.secrets ?? []).map(secretText) : []
  ) ?? [];
}

async function preparedSecrets(triggers: TriggerRegistry, id: string): Promise<string[]> {
  return secretsOf((await triggers.prepared(id))?.trigger);
}

function keyBox(): Promise<SecretBox> {
  return openSecretBox("/nowhere", KEY);
}

function secretsShown(condition: object): unknown[] {
  return "secrets" in condition && Array.isArray(condition.secrets) ? condition.secrets : [];
}

/** Changes fields of a trigger, as an owner does who reads it, edits it and writes it back. */
function edit(triggers: TriggerRegistry, id: string, fields: Record<string, unknown>) {
  return triggers.update(id, (current) => ({ ...settingsOf(current), ...fields }));
}

Deno.test("a trigger gets an id, its defaults and its times, and is shown as it was told", async () => {
  await using store = await storeInMemory();
  const clock = new TestClock(Date.UTC(2026, 0, 2, 3, 4, 5));
  const triggers = await openRegistry(store, { clock });
  const created = await triggers.create(written({ conditions: [TOKEN] }));
  assert(isId(created.id));
  assertEquals(idTime(created.id), clock.time_ms);
  assertObjectMatch(created, {
    name: "retrain",
    project: "digits",
    enabled: true,
    conditions: [{ type: "static_token", prefix: "", secrets: [{ value: SECRET_MASK }] }],
    actions: [{ type: "run_execution", step: "train", commit: "HEAD" }],
    created_at: "2026-01-02T03:04:05.000Z",
    updated_at: "2026-01-02T03:04:05.000Z",
  });
  assertEquals(await triggers.get(created.id), created);
  assertEquals(await triggers.list({ limit: 10 }), { records: [created], next: undefined });
  assertEquals(await preparedSecrets(triggers, created.id), [SECRET]);
});

Deno.test("an id that its owner gives is kept, over changes and restarts", async () => {
  await using open = await openTestStore();
  const triggers = await openRegistry(open.store);
  assertEquals((await triggers.create(written({ id: ID }))).id, ID);
  const renamed = await triggers.update(ID, () => written({ name: "renamed" }));
  assertEquals([renamed.id, renamed.name], [ID, "renamed"]);
  const error = await assertRejects(
    () => triggers.update(ID, () => written({ id: UNKNOWN_ID })),
    InvalidInputError,
  );
  assertEquals(error.problems.map(({ pointer }) => pointer), ["/id"]);

  const later = await openRegistry(await open.reopen());
  assertEquals((await later.get(ID))?.name, "renamed");
  assertEquals((await later.prepared(ID))?.trigger.name, "renamed");
});

const refused: { name: string; parts: Record<string, unknown>; pointer: string }[] = [
  { name: "of a project that does not exist", parts: { project: "nobody" }, pointer: "/project" },
  { name: "without actions", parts: { actions: [] }, pointer: "/actions" },
  { name: "with a name for a path", parts: { name: "../x" }, pointer: "/name" },
  { name: "with an id in upper case", parts: { id: ID.toUpperCase() }, pointer: "/id" },
  { name: "with an unknown field", parts: { condition: [] }, pointer: "/condition" },
  {
    name: "with too many conditions",
    parts: { conditions: Array(33).fill(TOKEN) },
    pointer: "/conditions",
  },
  {
    name: "with a mask where nothing is stored",
    parts: { conditions: [{ ...TOKEN, secrets: [SECRET, { name: "x", value: SECRET_MASK }] }] },
    pointer: "/conditions/0/secrets/1",
  },
  {
    name: "that does not fit into a record",
    parts: {
      conditions: Array.from({ length: 20 }, () => ({ ...TOKEN, secrets: ["x".repeat(4_000)] })),
    },
    pointer: "",
  },
  {
    name: "that does not fit into a record, in letters of two bytes",
    parts: { response: { type: "text", text: "語".repeat(16_384) }, actions: longActions() },
    pointer: "",
  },
];

function longActions(): unknown[] {
  const parameters = { text: "x".repeat(30_000) };
  return [{ type: "run_execution", step: "train", parameters }];
}

for (const { name, parts, pointer } of refused) {
  Deno.test(`a trigger ${name} is refused, and nothing is stored or shown of it`, async () => {
    await using store = await storeInMemory();
    const triggers = await openRegistry(store);
    const before = await contents(store);
    const error = await assertRejects(() => triggers.create(written(parts)), InvalidInputError);
    assertEquals(error.problems.map((problem) => problem.pointer), [pointer]);
    assert(!error.message.includes(SECRET));
    assertEquals(await contents(store), before);

    const kept = await triggers.create(written({ conditions: [TOKEN] }));
    const stored = await contents(store);
    await assertRejects(
      () => triggers.update(kept.id, () => ({ ...written(parts) })),
      InvalidInputError,
    );
    assertEquals(await contents(store), stored);
    assertEquals(await preparedSecrets(triggers, kept.id), [SECRET]);
  });
}

Deno.test("a trigger that does not exist cannot be changed or removed", async () => {
  await using store = await storeInMemory();
  const triggers = await openRegistry(store);
  await assertRejects(() => triggers.update(UNKNOWN_ID, () => written()), NotFoundError);
  await assertRejects(() => triggers.delete(UNKNOWN_ID), NotFoundError);
  assertEquals(await triggers.get(UNKNOWN_ID), undefined);
  assertEquals(await triggers.prepared(UNKNOWN_ID), undefined);
  assertEquals(await storedUnder(store, "trigger"), []);
});

Deno.test("two triggers cannot have one name or one id", async () => {
  await using store = await storeInMemory();
  const triggers = await openRegistry(store);
  const first = await triggers.create(written({ name: "first", id: ID }));
  const second = await triggers.create(written({ name: "second" }));
  await assertRejects(() => triggers.create(written({ name: "first" })), ConflictError, "first");
  await assertRejects(() => triggers.create(written({ name: "x", id: ID })), ConflictError, ID);
  await assertRejects(() => edit(triggers, second.id, { name: "first" }), ConflictError, "first");
  assertEquals((await triggers.list({ limit: 10 })).records, [first, second]);
  assertEquals(await triggerIdByName(store, "first"), ID);
  assertEquals(await triggerIdByName(store, "x"), undefined);
});

Deno.test("a name is free again when its trigger is renamed or removed", async () => {
  await using store = await storeInMemory();
  const triggers = await openRegistry(store);
  const first = await triggers.create(written({ name: "a" }));
  await edit(triggers, first.id, { name: "b" });
  const second = await triggers.create(written({ name: "a" }));
  await triggers.delete(first.id);
  await edit(triggers, second.id, { name: "b" });
  assertEquals(await storedUnder(store, "trigger_name"), ["b"]);
  assertEquals(await triggerIdByName(store, "b"), second.id);
});

Deno.test("of many who create one name at once, one wins", async () => {
  await using store = await storeInMemory();
  const triggers = await openRegistry(store);
  const results = await Promise.allSettled(
    Array.from(
      { length: 20 },
      (_, index) => triggers.create(written({ id: newId(index), conditions: [TOKEN] })),
    ),
  );
  const won = results.flatMap((result) => result.status === "fulfilled" ? [result.value] : []);
  assertEquals(won.length, 1);
  for (const result of results) {
    if (result.status === "rejected") assert(result.reason instanceof ConflictError);
  }
  assertEquals((await triggers.list({ limit: 100 })).records, won);
});

Deno.test("of many who change one trigger at once, none undoes what another has done", async () => {
  await using store = await storeInMemory();
  const triggers = await openRegistry(store);
  const { id } = await triggers.create(written());
  const add = (period: number) =>
    triggers.update(id, (current) => ({
      ...settingsOf(current),
      conditions: [...current.conditions, { type: "rate_limit", period, quota: 1 }],
    }));
  await Promise.all(Array.from({ length: 20 }, (_, index) => add(index + 1)));
  const periods = (await triggers.get(id))?.conditions.map((each) => Object(each).period);
  assertEquals(periods, Array.from({ length: 20 }, (_, index) => index + 1));
});

Deno.test("a change that fails keeps nobody else from changing", async () => {
  await using store = await storeInMemory();
  const triggers = await openRegistry(store);
  const failing = triggers.create(written({ project: "nobody" }));
  const created = triggers.create(written());
  await assertRejects(() => failing, InvalidInputError);
  assertEquals((await created).name, "retrain");
});

Deno.test("no literal secret is stored in any form, and a variable is stored by its name", async () => {
  await using store = await storeInMemory();
  const triggers = await openRegistry(store);
  const conditions = [{ ...TOKEN, secrets: [SECRET, "{env:TOKEN}"] }, HMAC];
  const { id } = await triggers.create(written({ conditions }));
  await edit(triggers, id, { conditions: [{ ...TOKEN, secrets: [SECRET] }, HMAC] });
  await edit(triggers, id, { conditions });
  const text = JSON.stringify([...await contents(store)]);
  const bytes = new TextEncoder().encode(SECRET);
  for (const form of [SECRET, bytes.toHex(), bytes.toBase64(), encodeURIComponent(SECRET)]) {
    assert(!text.includes(form), form);
  }
  assertStringIncludes(text, "{env:TOKEN}");
  assertEquals(await preparedSecrets(triggers, id), [SECRET, "{env:TOKEN}", SECRET]);
});

Deno.test("no answer shows a literal secret", async () => {
  await using store = await storeInMemory();
  const triggers = await openRegistry(store);
  const created = await triggers.create(written({ conditions: [TOKEN, HMAC] }));
  const { id } = created;
  let seen: Trigger | undefined;
  const updated = await triggers.update(id, (current) => {
    seen = current;
    return { ...settingsOf(current), name: "other" };
  });
  const same = await edit(triggers, id, {});
  const [listed] = (await triggers.list({ limit: 1 })).records;
  const [found] = await Array.fromAsync(triggers.all());
  for (const shown of [created, seen, updated, same, listed, found, await triggers.get(id)]) {
    assertEquals(secretsOf(shown), [SECRET_MASK, SECRET_MASK]);
    assert(!JSON.stringify(shown).includes(SECRET));
  }
});

Deno.test("the mask written back keeps the secret, whatever else is changed", async () => {
  await using open = await openTestStore();
  const triggers = await openRegistry(open.store);
  const { id } = await triggers.create(written({ conditions: [TOKEN] }));
  await edit(triggers, id, { name: "renamed", enabled: false });
  assertEquals(await preparedSecrets(triggers, id), [SECRET]);
  await edit(triggers, id, { conditions: [{ ...TOKEN, secrets: [SECRET_MASK, "new-secret"] }] });
  assertEquals(await preparedSecrets(triggers, id), [SECRET, "new-secret"]);
  const later = await openRegistry(await open.reopen());
  assertEquals(await preparedSecrets(later, id), [SECRET, "new-secret"]);
});

Deno.test("an update that changes nothing writes nothing", async () => {
  let commits = 0;
  await using store = await storeInMemory((_commit, store) => {
    commits++;
    return store();
  });
  const clock = new TestClock();
  const triggers = await openRegistry(store, { clock });
  const { actions, ...others } = written({
    conditions: [TOKEN],
    response: { type: "text", text: "ok" },
  });
  const settings = { ...others, actions };
  const created = await triggers.create(settings);
  clock.time_ms += 1_000;
  commits = 0;
  const sames = [
    () => settings,
    () => ({ ...settings, id: created.id }),
    () => ({ enabled: true, actions, ...others }),
    (current: Trigger) => settingsOf(current),
    (current: Trigger) => ({ ...settingsOf(current), conditions: [{ ...TOKEN, prefix: "" }] }),
  ];
  for (const same of sames) assertEquals(await triggers.update(created.id, same), created);
  assertEquals(commits, 0);

  const changed = await edit(triggers, created.id, {
    conditions: [{ ...TOKEN, secrets: ["x-secret"] }],
  });
  assertEquals(commits, 1);
  assertEquals(changed.created_at, created.created_at);
  assertEquals(Date.parse(changed.updated_at), Date.parse(created.updated_at) + 1_000);
});

Deno.test("what launches see is the trigger as it was last changed", async () => {
  await using store = await storeInMemory();
  const triggers = await openRegistry(store);
  assertEquals(await triggers.prepared(ID), undefined);
  await triggers.create(written({ id: ID, conditions: [TOKEN] }));
  for (let turn = 0; turn < 5; turn++) {
    assertEquals(await preparedSecrets(triggers, ID), [
      turn === 0 ? SECRET : `new-secret-${turn - 1}`,
    ]);
    const kept = triggers.prepared(ID);
    assert(kept === triggers.prepared(ID), "a trigger that has not changed is prepared once");
    assert(!(kept instanceof Promise));
    await edit(triggers, ID, { conditions: [{ ...TOKEN, secrets: [`new-secret-${turn}`] }] });
  }
  await triggers.delete(ID);
  assertEquals(await triggers.prepared(ID), undefined);
  await assertRejects(
    () => triggers.create(written({ id: ID, conditions: [HMAC] })),
    ConflictError,
  );
  assertEquals(await triggers.prepared(ID), undefined);
});

/** Makes what is read next come late: it was read, and is not given before it is let. */
function slowRead(store: Store): { hasRead: Promise<void>; give: () => void } {
  const gate = Promise.withResolvers<void>();
  const { promise: hasRead, resolve: read } = Promise.withResolvers<void>();
  const get = store.kv.get.bind(store.kv);
  store.kv.get = async <T>(key: Deno.KvKey) => {
    const entry = await get<T>(key);
    store.kv.get = get;
    read();
    await gate.promise;
    return entry;
  };
  return { hasRead, give: gate.resolve };
}

Deno.test("a launch that looks while a trigger changes does not keep the old one for the next", async () => {
  await using store = await storeInMemory();
  const triggers = await openRegistry(store);
  await triggers.create(written({ id: ID, conditions: [TOKEN] }));
  const { hasRead, give } = slowRead(store);
  const slow = triggers.prepared(ID);
  await hasRead;
  await edit(triggers, ID, { conditions: [{ ...TOKEN, secrets: ["new-secret"] }] });
  assertEquals(await preparedSecrets(triggers, ID), ["new-secret"]);
  give();
  const old = await slow;
  assert(old && !triggers.isCurrent(old));
  assertEquals(secretsOf(old.trigger), [SECRET]);
  assertEquals(await preparedSecrets(triggers, ID), ["new-secret"]);
});

Deno.test("a launch that looks while a trigger is made does not hide it from the next", async () => {
  await using store = await storeInMemory();
  const triggers = await openRegistry(store);
  const { hasRead, give } = slowRead(store);
  const early = triggers.prepared(ID);
  await hasRead;
  await triggers.create(written({ id: ID, conditions: [TOKEN] }));
  assertEquals(await preparedSecrets(triggers, ID), [SECRET]);
  give();
  assertEquals(await early, undefined);
  assertEquals(await preparedSecrets(triggers, ID), [SECRET]);
});

Deno.test("a trigger that many look at is prepared once, also while another one changes", async () => {
  await using store = await storeInMemory();
  const triggers = await openRegistry(store);
  await triggers.create(written({ id: ID }));
  const other = await triggers.create(written({ name: "other" }));
  const { hasRead, give } = slowRead(store);
  const looks = [triggers.prepared(ID), triggers.prepared(ID)];
  await hasRead;
  await edit(triggers, other.id, { enabled: false });
  give();
  const [one, same] = await Promise.all(looks);
  assert(one && one === same && one === triggers.prepared(ID));
  assert(triggers.isCurrent(one));
});

Deno.test("triggers are listed from the oldest, page by page, each once", async () => {
  await using store = await storeInMemory();
  const clock = new TestClock();
  const triggers = await openRegistry(store, { clock });
  const names: string[] = [];
  for (let index = 0; index < 7; index++) {
    clock.time_ms++;
    names.push((await triggers.create(written({ name: `trigger-${9 - index}` }))).name);
  }
  const listed: string[][] = [];
  let after: string | undefined;
  do {
    const page = await triggers.list({ limit: 3, ...(after === undefined ? {} : { after }) });
    listed.push(page.records.map(({ name }) => name));
    after = page.next;
  } while (after !== undefined);
  assertEquals(listed, [names.slice(0, 3), names.slice(3, 6), names.slice(6)]);
});

Deno.test("a trigger of a project that has gone can be read and removed, and changed to another project", async () => {
  await using store = await storeInMemory();
  const triggers = await openRegistry(store);
  const { id } = await triggers.create(written());
  await deleteProject(store, "digits");
  assertEquals((await triggers.get(id))?.project, "digits");
  assertNotEquals(await triggers.prepared(id), undefined);
  await assertRejects(() => edit(triggers, id, { enabled: false }), InvalidInputError, "digits");
  await triggers.delete(id);
  assertEquals(await triggers.get(id), undefined);
});

Deno.test("a trigger whose secrets were stored with another key can be read and removed, and says that it is locked", async () => {
  await using store = await storeInMemory();
  const { id } = await (await openRegistry(store)).create(written({ conditions: [TOKEN] }));
  const triggers = await openRegistry(store, { secrets: await openSecretBox("/nowhere", OTHER) });
  assertEquals(secretsOf(await triggers.get(id)), [SECRET_MASK]);
  const prepared = await triggers.prepared(id);
  assertEquals(secretsOf(prepared?.trigger), [""]);
  const refused = await refusalOf(prepared);
  assertObjectMatch(refused ?? {}, { condition: "secrets", index: -1 });
  assertStringIncludes(refused?.reason ?? "", "/conditions/0/secrets/0");
  await triggers.delete(id);
  assertEquals(await triggers.prepared(id), undefined);
});

Deno.test("new secrets unlock a trigger, masks of the lost ones do not", async () => {
  await using store = await storeInMemory();
  const before = await openRegistry(store);
  const { id } = await before.create(written({ conditions: [TOKEN, HMAC] }));
  await before.create(written({ name: "other" }));
  const triggers = await openRegistry(store, { secrets: await openSecretBox("/nowhere", OTHER) });
  assertEquals(await triggers.countLocked(), { locked: 1, total: 2 });
  const stored = await contents(store);
  const renew = { ...TOKEN, secrets: ["new-secret"] };
  const masked = { ...HMAC, secrets: [SECRET_MASK] };
  for (const first of [renew, { ...TOKEN, secrets: [SECRET_MASK] }]) {
    const error = await assertRejects(
      () => edit(triggers, id, { enabled: false, conditions: [first, masked] }),
      InvalidInputError,
    );
    assertStringIncludes(error.message, "/conditions/1/secrets/0");
    assertEquals(await contents(store), stored);
  }
  await edit(triggers, id, { conditions: [renew, { ...HMAC, secrets: ["{env:NEW}"] }] });
  assertNotEquals((await refusalOf(await triggers.prepared(id)))?.condition, "secrets");
  assertEquals(await preparedSecrets(triggers, id), ["new-secret", "{env:NEW}"]);
  assertEquals(await triggers.countLocked(), { locked: 0, total: 2 });
});

Deno.test("other fields of a locked trigger can be changed, and its secrets stay as they are stored", async () => {
  await using store = await storeInMemory();
  const conditions = [{ ...TOKEN, secrets: [SECRET, "{env:TOKEN}"] }, HMAC];
  const before = await openRegistry(store);
  const { id } = await before.create(written({ conditions }));
  const shown = await before.get(id);
  const triggers = await openRegistry(store, { secrets: await openSecretBox("/nowhere", OTHER) });
  const changed = await edit(triggers, id, { name: "renamed", enabled: false });
  assertEquals([changed.name, changed.enabled], ["renamed", false]);
  // What cannot be read has no fingerprint.
  assertEquals(shown?.conditions.flatMap(secretsShown), [
    { fingerprint: (await keyBox()).mark(SECRET, id), value: SECRET_MASK },
    "{env:TOKEN}",
    { fingerprint: (await keyBox()).mark(SECRET, id), value: SECRET_MASK },
  ]);
  assertEquals(changed.conditions.flatMap(secretsShown), [
    { value: SECRET_MASK },
    "{env:TOKEN}",
    { value: SECRET_MASK },
  ]);
  assertEquals((await refusalOf(await triggers.prepared(id)))?.condition, "secrets");
  assertEquals((await triggers.prepared(id))?.trigger.enabled, false);
  const kept = await contents(store);
  assertEquals(await edit(triggers, id, {}), changed);
  assertEquals(await contents(store), kept);

  // The key that they were stored with opens them again.
  const later = await openRegistry(store);
  assertEquals(await preparedSecrets(later, id), [SECRET, "{env:TOKEN}", SECRET]);
  assertEquals((await later.prepared(id))?.trigger.enabled, false);
});

Deno.test("all triggers are looked at once for each set of keys, and each time while one is locked", async () => {
  await using store = await storeInMemory();
  const key = await openSecretBox("/nowhere", KEY);
  const other = await openSecretBox("/nowhere", OTHER);
  const both = await openSecretBox("/nowhere", `${OTHER},${KEY}`);
  const count = async (secrets: SecretBox) =>
    await (await openRegistry(store, { secrets })).countLocked();
  const { id } = await (await openRegistry(store)).create(written({ conditions: [TOKEN] }));

  assertEquals(await count(key), { locked: 0, total: 1 });
  assertEquals(await count(key), "none");
  for (let start = 0; start < 2; start++) assertEquals(await count(other), { locked: 1, total: 1 });
  assertEquals(await count(both), { locked: 0, total: 1 });
  assertEquals(await count(both), "none");

  // What is stored with another key meanwhile is found with the first.
  assertEquals(await count(key), { locked: 0, total: 1 });
  const renewed = await openRegistry(store, { secrets: other });
  assertEquals(await renewed.countLocked(), { locked: 1, total: 1 });
  await edit(renewed, id, { conditions: [{ ...TOKEN, secrets: ["new-secret"] }] });
  assertEquals(await count(key), { locked: 1, total: 1 });
});

Deno.test("the secrets of more triggers than one page holds are looked at, and encrypted anew", async () => {
  await using store = await storeInMemory();
  const before = await openRegistry(store);
  const ids: string[] = [];
  for (let index = 0; index < 101; index++) {
    const { id } = await before.create(written({ name: `t-${index}`, conditions: [TOKEN] }));
    ids.push(id);
  }
  const both = await openSecretBox("/nowhere", `${OTHER},${KEY}`);
  const triggers = await openRegistry(store, { secrets: both });
  assertEquals(await triggers.countLocked(), { locked: 0, total: 101 });
  assertEquals(await sealAgain(store, both), 101);
  const after = await openRegistry(store, { secrets: await openSecretBox("/nowhere", OTHER) });
  assertEquals(await after.countLocked(), { locked: 0, total: 101 });
  assertEquals(await preparedSecrets(after, ids.at(-1) ?? ""), [SECRET]);
});

Deno.test("secrets in variables that are not set are found at each look, with trigger, place and name", async () => {
  await using store = await storeInMemory();
  const environment: Record<string, string> = { HERE: "a-secret-of-the-service", EMPTY: "" };
  const triggers = await openRegistry(store, { context: context({ env: environment }) });
  const until = "2040-01-01T00:00:00Z";
  const secrets = ["{env:HERE}", { secret: "{env:GONE}", until }];
  await triggers.create(written({ conditions: [TOKEN, { ...HMAC, secrets }] }));
  const other = { ...TOKEN, secrets: ["{env:EMPTY}"] };
  await triggers.create(written({ name: "other", conditions: [other] }));
  await triggers.create(written({ name: "third", conditions: [TOKEN] }));
  assertEquals(await triggers.countMissing(), {
    missing: 2,
    total: 3,
    places: ["retrain /conditions/1/secrets/1/value GONE", "other /conditions/0/secrets/0 EMPTY"],
  });
  Object.assign(environment, { EMPTY: "x", GONE: "x" });
  assertEquals(await triggers.countMissing(), { missing: 0, total: 3, places: [] });
});

Deno.test("the key cannot be changed while a secret is locked, and nothing is lost by trying", async () => {
  await using store = await storeInMemory();
  const before = await openRegistry(store);
  const { id } = await before.create(written({ conditions: [TOKEN] }));
  const other = await openSecretBox("/nowhere", OTHER);
  await assertRejects(
    () => sealAgain(store, other),
    LockedSecretError,
    'of trigger "retrain" with the new key',
  );
  assertEquals(await preparedSecrets(before, id), [SECRET]);
});

Deno.test("what the database did not store has not happened", async () => {
  let isBroken = false;
  await using store = await storeInMemory((_commit, store) =>
    isBroken ? Promise.reject(new TypeError("disk is full")) : store()
  );
  const triggers = await openRegistry(store);
  await triggers.create(written({ id: ID, conditions: [TOKEN] }));
  isBroken = true;
  await assertRejects(() => edit(triggers, ID, { conditions: [] }));
  await assertRejects(() => triggers.delete(ID));
  await assertRejects(() => triggers.create(written({ name: "other" })));
  isBroken = false;
  assertEquals(await preparedSecrets(triggers, ID), [SECRET]);
  assertEquals((await triggers.list({ limit: 10 })).records.map(({ id }) => id), [ID]);
});
