import { assert, assertEquals, assertNotEquals, assertStringIncludes } from "@std/assert";
import {
  ADMIN_TOKEN,
  eventually,
  HMAC_CONDITION,
  signature,
  startService,
  temporaryFolder,
} from "../data.ts";
import { startReceiver } from "../http/receiver.ts";
import { allStoredTriggers, putStoredTrigger } from "../../src/store/records/triggers.ts";
import { openStore } from "../../src/store/open_store.ts";
import { sealSecrets, secretBox } from "../../src/triggers/secrets.ts";
import { runHosted as run } from "./hosted.ts";

Deno.test("secret-key rotate encrypts all secrets with a new key, and the old one opens nothing", async () => {
  await using service = await startService();
  const trigger = await service.trigger({ conditions: [HMAC_CONDITION], keep_refused: "1h" });
  await (await fetch(trigger.url, { method: "POST", body: "kept" })).body?.cancel();
  const keptBody = () =>
    eventually(async () => {
      const { body: { results } } = await service.api("GET", "deliveries/?outcome=refused");
      if (results.length === 0) return undefined;
      return (await service.api("GET", `deliveries/${results[0].id}/`)).body.body;
    }, { what: "the refused request" });
  assertEquals(await keptBody(), btoa("kept"));
  const secretAt = "projects/files/secrets/token/";
  await service.api("PUT", secretAt, { value: "a-secret-of-the-project" });
  const warnings = async () => {
    const { name, directory } = (await service.api("GET", "projects/files/")).body;
    return (await service.api("PUT", `projects/${name}/`, { directory })).body.warnings;
  };
  const path = new URL(trigger.url).pathname;
  const data = `${service.folder}/data`;
  const keyBefore = await Deno.readTextFile(`${data}/secret.key`);
  const busy = await run(["secret-key", "rotate", "--data", data]);
  assertEquals(busy.code, 1);
  assertStringIncludes(busy.printed, "another Hooklaunch process is using it");

  await service.service.close();
  const { code, printed } = await run(["secret-key", "rotate", "--data", data]);
  assertEquals(code, 0, printed);
  assertStringIncludes(printed, "secrets of 1 triggers and 1 projects");
  const keyAfter = await Deno.readTextFile(`${data}/secret.key`);
  assertEquals(keyAfter.trim().split("\n").length, 1, "the key before is forgotten");
  assertNotEquals(keyAfter, keyBefore);
  const { mode } = await Deno.stat(`${data}/secret.key`);
  assertEquals((mode ?? 0) & 0o777, 0o600);

  const send = async () => {
    const answer = await fetch(service.url + path, {
      method: "POST",
      body: "x",
      headers: signature("x"),
    });
    await answer.body?.cancel();
    return answer.status;
  };
  await service.restart();
  assertEquals(await send(), 200);
  assertEquals(await keptBody(), btoa("kept"));
  assertEquals(await warnings(), []);
  await service.service.close();
  await Deno.writeTextFile(`${data}/secret.key`, keyBefore);
  await service.restart();
  assertNotEquals(await send(), 200);
  assertStringIncludes(JSON.stringify(await warnings()), "cannot be decrypted with this key");
});

Deno.test("secret-key rotate encrypts the secrets of accepted work, which is performed with the new key", async () => {
  await using receiver = startReceiver();
  const requestTo = (path: string) => ({
    type: "http_request",
    url: `http://127.0.0.1:${receiver.port}${path}`,
    private_networks: true,
    headers: { "x-api-key": { secret: "a-literal-of-the-tests" } },
    sign: { preset: "github", secret: "a-secret-of-the-tests" },
    retry: { attempts: 5, first: 1, factor: 1 },
  });
  receiver.on("/again", (_, { length }) => new Response(null, { status: length > 1 ? 200 : 503 }));
  receiver.on("/later", () => new Response());
  await using service = await startService();
  const again = await service.trigger({ name: "again", actions: [requestTo("/again")] });
  const later = await service.trigger({ name: "later", delay: 2, actions: [requestTo("/later")] });
  for (const { url } of [again, later]) {
    const answer = await fetch(url, { method: "POST", body: "x" });
    await answer.body?.cancel();
    assertEquals(answer.status, 200);
  }
  const [first] = await receiver.arrived("/again", 1);
  await service.service.close();
  const { code, printed } = await run(["secret-key", "rotate", "--data", `${service.folder}/data`]);
  assertEquals(code, 0, printed);
  await service.restart();
  const [, second] = await receiver.arrived("/again", 2);
  const [held] = await receiver.arrived("/later", 1);
  for (const name of ["x-api-key", "x-hub-signature-256"]) {
    const sent = first?.headers.get(name);
    assert(sent);
    assertEquals(second?.headers.get(name), sent);
  }
  assertEquals(held?.headers.get("x-api-key"), "a-literal-of-the-tests");
});

