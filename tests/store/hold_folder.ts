/**
 * A program of its own for the tests of the store: opens the data folder that it is given, says `open`
 * or what went wrong, and holds the folder until its standard input ends.
 *
 * @module
 */
import { messageOf } from "../../src/platform/errors.ts";
import { openStore } from "../../src/store/open_store.ts";

const [folder = ""] = Deno.args;
try {
  const store = await openStore(folder);
  await store.committer.write([{ key: ["test", "writer"], value: "the other process" }]);
  console.log("open");
  await Deno.stdin.read(new Uint8Array(1));
  await store.close();
} catch (error) {
  console.log(messageOf(error));
}
