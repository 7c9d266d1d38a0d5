/**
 * A program of its own for the tests of migrations: brings the data folder that it is given up to date,
 * but lets only so many commits through, says `waiting` then, and waits to be killed.
 *
 * @module
 */
import { join } from "node:path";
import { Committer } from "../../src/store/commit/committer.ts";
import { migrate } from "../../src/store/migrations.ts";
import { DATABASE_FILE } from "../../src/store/file/database_file.ts";
import { watchedKv } from "./fixture.ts";

const [folder = "", commits = "0"] = Deno.args;
let left = Number(commits);
const kv = watchedKv(await Deno.openKv(join(folder, DATABASE_FILE)), (_commit, store) => {
  if (left-- > 0) return store();
  console.log("waiting");
  return new Promise(() => setInterval(() => {}, 1_000));
});
await migrate({ kv, committer: new Committer(kv) }, { where: folder, from: 1 });
