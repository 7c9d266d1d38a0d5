/** An instance that leads from its start, on a database that several share. */
import { assertEquals } from "@std/assert";
import { systemClock } from "../../src/platform/clock.ts";
import { Service } from "../../src/service/service.ts";
import { startService } from "../data.ts";
import { KV_TOKEN, RemoteKv } from "../store/kv_connect.ts";
import { freePort, temporaryFolder } from "../surroundings.ts";

Deno.test("an instance that applies its configuration says that it does not serve yet", async () => {
  await using kv = new RemoteKv();
  Deno.env.set(KV_TOKEN.name, KV_TOKEN.value);
  const kvSettings = { kv: kv.way().url, secretKey: "00".repeat(32) };
  await using folder = await temporaryFolder();
  let settings;
  {
    await using like = await startService();
    settings = { ...like.service.parts.settings, ...kvSettings, data: folder.path };
  }
  const port = freePort();
  const begun = Promise.withResolvers<void>();
  const applying = Promise.withResolvers<void>();
  const starting = Service.start(
    { ...settings, port },
    { clock: systemClock, env: () => undefined },
    () => {
      begun.resolve();
      return applying.promise;
    },
  );
  const launch = async () => {
    const url = `http://127.0.0.1:${port}/api/v0/launch/01900000-0000-7000-8000-000000000001/`;
    const answer = await fetch(url, { method: "POST", body: "x" });
    await answer.body?.cancel();
    return answer.status;
  };
  try {
    await begun.promise;
    assertEquals(await launch(), 503);
    applying.resolve();
    await starting;
    assertEquals(await launch(), 404);
  } finally {
    applying.resolve();
    await (await starting).close(0);
  }
});
