import {
  assert,
  assertEquals,
  assertMatch,
  assertNotMatch,
  assertStringIncludes,
} from "@std/assert";
import { has } from "../needs.ts";
import { temporaryFolder } from "../surroundings.ts";
import { runHosted } from "./hosted.ts";
import { hooklaunch, run } from "./process.ts";

Deno.test("deno task demo --once shows the main job, sends its webhook to no proxy, and ends with 0", async () => {
  // Another one may just be serving on.
  using busy = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  await using folder = await temporaryFolder();
  const proxy = "http://127.0.0.1:9";
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["task", "--quiet", "demo", "--once", "--port", String(busy.addr.port)],
    cwd: new URL("../..", import.meta.url),
    env: {
      NO_COLOR: "1",
      XDG_CONFIG_HOME: "/nonexistent",
      TMPDIR: folder.path,
      ...{ HTTP_PROXY: proxy, http_proxy: proxy, ALL_PROXY: proxy },
    },
  }).output();
  const printed = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes)).join("");
  assertEquals(code, 0, printed);
  assertEquals([...Deno.readDirSync(folder.path)], []);
  assertMatch(printed, /Answer: 200 {"status":"ok","run":"[0-9a-f-]{36}"}/);
  assertMatch(printed, /Run [0-9a-f-]{36}: pending .*\nRun [0-9a-f-]{36}: completed /);
  assertStringIncludes(printed, 'Hi from the step: "Retrain on the labels of batch 7"');
  assertMatch(printed, /The payload payload.json has \d+ bytes/);
  // Nothing of Deno's own.
  assertNotMatch(printed, /Deno\.serve|unstable/);
});

Deno.test("demo says that it cannot make its folder", async () => {
  const { code, printed } = await runHosted(["demo", "--once"], { TMPDIR: "/nowhere" });
  assertEquals(code, 1);
  assertMatch(printed, /^hooklaunch: Cannot create a temporary folder, check TMPDIR: .*\n$/);
});

Deno.test("demo --example pipeline trains and tests a model on the labels of a webhook", async () => {
  const { code, printed } = await run(["demo", "--example", "pipeline", "--once"]);
  assertEquals(code, 0, printed);
  for (const node of ["ingest", "train", "test"]) {
    assertStringIncludes(printed, `node "${node}" is complete`);
  }
  // The scale that ingest has found came to both of the other steps, and the model to the last.
  assertStringIncludes(printed, "Found 40 labels; the largest measure is 4.9 cm.");
  assertStringIncludes(printed, "Trained on 30 samples.");
  assertStringIncludes(printed, "10 of 10 flowers were classified correctly.");
  assertMatch(printed, /Pipeline [0-9a-f-]{36}: complete\n/);
});

Deno.test("demo on a cluster says what it needs", async () => {
  const settings = "{ url: http://127.0.0.1:1, user: me, token: '{env:SLURM_JWT}' }";
  const cases: [args: string[], expected: RegExp][] = [
    [
      ["slurm"],
      /the setting --engine slurm: Expected the cluster, .* set --engine-settings, or .*slurm/,
    ],
    [
      ["slurm", "--engine-settings", settings],
      /the setting --engine slurm: .* set --agent-url to this/,
    ],
    [
      ["slurm", "--engine-settings", "x"],
      /the setting --engine-settings: .*found "x"/,
    ],
    [["cloud"], /'cloud' is invalid\. Allowed choices are local, slurm, kubernetes/],
  ];
  const agent = ["--agent-url", "http://login1:8000", "--agent-http"];
  const ended = await Promise.all(
    cases.map(([args], index) =>
      runHosted(["demo", ...index === 2 ? agent : [], "--engine", ...args])
    ),
  );
  for (const [index, { code, printed }] of ended.entries()) {
    assertMatch(printed, cases[index]?.[1] ?? /^$/);
    assert(code > 0);
  }
});

Deno.test("a demo that is stopped while it shows something leaves nothing behind", async () => {
  await using folder = await temporaryFolder();
  await using demo = hooklaunch(["demo", "--example", "pipeline", "--port", "0"], {
    TMPDIR: folder.path,
  });
  await demo.expect(/Sending /);
  demo.child.kill("SIGINT");
  const { code } = await demo.end();
  assertEquals(code, 1, demo.printed());
  assertMatch(demo.printed(), /\nhooklaunch: Stopped by SIGINT\n$/);
  assertEquals(await Array.fromAsync(Deno.readDir(folder.path)), []);
});

Deno.test({
  name: "the demo goes on serving, and its curl line works when it is pasted",
  ignore: !has("curl") || !has("openssl"),
  async fn() {
    await using demo = hooklaunch(["demo", "--port", "0"]);
    const [, line = ""] = await demo.expect(/another terminal:\n\n([\s\S]+? -d "\$body")\n/);
    const shell = new Deno.Command("sh", {
      args: ["-c", line],
      clearEnv: true,
      env: {
        PATH: Deno.env.get("PATH") ?? "",
        http_proxy: "http://127.0.0.1:9",
      },
    });
    const { stdout, stderr } = await shell.output();
    const answer = new TextDecoder().decode(stdout);
    assertMatch(
      answer,
      /^{"status":"ok","run":"[0-9a-f-]{36}"}$/,
      new TextDecoder().decode(stderr),
    );
    await demo.expect(/Hi from the step: "Hello from my terminal"/);
    demo.child.kill("SIGINT");
    assertEquals((await demo.end()).code, 0);
  },
});
