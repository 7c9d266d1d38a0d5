/**
 * What goes to an OpenTelemetry collector: a real process exports to one that keeps everything that it
 * gets, and none of it holds a secret, though senders put theirs into queries, paths and headers.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { randomBytes } from "node:crypto";
import { hooklaunch } from "../commands/process.ts";
import { eventually, temporaryFolder } from "../surroundings.ts";
import { collect } from "./collector.ts";

const ID = "01900000-0000-7000-8000-00000000abcd";

function unguessable(): string {
  return randomBytes(18).toString("hex");
}

Deno.test("no trace, log or metric that is exported holds a secret", async () => {
  await using folder = await temporaryFolder();
  await using collector = collect();
  const secrets = {
    query: unguessable(),
    header: unguessable(),
    misplaced: unguessable(),
    jwks: unguessable(),
    repository: unguessable(),
    state: unguessable(),
  };
  const action = { type: "fetch_repository" };
  const token = { type: "static_token", in: "query", name: "key", secrets: [secrets.query] };
  const keys = `https://127.0.0.1:1/keys?key=${secrets.jwks}`;
  const config = {
    projects: [{ name: "p", repository: "https://user:{env:GIT_TOKEN}@127.0.0.1:1/p.git" }],
    triggers: [
      { id: ID, name: "by-query", project: "p", conditions: [token], actions: [action] },
      {
        id: ID.replace("abcd", "abce"),
        name: "by-keys",
        project: "p",
        conditions: [{
          type: "jwt",
          algorithms: ["RS256"],
          jwks_url: keys,
          private_networks: true,
        }],
        actions: [action],
      },
    ],
  };
  await Deno.writeTextFile(`${folder.path}/hooklaunch.yaml`, JSON.stringify(config));
  const env = {
    ...collector.env,
    OTEL_DENO_TRACING: "false",
    GIT_TOKEN: secrets.repository,
  };
  const flags = ["--data", `${folder.path}/data`, "--config", `${folder.path}/hooklaunch.yaml`];
  await using service = hooklaunch(
    ["serve", "--port", "0", "--dev", "--log-level", "debug", ...flags],
    env,
  );
  const [, url = ""] = await service.expect(/reached as (http:\/\/127\.0\.0\.1:\d+)/);
  const [, file = ""] = await service.expect(/operators' token is in (\S+), which/);
  const first = (await Deno.readTextFile(file)).trim();
  const launch = `${url}/api/v0/launch/${ID}/`;
  const post = async (to: string, headers: Record<string, string> = {}) => {
    const answer = await fetch(to, { method: "POST", headers, body: "{}" });
    await answer.body?.cancel();
    return answer.status;
  };
  assertEquals(await post(`${launch}?key=${secrets.query}`), 200);
  assertEquals(await post(`${launch}?key=${secrets.misplaced}`), 400);
  assertEquals(await post(launch, { authorization: `Bearer ${secrets.header}` }), 400);
  const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const strange = { traceparent: parent, tracestate: `a=${secrets.state}`, baggage: secrets.state };
  assertEquals(await post(`${launch}run/?key=${secrets.query}&run_id=${ID}`, strange), 404);
  const unknown = { authorization: "Bearer eyJhbGciOiJSUzI1NiIsImtpZCI6ImEifQ.e30.c2ln" };
  assertEquals(await post(launch.replace("abcd", "abce"), unknown), 400);
  const headers = { authorization: `Bearer ${first}` };
  const listed = await fetch(`${url}/api/v0/triggers/?limit=1`, { headers });
  assertStringIncludes(await listed.text(), ID);
  await service.expect(/fetch_repository failed: /);
  await eventually(() => collector.got.has("/v1/metrics") ? true : undefined);
  service.child.kill("SIGTERM");
  await service.end();

  const traces = collector.got.get("/v1/traces") ?? "";
  assertStringIncludes(traces, '"POST /api/v0/launch/{trigger_id}/"');
  assertStringIncludes(traces, '"POST /api/v0/launch/{trigger_id}/run/"');
  assertStringIncludes(traces, '"by-query"');
  // What a sender says of its trace besides the ids is among the secrets.
  assertStringIncludes(traces, "0af7651916cd43dd8448eb211c80319c");
  // Where nothing else is asked for, the id in the URL is what it takes to launch.
  assert(!traces.includes(ID), "a trace holds the URL of a trigger");
  assertStringIncludes(collector.got.get("/v1/logs") ?? "", "Listening on");
  assertStringIncludes(collector.got.get("/v1/metrics") ?? "", "http.server.request.duration");
  for (const [path, text] of collector.got) {
    for (const [name, secret] of Object.entries({ ...secrets, first })) {
      assert(!text.includes(secret), `the secret "${name}" is in what was sent to ${path}`);
    }
  }
});

const SEVERITIES: Record<string, string[]> = {
  // Only these two print to standard error, and what is printed is sent.
  capture: ["WARN debug", "WARN info", "WARN warning", "ERROR error"],
  replace: ["DEBUG debug", "INFO info", "WARN warning", "ERROR error"],
};

for (const [mode, expected] of Object.entries(SEVERITIES)) {
  Deno.test(`a collector is told how severe each line is, where the console is to ${mode}`, async () => {
    await using folder = await temporaryFolder();
    await using collector = collect();
    const at = (name: string) => `${folder.path}/${name}.pem`;
    for (const name of ["cert", "key"]) {
      await Deno.copyFile(new URL(`../http/localhost_${name}.pem`, import.meta.url), at(name));
    }
    await Deno.mkdir(`${folder.path}/p`);
    await Deno.writeTextFile(`${folder.path}/p/valohai.yaml`, "[]");
    const config = {
      projects: [{ name: "p", directory: `${folder.path}/p` }],
      triggers: [{
        id: ID,
        name: "t",
        project: "p",
        actions: [{ type: "http_request", url: "{body.none}" }],
      }],
    };
    await Deno.writeTextFile(`${folder.path}/hooklaunch.yaml`, JSON.stringify(config));
    const data = ["--data", `${folder.path}/data`, "--config", `${folder.path}/hooklaunch.yaml`];
    const flags = ["--port", "0", ...data, "--log-level", "debug"];
    const tls = ["--tls-cert", at("cert"), "--tls-key", at("key")];
    const ca = new URL("../http/localhost_ca.pem", import.meta.url).pathname;
    const env = {
      ...collector.env,
      OTEL_DENO_CONSOLE: mode,
      OTEL_DENO_TRACING: "false",
      DENO_CRON_TEST_SCHEDULE_OFFSET: "200",
      DENO_CERT: ca,
      HOOKLAUNCH_ADMIN_TOKEN: unguessable(),
    };
    await using service = hooklaunch(["serve", ...flags, ...tls], env);
    const [, port] = await service.expect(/Listening on \S+ port (\d+)/);
    const caCerts = [await Deno.readTextFile(ca)];
    using client = Deno.createHttpClient({ caCerts });
    const launch = `https://localhost:${port}/api/v0/launch/${ID}/`;
    const launched = await fetch(launch, { method: "POST", body: "{}", client });
    assertEquals(launched.status, 200, await launched.text());
    // What somebody is shown is no line of the log: it is printed, and with `replace` it is not sent.
    const list = ["token", "list", "--url", `https://localhost:${port}`, "--json"];
    await using command = hooklaunch(list, env);
    assertEquals((await command.end()).code, 0, command.printed());
    assertStringIncludes(command.printed(), "[]");
    await Deno.writeTextFile(at("cert"), "half of a certif");
    await service.expect(/Cannot serve the renewed certificate/);
    service.child.kill("SIGTERM");
    await service.end();
    const logs = collector.got.get("/v1/logs") ?? "";
    const severities = [
      ...logs.matchAll(/"severityText":\s*"(\w+)"[^]*?"stringValue":\s*"(.*?[^\\])"/g),
    ].map(([, severity, text = ""]) =>
      [severity, /"level\\":\\"(\w+)/.exec(text)?.[1] ?? text].join(" ")
    );
    const isOfLog = (text: string) => / (debug|info|warning|error)$/.test(text);
    assertEquals(new Set(severities.filter(isOfLog)), new Set(expected));
    if (mode === "replace") assertEquals(severities.filter((each) => !isOfLog(each)), []);
  });
}

Deno.test("while Deno makes spans by itself, the service does not start, and says what to do", async () => {
  await using folder = await temporaryFolder();
  await using collector = collect();
  await using service = hooklaunch(
    ["serve", "--port", "0", "--dev", "--data", `${folder.path}/data`],
    collector.env,
  );
  assertEquals((await service.end()).code, 1);
  assertStringIncludes(service.printed(), "OTEL_DENO_TRACING");
  assert(!service.printed().includes("Listening on"));
});
