/** Backups of a running service, as operators see them: causes, notifications, the console and the thread they run in. */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { isPublic } from "../../../src/platform/network/public_addresses.ts";
import { eventually, startService, temporaryFolder } from "../../data.ts";
import { loggedIn, textOf } from "../../http/console/fixture.ts";
import { startReceiver } from "../../http/receiver.ts";

/** An address of the loopback network that counts as public here. */
const PUBLIC = "127.0.0.2";

Deno.test("a backup that fails is a cause, which notifiers tell of, and the console says when the last one was made", async () => {
  await using folder = await temporaryFolder();
  await using receiver = startReceiver(PUBLIC);
  receiver.on("/hook", () => new Response("thanks"));
  const to = `${folder.path}/disk`;
  const keep = { hourly: 24, daily: 7, weekly: 4 };
  await using service = await startService({
    settings: { backup: { to, every_ms: 3_600_000, keep } },
    network: {
      resolve: () => Promise.resolve([PUBLIC]),
      isPublic: (address) => address === PUBLIC || isPublic(address),
      caCerts: [],
    },
  });
  const { backups, notifications } = service.service.parts;
  const url = `http://${PUBLIC}:${receiver.port}/hook`;
  const put = await service.api("PUT", "notifiers/ops/", {
    on: ["backup_failed", "recovered"],
    to: {
      type: "webhook",
      url,
      sign: { preset: "standard_webhooks", secret: "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" },
    },
    group: "1m",
  });
  assertEquals(put.status, 201, JSON.stringify(put.body));

  await backups?.tick();
  const { body: { results: [cause] } } = await service.api("GET", "attention/?code=backup_failed");
  assertMatch(
    cause.text,
    /^Backups to .+ fail: Cannot use .+ for backups: it is no folder that exists/,
  );
  const told = await eventually(() => {
    // A look that has begun before the backup failed sees nothing of it.
    notifications.sweep();
    return Promise.resolve(receiver.at("/hook")[0]);
  });
  assertStringIncludes(told.body, "backup_failed");

  await Deno.mkdir(to);
  assertEquals((await service.api("POST", "backups/")).status, 202);
  await eventually(() => Promise.resolve(backups?.isWorking ? undefined : true));
  const { body: { backup } } = await service.api("GET", "service/");
  assertEquals(backup.failures, []);
  assertEquals(backup.proof.name, backup.last.name);
  await service.trigger();
  const page = await (await loggedIn(service)).get("");
  assertMatch(textOf(page), /Last backup : \S.* Last restored and checked: \S/);
});
