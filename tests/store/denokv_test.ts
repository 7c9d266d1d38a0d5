/** A remote database on the real denokv server: its limits are kept to, and who stands by takes over. */
import { assertEquals } from "@std/assert";
import { readPayload, uploadPayload } from "../../src/store/records/payloads.ts";
import { openStore } from "../../src/store/open_store.ts";
import { has } from "../needs.ts";
import { temporaryFolder } from "../surroundings.ts";
import { denokv } from "./denokv.ts";
import { KV_TOKEN } from "./kv_connect.ts";

Deno.env.set(KV_TOKEN.name, KV_TOKEN.value);

const PAYLOAD_BYTES = 3_000_000;
const SMALL_WRITES = 2_000;

Deno.test({
  name: "denokv takes commits as large as they become, and the next process has all of it",
  ignore: !has("denokv"),
  async fn() {
    await using folder = await temporaryFolder();
    await using server = await denokv(folder.path);
    const open = (name: string) =>
      openStore(`${folder.path}/${name}`, {
        remote: { url: server.url, ownership: { look_ms: 10 } },
      });
    const first = await open("first");
    const opening = open("second");
    const body = Uint8Array.from({ length: PAYLOAD_BYTES }, (_, at) => at % 251);
    await Promise.all([
      uploadPayload(first, "a-run", body),
      ...Array.from(
        { length: SMALL_WRITES },
        (_, n) =>
          first.committer.write([{ key: ["test", n], value: { n, text: "x".repeat(500) } }]),
      ),
    ]);
    await first.close();
    await using second = await opening;
    const stored = await Array.fromAsync(second.kv.list({ prefix: ["test"] }));
    assertEquals(stored.length, SMALL_WRITES);
    const chunks = await Array.fromAsync(readPayload(second, "a-run", PAYLOAD_BYTES));
    assertEquals(await new Blob(chunks).bytes(), body);
  },
});
