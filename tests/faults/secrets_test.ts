import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { randomBytes } from "node:crypto";
import { hooklaunch, run } from "../commands/process.ts";
import { eventually, temporaryFolder } from "../surroundings.ts";

const ID = "01900000-0000-7000-8000-000000000001";

function unguessable(): string {
  return randomBytes(18).toString("hex");
}

/** Everything in a folder as text, but for the key that opens what is encrypted. */
async function* textsIn(folder: string): AsyncGenerator<[path: string, text: string]> {
  for await (const { name, isDirectory, isFile } of Deno.readDir(folder)) {
    const path = `${folder}/${name}`;
    if (isDirectory) yield* textsIn(path);
    else if (isFile && name !== "secret.key") {
      yield [path, new TextDecoder("latin1").decode(await Deno.readFile(path))];
    }
  }
}

Deno.test("no secret is in a log, an answer, a command line, a step or the data folder", async () => {
  await using folder = await temporaryFolder();
  const secrets = {
    literal: unguessable(),
    variable: unguessable(),
    token: unguessable(),
    jwt: unguessable(),
    query: unguessable(),
    admin: unguessable(),
  };
  await Deno.mkdir(`${folder.path}/p`);
  await Deno.writeTextFile(
    `${folder.path}/p/valohai.yaml`,
    '- step: { name: env, image: i, command: \'env; cat /proc/*/cmdline 2>/dev/null | tr "\\\\0" " "; true\' }\n',
  );
  const hmac = { type: "hmac", algorithm: "sha256", header: "X-S", prefix: "sha256=" };
  const config = {
    projects: [{ name: "p", directory: "./p" }],
    triggers: [{
      id: ID,
      name: "t",
      project: "p",
      conditions: [
        { ...hmac, secrets: [secrets.literal, "{env:THE_SECRET}"] },
        { type: "static_token", in: "header", name: "X-T", secrets: [secrets.token] },
        { type: "static_token", in: "query", name: "q", secrets: [secrets.query] },
        { type: "jwt", algorithms: ["HS256"], secrets: [secrets.jwt] },
        { type: "payload_filter", expression: "headers['x-t'] != 'a' && body.ok" },
      ],
      actions: [{ type: "run_execution", step: "env" }],
      response: { type: "text", text: "{run_id}" },
    }],
  };
  // The configuration file is the operator's own and lies outside of the data folder.
  await Deno.writeTextFile(`${folder.path}/hooklaunch.yaml`, JSON.stringify(config));
  const data = `${folder.path}/data`;
  const env = { THE_SECRET: secrets.variable, HOOKLAUNCH_ADMIN_TOKEN: secrets.admin };
  const flags = ["--config", `${folder.path}/hooklaunch.yaml`, "--data", data];
  const seen: [where: string, text: string][] = [];
  {
    await using service = hooklaunch(
      ["serve", "--port", "0", "--dev", "--log-level", "debug", ...flags],
      env,
    );
    const [, url = ""] = await service.expect(/reached as (http:\/\/127\.0\.0\.1:\d+)/);
    const api = async (path: string) => {
      const headers = { authorization: `Bearer ${secrets.admin}` };
      const text = await (await fetch(`${url}/api/v0/${path}`, { headers })).text();
      seen.push([path, text]);
      return JSON.parse(text);
    };
    await Deno.writeTextFile(`${folder.path}/ok.json`, '{"ok":true}');
    await Deno.writeTextFile(`${folder.path}/no.json`, '{"ok":false}');
    for (const file of ["ok", "no"]) {
      const path = `${folder.path}/${file}.json`;
      const sent = await run(["send", "t", path, "--explain", "--url", url], env);
      assertEquals(sent.code, file === "ok" ? 0 : 1, sent.printed);
      seen.push([`send ${file}`, sent.printed]);
    }
    // Credentials in the wrong places must not be shown either.
    const wrong = await fetch(`${url}/api/v0/launch/${ID}/?q=${secrets.query}`, {
      method: "POST",
      headers: { "x-t": secrets.token, "x-s": secrets.literal, authorization: secrets.jwt },
      body: "{}",
    });
    seen.push(["a refusal", await wrong.text()]);
    const execution = await eventually(async () => {
      const { results: [latest] } = await api("executions/?limit=1");
      return latest?.status === "complete" ? latest : undefined;
    });
    const { results: lines } = await api(`executions/${execution.id}/log/`);
    assertStringIncludes(JSON.stringify(lines), "VH_JOB_ID=");
    for (const path of ["triggers/", `triggers/${ID}/log/`, `triggers/${ID}/runs/`, "projects/"]) {
      await api(path);
    }
    seen.push(["openapi", await (await fetch(`${url}/api/v0/openapi.json`)).text()]);
    const log = await run(["trigger", "log", "t", "--url", url], env);
    seen.push(["trigger log", log.printed]);
    service.child.kill("SIGTERM");
    await service.end();
    seen.push(["the service's log", service.printed()]);
  }
  for await (const found of textsIn(data)) seen.push(found);
  for (const [where, text] of seen) {
    for (const [name, secret] of Object.entries(secrets)) {
      assert(!text.includes(secret), `the secret "${name}" is in ${where}`);
    }
  }
  assert(seen.length > 20, "there was something to look at");
});
