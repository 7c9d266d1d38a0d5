/** The order in which the system is told to write a replaced file: its content, its name, its folder. */
import { assertEquals } from "@std/assert";
import { join } from "node:path";
import { has } from "../../needs.ts";
import { temporaryFolder } from "../../surroundings.ts";

const SCRIPT = `
  import { replaceFile } from "./src/platform/files/durable.ts";
  await replaceFile(Deno.args[0], "new", 0o600);`;
/** Also of a call that another thread has interrupted in the trace. */
const CALLS: readonly [RegExp, string][] = [
  [/fsync\(\d+<.*\.tmp-[^/]*>/, "the new file is on disk"],
  [/rename.*\.tmp-.*"/, "it has the name"],
  [/fsync\(\d+<.*\/replaced>/, "the folder is on disk"],
];

Deno.test({
  name: "a replaced file is on disk before it has its name, and its name before it counts",
  ignore: !has("strace"),
  async fn() {
    await using folder = await temporaryFolder();
    const [trace, replaced] = [join(folder.path, "trace"), join(folder.path, "replaced")];
    await Deno.mkdir(replaced);
    const { success, stderr } = await new Deno.Command("sh", {
      args: [
        "-c",
        'exec strace -f -y -qq -o "$1" -e trace=fsync,?rename,?renameat,renameat2 "$2" run -A - "$3" <<END\n' +
        `${SCRIPT}\nEND`,
        ...["sh", trace, Deno.execPath(), join(replaced, "file")],
      ],
      cwd: new URL("../../../", import.meta.url),
    }).output();
    assertEquals(success, true, new TextDecoder().decode(stderr));
    const calls = (await Deno.readTextFile(trace)).split("\n");
    const made = calls.flatMap((call) => CALLS.filter(([pattern]) => pattern.test(call)));
    assertEquals(made.map(([, what]) => what), CALLS.map(([, what]) => what), calls.join("\n"));
  },
});
