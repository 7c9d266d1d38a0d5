/** People who have logged in, and sessions: those that are over are removed, however many they are. */
import { assertEquals } from "@std/assert";
import { personKey, putPerson, removeFormerPeople } from "../../../src/store/records/people.ts";
import { removeExpiredSessions } from "../../../src/store/records/sessions.ts";
import { standIn, storedUnder, storeInMemory } from "../fixture.ts";

const END_MS = Date.UTC(2026, 0, 1);
/** More than one commit takes. */
const COUNT = 1_001;
const { signal } = new AbortController();

function person(subject: string, expires_ms: number) {
  const name = subject;
  const login = { issuer: "https://id.example.com", subject, name, scope: "read" as const };
  const expires_at = new Date(expires_ms).toISOString();
  return { ...login, provider: "p", revision: "r", expires_at };
}

Deno.test("of many people those are removed whose access has ended", async () => {
  await using store = await storeInMemory();
  const former = Array.from({ length: COUNT }, (_, at) => person(`former-${at}`, END_MS));
  const present = person("present", END_MS + 1);
  await Promise.all([...former, present].map((each) => putPerson(store, each)));
  assertEquals(await removeFormerPeople({ store, signal }, END_MS), COUNT);
  assertEquals(await storedUnder(store, "person"), [personKey(present)]);
});

Deno.test("who logs in while former people are removed stays", async () => {
  await using store = await storeInMemory();
  await putPerson(store, person("back", END_MS));
  const list = async function* (...[selector, options]: Parameters<Deno.Kv["list"]>) {
    yield* store.kv.list(selector, options);
    await putPerson(store, person("back", END_MS + 1));
  };
  const looking = standIn(store, { kv: standIn(store.kv, { list }) });
  await removeFormerPeople({ store: looking, signal }, END_MS);
  assertEquals(await storedUnder(store, "person"), [personKey(person("back", END_MS))]);
});

Deno.test("of many sessions those are removed that are over", async () => {
  await using store = await storeInMemory();
  for (let at = 0; at < COUNT; at++) await store.kv.set(["session", `s${at}`], {});
  assertEquals(await removeExpiredSessions(store, END_MS), COUNT);
  assertEquals(await storedUnder(store, "session"), []);
});
