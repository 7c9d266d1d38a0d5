/** Shells complete commands, options, and the names and ids of the service. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { Command } from "commander";
import { defineCompletion } from "../../src/commands/completion.ts";
import { ADMIN_TOKEN, startService, temporaryFolder } from "../data.ts";
import { runHosted as run } from "./hosted.ts";
import { makeKeyring } from "./keyrings.ts";
import { HOOKLAUNCH_LINE } from "./process.ts";

/** Completes the last word in bash, where `hooklaunch` is that of the tests. */
async function complete(words: string, env: Record<string, string> = {}): Promise<string[]> {
  const { printed } = await run(["completion", "bash"]);
  // As bash hands words over: these characters end one.
  const split = words.replaceAll(/[=:]+/g, " $& ");
  const script = `${printed}
hooklaunch() { ${HOOKLAUNCH_LINE} "$@"; }
COMP_WORDS=(hooklaunch ${split}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _hooklaunch
printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout } = await new Deno.Command("bash", {
    args: ["-c", script],
    env: { XDG_CONFIG_HOME: "/nonexistent", ...env },
  }).output();
  return new TextDecoder().decode(stdout).trim().split("\n");
}

Deno.test("bash completes commands, their options and the options' values", async (t) => {
  const cases: [words: string, expected: string][] = [
    ["trig", "trigger"],
    ["trigger sec", "secret"],
    ["trigger secret exp", "expire"],
    ["trigger secret add retrain --fr", "--from"],
    ["apply --pl", "--plan"],
    ["execution log --fol", "--follow"],
    ["runs --status complete_", "complete_with_error"],
    ["execution list --status q", "queued"],
    ["runs -o y", "yaml"],
    ["--env-file .env trigger sec", "secret"],
    ["completion fi", "fish"],
    ["execution list --status=q", "queued"],
    ["--url=http://127.0.0.1:9 trigger sec", "secret"],
    ["runs --trigger=a -o y", "yaml"],
  ];
  for (const [words, expected] of cases) {
    await t.step(words, async () => assertEquals(await complete(words), [expected]));
  }
});

Deno.test("bash completes names and ids of the service, and evaluates none of them", async (t) => {
  await using service = await startService();
  const { id, url } = await service.trigger({
    name: "retrain",
    actions: [{ type: "run_execution", step: "echo" }],
  });
  await service.trigger({ name: "two words" });
  await (await fetch(url, { method: "POST", body: "x" })).body?.cancel();
  const { body: { results: [run_] } } = await service.api("GET", "runs/");
  const env = {
    HOOKLAUNCH_URL: service.url,
    HOOKLAUNCH_ADMIN_TOKEN: ADMIN_TOKEN,
    XDG_CONFIG_HOME: `${service.folder}/config`,
  };
  await run(["context", "add", "prod", "--url", "http://127.0.0.1:9"], env);
  const envFile = `${service.folder}/.env`;
  await Deno.writeTextFile(envFile, Object.entries(env).map((pair) => pair.join("=")).join("\n"));
  const cases: [words: string, expected: string[], env?: Record<string, string>][] = [
    ["trigger show re", ["retrain"]],
    ["trigger show tw", ["two\\ words"]],
    ["runs --trigger re", ["retrain"]],
    ["runs --trigger=re", ["retrain"]],
    ["runs --trigger=", ["retrain", "two\\ words"]],
    ["project show ''", ["files"]],
    [`run show ${run_.id.slice(0, 8)}`, [run_.id]],
    [`delivery ${run_.id.slice(0, 8)}`, [run_.id]],
    ["context use p", ["prod"]],
    ["runs --context p", ["prod"]],
    [`--env-file ${envFile} trigger show re`, ["retrain"], {}],
    [`trigger show --url ${service.url} re`, ["retrain"], { HOOKLAUNCH_ADMIN_TOKEN: ADMIN_TOKEN }],
    [`trigger show --url=${service.url} re`, ["retrain"], { HOOKLAUNCH_ADMIN_TOKEN: ADMIN_TOKEN }],
  ];
  for (const [words, expected, own = env] of cases) {
    await t.step(words, async () => {
      const found = await complete(words, own);
      assertEquals(found.filter((word) => !word.startsWith("--")), expected);
    });
  }
  assertEquals((await complete("trigger show ''", env)).includes("retrain"), true);
  assert(id);
});

Deno.test("a service that is away, slow or strange completes nothing, and says nothing", async (t) => {
  const silent = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const connections: Deno.Conn[] = [];
  const accepting = (async () => {
    for await (const connection of silent) connections.push(connection);
  })();
  const cases: [what: string, args: string[], env: Record<string, string>][] = [
    ["nobody listens", [], { HOOKLAUNCH_URL: "http://127.0.0.1:9", HOOKLAUNCH_ADMIN_TOKEN: "x" }],
    ["no answer", [], {
      HOOKLAUNCH_URL: `http://127.0.0.1:${silent.addr.port}`,
      HOOKLAUNCH_ADMIN_TOKEN: "x",
    }],
    ["no token", [], { HOOKLAUNCH_URL: "http://127.0.0.1:9" }],
  ];
  for (const [what, args, env] of cases) {
    await t.step(what, async () => {
      const ended = await run(["completion", "values", "triggers", ...args], env);
      assertEquals([ended.code, ended.printed], [0, ""]);
    });
  }
  for (const connection of connections) connection.close();
  silent.close();
  await accepting;
});

