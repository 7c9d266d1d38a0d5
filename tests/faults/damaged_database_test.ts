/** A service does not start on a database that is damaged, and says how to go on. */
import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { join } from "node:path";
import { DATABASE_FILE } from "../../src/store/file/database_file.ts";
import { HOOKLAUNCH_LINE } from "../commands/process.ts";
import { serve, shell } from "./served.ts";
import { workshop } from "./workshop.ts";

const ID = "01900000-0000-7000-8000-000000000001";
const LAUNCHES = 40;

Deno.test("after a kill a damaged database is refused, and the restored backup has what it had", async () => {
  await using shop = await workshop([{ id: ID, name: "t" }]);
  const backup = `${shop.folder}/backup.tar.gz`;
  const run = (command: string) => shell(`${HOOKLAUNCH_LINE} ${command}`);
  const data = `${shop.folder}/data`;
  {
    await using served = await serve(shop.folder);
    for (let count = 0; count < LAUNCHES; count++) {
      const answer = await fetch(`${served.url}/api/v0/launch/${ID}/`, {
        method: "POST",
        body: "x".repeat(3_000),
      });
      await answer.text();
    }
    await run(`backup '${backup}' --data '${data}'`);
    served.signal("SIGKILL");
    await served.end();
  }
  await damageRecords(join(data, DATABASE_FILE));
  const error = await assertRejects(() => serve(shop.folder), Error);
  assertMatch(
    error.message,
    /Cannot open the database in \S+: it is damaged: .*hooklaunch restore --data \S+ --force FILE/,
  );
  await run(`restore '${backup}' --data '${data}' --force`);
  await using served = await serve(shop.folder);
  const { results } = await served.api(`triggers/${ID}/runs/?limit=200`);
  assertEquals(results.length, LAUNCHES);
});

/** Makes a page zeros that holds records. */
async function damageRecords(path: string): Promise<void> {
  // All is in the one file then.
  await shell(`sqlite3 '${path}' 'PRAGMA wal_checkpoint(PASSIVE)' 2>/dev/null || true`);
  const bytes = await Deno.readFile(path);
  const page_bytes = 16 * 1_024;
  for (let at = page_bytes; at < bytes.length; at += page_bytes) {
    if (!new TextDecoder().decode(bytes.subarray(at, at + page_bytes)).includes("xxxxxxxx")) {
      continue;
    }
    bytes.fill(0, at, at + page_bytes);
    await Deno.writeFile(path, bytes);
    return;
  }
  throw new Error("No page holds records");
}