Deno.test("a rotation that fails again and again forgets no key that secrets need", async () => {
  await using service = await startService();
  const made = [];
  for (const name of ["a", "b"]) {
    made.push(await service.trigger({ name, conditions: [HMAC_CONDITION] }));
  }
  const [locked, other] = made;
  assert(locked && other);
  await service.service.close();
  const data = `${service.folder}/data`;
  const lock = async () => {
    await using store = await openStore(data);
    const box = secretBox([new Uint8Array(32)]);
    for await (const stored of allStoredTriggers(store)) {
      if (stored.id !== locked.id) continue;
      const settings = sealSecrets(stored.settings, box, stored.id);
      await putStoredTrigger(store, { ...stored, settings });
    }
  };
  await lock();
  for (let tries = 0; tries < 6; tries++) {
    const { code, printed } = await run(["secret-key", "rotate", "--data", data]);
    assertEquals(code, 1, printed);
    assertStringIncludes(printed, 'Cannot encrypt the secrets of trigger "a"');
  }
  const keys = (await Deno.readTextFile(`${data}/secret.key`)).trim().split("\n");
  assertEquals(keys.length, 4, "each try goes on with the key of the one before");
  await service.restart();
  const answer = await fetch(service.url + new URL(other.url).pathname, {
    method: "POST",
    body: "x",
    headers: signature("x"),
  });
  await answer.body?.cancel();
  assertEquals(answer.status, 200);
});

Deno.test("a key file whose place the variable takes is removed when nothing needs it any more", async () => {
  await using service = await startService();
  await service.trigger({ conditions: [HMAC_CONDITION] });
  await service.service.close();
  const data = `${service.folder}/data`;
  const inFile = (await Deno.readTextFile(`${data}/secret.key`)).trim();
  const names = async () => (await Array.fromAsync(Deno.readDir(data))).map(({ name }) => name);
  const rotate = (...keys: string[]) =>
    run(["secret-key", "rotate", "--data", data], { HOOKLAUNCH_SECRET_KEY: keys.join(",") });
  const [other, next] = ["a".repeat(64), "b".repeat(64)];

  assertEquals((await rotate(next, other)).code, 1, "neither opens the secrets");
  assert((await names()).includes("secret.key"), "it is still the only key of the secrets");
  const same = await rotate(inFile, next);
  assertEquals(same.code, 0, same.printed);
  assert((await names()).includes("secret.key"), "it is the key in force");

  const { code, printed } = await rotate(next, inFile);
  assertEquals(code, 0, printed);
  assertStringIncludes(printed, "Removed secret.key");
  assert(!(await names()).includes("secret.key"));
  const again = await rotate(next, inFile);
  assertEquals(again.code, 0, again.printed);
});

Deno.test("a key in the variable is changed by giving both", async () => {
  const keys = ["a".repeat(64), "b".repeat(64)];
  await using service = await startService({ settings: { secretKey: keys[0] ?? "" } });
  await service.trigger({ conditions: [HMAC_CONDITION] });
  await service.service.close();
  const rotate = (key: string | undefined) =>
    run(["secret-key", "rotate", "--data", `${service.folder}/data`], {
      HOOKLAUNCH_SECRET_KEY: key ?? "",
      HOOKLAUNCH_ADMIN_TOKEN: ADMIN_TOKEN,
    });
  const alone = await rotate(keys[1]);
  assertEquals(alone.code, 1);
  assertStringIncludes(alone.printed, "the new key and the old key");
  const both = await rotate(`${keys[1]},${keys[0]}`);
  assertEquals(both.code, 0, both.printed);
  assert(!both.printed.includes("aaaa") && !both.printed.includes("bbbb"));
});

Deno.test("secret-key rotate finds no data where there is none, and makes none", async () => {
  await using folder = await temporaryFolder();
  const data = `${folder.path}/data`;
  const { code, printed } = await run(["secret-key", "rotate", "--data", data]);
  assertEquals(code, 1, printed);
  assertStringIncludes(printed, `Expected a data folder, found no hooklaunch.kv in ${data}`);
  assertEquals(await Array.fromAsync(Deno.readDir(folder.path)), []);
});