Deno.test("a keyring that asks somewhere else to be unlocked does not hold up the shell", async () => {
  await using folder = await temporaryFolder();
  await using service = await startService();
  const keyring = await makeKeyring(folder.path);
  for (const name of ["secret-tool", "security"]) {
    const path = `${folder.path}/bin/${name}`;
    await Deno.writeTextFile(path, `#!/bin/sh\necho >"$KEYRING/asked"\nexec sleep 600\n`);
  }
  await Deno.mkdir(`${folder.path}/hooklaunch`);
  const logins = { [service.url]: { expires_at: "9999-12-31T00:00:00Z" } };
  await Deno.writeTextFile(`${folder.path}/hooklaunch/logins.json`, JSON.stringify(logins));
  const words = ["completion", "values", "triggers", "--url", service.url];
  const { code, printed } = await run(words, { ...keyring.env, XDG_CONFIG_HOME: folder.path });
  assertEquals([code, printed], [0, ""]);
  assertEquals((await Deno.stat(`${folder.path}/keyring/asked`)).isFile, true);
});

Deno.test("what completes values leaves no timer, as the shell waits for its process", async () => {
  const command = new Command("completion");
  defineCompletion(command, () => Promise.resolve(command));
  // The test would fail for a timer that it leaves.
  await command.parseAsync(["values", "contexts"], { from: "user" });
});

Deno.test("no shell evaluates what a service answers", async () => {
  const folder = await Deno.makeTempDir({ prefix: "hooklaunch-test-" });
  const name = `$(touch ${folder}/pwned)`;
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () =>
      Response.json({
        results: [{ id: "1", name }, { id: "2", name: "plain\u001b[2J" }],
        next: null,
      }),
  );
  const env = {
    HOOKLAUNCH_URL: `http://127.0.0.1:${server.addr.port}`,
    HOOKLAUNCH_ADMIN_TOKEN: "x",
  };
  assertEquals(await complete("trigger show '$'", env), [
    `\\$\\(touch\\ ${folder}/pwned\\)`,
  ]);
  assertEquals(await complete("trigger show pl", env), ["plain\\ \\[2J"]);
  assertEquals(Array.from(Deno.readDirSync(folder)), []);
  await Deno.remove(folder);
});

Deno.test("zsh and fish complete the same", async () => {
  for (const shell of ["zsh", "fish"]) {
    const { printed } = await run(["completion", shell]);
    assertStringIncludes(printed, "hooklaunch");
    assertStringIncludes(printed, "only-without-success");
    assertStringIncludes(printed, "completion values");
  }
  assertEquals((await run(["completion", "tcsh"])).code, 1);
});
