/** Instances of an earlier version and of this one share a database while they are replaced one by one. */
import { assertMatch, assertRejects } from "@std/assert";
import { FORMAT_VERSION, keys } from "../../src/store/keys.ts";
import { has } from "../needs.ts";
import { denokv } from "../store/denokv.ts";
import { KV_TOKEN } from "../store/kv_connect.ts";
import { checkOutEarlier, hasEarlier } from "./earlier.ts";
import { Findings, Random } from "./findings.ts";
import { instances } from "./instances.ts";
import { serve } from "./served.ts";
import { workshop } from "./workshop.ts";

if (!hasEarlier) {
  console.warn("Left out: the upgrade from an earlier version, which the history does not have");
}

Deno.test({
  name:
    "upgrade: instances are replaced one by one by this version under load, and keep every promise",
  ignore: !has("denokv") || !hasEarlier,
  async fn() {
    const seed = Math.floor(Math.random() * 1e9);
    const said: string[] = [];
    const findings = new Findings((line) => said.push(line));
    findings.say(`seed ${seed}`);
    await instances(findings, new Random(seed), {
      earlier: await checkOutEarlier(),
      faults: ["upgrade", "upgrade"],
      instances: 2,
      senders: 3,
      least: 20,
      gap_ms: 10_000,
      answer_ms: 3_000,
      pause_ms: 200,
      paced: 5,
      settle_ms: 1_000,
    });
    if (findings.violations.length > 0) console.log(said.join("\n"));
    findings.assertNone();
  },
});

Deno.test({
  name:
    "upgrade: an instance of a version before says what to do on a database that a newer one has changed",
  ignore: !has("denokv"),
  async fn() {
    await using shop = await workshop([]);
    await using server = await denokv(shop.folder);
    Deno.env.set(KV_TOKEN.name, KV_TOKEN.value);
    {
      using kv = await Deno.openKv(server.url);
      await kv.set(keys.format(), FORMAT_VERSION + 1);
    }
    const error = await assertRejects(() =>
      serve(shop.folder, {
        flags: ["--kv", server.url],
        env: { [KV_TOKEN.name]: KV_TOKEN.value, HOOKLAUNCH_SECRET_KEY: "00".repeat(32) },
      }), Error);
    assertMatch(
      error.message,
      /its format is \d+, and this version reads format \d+; a newer version of Hooklaunch has written it\. Start that version, or restore a backup that was made before the upgrade/,
    );
  },
});
