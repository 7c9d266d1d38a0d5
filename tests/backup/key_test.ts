/** A backup says that it has the key only when it is the key of the secrets in it. */
import { assertEquals } from "@std/assert";
import { backUp } from "../../src/backup/backup.ts";
import { restore } from "../../src/backup/restore.ts";
import { HMAC_CONDITION, startService, type TestService } from "../data.ts";
import { OPTIONS, pathsIn } from "./fixture.ts";

const KEY = "a".repeat(64);
const OTHER = "b".repeat(64);

/** Makes a backup of a service whose key file holds this text, if it has one, and restores it. */
async function backUpWith(service: TestService, text?: string) {
  const data = `${service.folder}/data`;
  const target = `${service.folder}/backup`;
  if (text !== undefined) await Deno.writeTextFile(`${data}/secret.key`, text);
  const { has_key, flaws } = await backUp({ data, target, ...OPTIONS, force: true });
  const to = `${service.folder}/restored`;
  const source = (await Deno.open(target)).readable;
  const { header } = await restore({ data: to, source, ...OPTIONS });
  const hasFile = (await pathsIn(to)).includes("secret.key");
  await Deno.remove(to, { recursive: true });
  return { has_key, said: header.has_key, hasFile, flaws };
}

const YES = { has_key: true, said: true, hasFile: true, flaws: [] };
const NO = { has_key: false, said: false, hasFile: false, flaws: [] };

Deno.test("a backup has the key file when that is the key of the secrets", async (t) => {
  await using service = await startService({ settings: { secretKey: KEY } });
  await service.trigger({
    conditions: [{ ...HMAC_CONDITION, secrets: ["{env:ELSEWHERE}"] }],
  });
  await t.step("there is none", async () => {
    assertEquals(await backUpWith(service), NO);
  });
  await t.step("no secret is stored", async () => {
    assertEquals(await backUpWith(service, OTHER), YES);
  });
  await service.trigger({ conditions: [HMAC_CONDITION] });
  await t.step("it is the key in the variable", async () => {
    assertEquals(await backUpWith(service, `${KEY}\n`), YES);
  });
  await t.step("it is one of those that are being changed", async () => {
    assertEquals(await backUpWith(service, `${OTHER}\n${KEY}\n`), YES);
  });
  await t.step("it opens nothing", async () => {
    assertEquals(await backUpWith(service, `${OTHER}\n`), NO);
  });
  await t.step("it is no key", async () => {
    assertEquals(await backUpWith(service, "something else"), NO);
  });
  await t.step("it opens some", async () => {
    // As a change of keys leaves it that was cut off.
    const settings = { ...service.service.parts.settings, secretKey: OTHER };
    await service.service.close(0);
    const { Service } = await import("../../src/service/service.ts");
    const { clock, env } = service.service.parts;
    const other = await Service.start(settings, { clock, env });
    await other.parts.triggers.create({
      name: "other",
      project: "files",
      actions: [{ type: "run_execution", step: "copy" }],
      conditions: [HMAC_CONDITION],
    });
    await other.close(0);
    const detail = "Stored secrets that it does not open: 1";
    const flaws = [{ path: "secret.key", detail }];
    assertEquals(await backUpWith(service, `${OTHER}\n`), { ...YES, flaws });
  });
});
