/** The results of an execution are on disk when its record says that it has ended. */
import { assert, assertEquals } from "@std/assert";
import { join } from "node:path";
import { has } from "../../needs.ts";
import { temporaryFolder } from "../../surroundings.ts";
import { EngineFixture } from "../fixture.ts";

const cases = [
  {
    what: "outputs, log and their folders",
    command: `echo '{"a": 1}'; mkdir -p $VH_OUTPUTS_DIR/deep; echo x >$VH_OUTPUTS_DIR/deep/model
      head -c 3000000 /dev/zero >$VH_OUTPUTS_DIR/large`,
    fields: {},
    status: "complete",
    results: [
      "engine/data/executions",
      "executions/[0-9a-f-]{36}",
      "[0-9a-f]/control",
      "[0-9a-f]/outputs",
      "outputs/deep",
      "control/log",
      "control/metadata.jsonl",
      "outputs/deep/model",
      "outputs/large",
    ],
  },
  {
    what: "the log of one that could not be prepared",
    command: "true",
    fields: { inputs: { data: [{ name: "a", url: "datum://none" }] } },
    status: "error",
    results: ["engine/data/executions", "tmp-[^/]*", "tmp-[^/]*/control", "tmp-[^/]*/control/log"],
  },
];

for (const { what, command, fields, status, results } of cases) {
  Deno.test({
    name: `before a record says that an execution has ended, on disk is ${what}`,
    ignore: !has("strace"),
    async fn() {
      await using folder = await temporaryFolder();
      const trace = join(folder.path, "trace");
      // It ends without closing the database, so that its last commit is the one of the end.
      const script = `
        import { EngineFixture } from "./tests/engines/fixture.ts";
        const fixture = await EngineFixture.make({}, ${
        JSON.stringify(join(folder.path, "engine"))
      });
        const { status } = await fixture.run(${JSON.stringify(command)}, ${JSON.stringify(fields)});
        console.log(status);
        Deno.exit();`;
      const { stdout, stderr } = await new Deno.Command("sh", {
        args: [
          "-c",
          'exec strace -f -y -qq -o "$1" -e trace=fsync,fdatasync "$2" eval "$3"',
          ...["sh", trace, Deno.execPath(), script],
        ],
        cwd: new URL("../../../", import.meta.url),
        stdout: "piped",
        stderr: "piped",
      }).output();
      assertEquals(
        new TextDecoder().decode(stdout).trim(),
        status,
        new TextDecoder().decode(stderr),
      );
      const calls = (await Deno.readTextFile(trace)).split("\n");
      const commit = calls.findLastIndex((call) => /sync\(.*hooklaunch\.kv-wal>/.test(call));
      for (const result of results) {
        const pattern = new RegExp(`f(data)?sync\\(\\d+<.*${result}>`);
        const synced = calls.findIndex((call) => pattern.test(call));
        assert(
          synced !== -1 && synced < commit,
          `${result} is synced at ${synced}, not before ${commit}`,
        );
      }
    },
  });
}

Deno.test("a step whose results are to be written to disk while too many files are open completes once they are", async () => {
  await using fixture = await EngineFixture.make();
  const { open } = Deno;
  let tries = 0;
  Deno.open = async (path, options) => {
    const isRoot = String(path).startsWith(fixture.folder) && String(path).endsWith("/executions");
    if (!isRoot || ++tries > 1) return await open(path, options);
    throw Object.assign(new Error("Too many open files"), { code: "EMFILE" });
  };
  using _restored = { [Symbol.dispose]: () => void (Deno.open = open) };
  const { id, status, reason } = await fixture.run("echo printed");
  assertEquals([status, reason, tries], ["complete", undefined, 2]);
  assertEquals(await fixture.printed(id, "stdout"), ["printed"]);
});
