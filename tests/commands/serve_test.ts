import {
  assert,
  assertEquals,
  assertMatch,
  assertNotMatch,
  assertStringIncludes,
} from "@std/assert";
import { newId } from "../../src/platform/ids.ts";
import { executionWrites, getExecution } from "../../src/store/records/executions.ts";
import { keys } from "../../src/store/keys.ts";
import { openStore } from "../../src/store/open_store.ts";
import { eventually, HMAC_CONDITION, SECRET, signature, temporaryFolder } from "../data.ts";
import { executionOf } from "../store/execution.ts";
import { runHosted as run } from "./hosted.ts";
import { hooklaunch, HOOKLAUNCH_LINE } from "./process.ts";

const TOKEN = "an-operators-token-for-tests";
const ID = "01900000-0000-7000-8000-000000000001";

/** A folder with a project and a configuration file. */
async function configured(
  triggers: unknown[] = [{
    id: ID,
    name: "t",
    project: "p",
    actions: [{ type: "run_execution", step: "s" }],
  }],
  command = "true",
) {
  const folder = await temporaryFolder();
  await Deno.mkdir(`${folder.path}/p`);
  await Deno.writeTextFile(
    `${folder.path}/p/valohai.yaml`,
    `- step: { name: s, image: i, command: '${command}' }\n`,
  );
  const config = `${folder.path}/hooklaunch.yaml`;
  await Deno.writeTextFile(
    config,
    JSON.stringify({ projects: [{ name: "p", directory: "./p" }], triggers }),
  );
  const args = [
    "serve",
    "--port",
    "0",
    "--data",
    `${folder.path}/data`,
    "--config",
    config,
    "--dev",
  ];
  return { folder, config, args };
}

/** A certificate and its key, as the tests of HTTPS have them, the key of no certificate, and nothing. */
async function pemFiles(folder: string) {
  const at = (name: string) => new URL(`../http/${name}`, import.meta.url).pathname;
  const algorithm = { name: "ECDSA", namedCurve: "P-256" };
  const { privateKey } = await crypto.subtle.generateKey(algorithm, true, ["sign"]);
  const other = new Uint8Array(await crypto.subtle.exportKey("pkcs8", privateKey)).toBase64();
  const [otherKey, empty] = [`${folder}/other_key.pem`, `${folder}/empty.pem`];
  await Deno.writeTextFile(
    otherKey,
    `-----BEGIN PRIVATE KEY-----\n${other}\n-----END PRIVATE KEY-----\n`,
  );
  await Deno.writeTextFile(empty, "");
  return { cert: at("localhost_cert.pem"), key: at("localhost_key.pem"), otherKey, empty };
}

Deno.test("serve applies its configuration, listens, and stops with 0 on SIGTERM and SIGINT", async (t) => {
  const triggers = ["open", "signed"].map((name) => ({
    name,
    project: "p",
    conditions: name === "signed" ? [HMAC_CONDITION] : [],
    actions: [{ type: "run_execution", step: "s" }],
  }));
  const { folder, args } = await configured(triggers);
  await using _folder = folder;
  const paths: string[] = [];
  const cases = [["SIGTERM", "created"], ["SIGINT", "unchanged"]] as const;
  for (const [signal, outcome] of cases) {
    await t.step(`${signal}, with what is ${outcome}`, async () => {
      const env = { HOOKLAUNCH_DEV: "false", HOOKLAUNCH_ADMIN_TOKEN: TOKEN };
      await using service = hooklaunch(args, env);
      const [, url] = await service.expect(/reached as (http:\/\/127\.0\.0\.1:\d+)/);
      // The flag counts, and not the variable.
      await service.expect(/Accepting plain HTTP[^]*Java.s HttpClient asks for it/);
      for (const name of ["project p", "trigger open", "trigger signed"]) {
        assertStringIncludes(service.printed(), `${name}: ${outcome}`);
        // By the names that all other lines have for what they are about.
        const [kind, its] = name.split(" ");
        assertStringIncludes(service.printed(), `"${kind}":"${its}","outcome":"${outcome}"`);
      }
      const list = await fetch(`${url}/api/v0/triggers/`, {
        headers: { authorization: `Bearer ${TOKEN}` },
      });
      const { results } = await list.json();
      paths.push(...results.map(({ url }: { url: string }) => new URL(url).pathname).sort());
      for (const trigger of results) {
        const headers = trigger.name === "signed" ? signature("x") : {};
        const answer = await fetch(trigger.url, { method: "POST", body: "x", headers });
        assertEquals([answer.status, await answer.text()], [200, '{"status":"accepted"}']);
      }
      const second = await run(args, env);
      assertMatch(
        second.printed,
        /another Hooklaunch process is using it.* wait for its end with --wait/,
      );
      assertEquals(second.code, 1, second.printed);
      assert(!second.printed.includes("    at "), `no stack trace: ${second.printed}`);
      service.child.kill(signal);
      assertEquals((await service.end()).code, 0, service.printed());
      // Nothing was asked for beyond what is always told.
      assertNotMatch(service.printed(), /"level":"debug"/);
      assert(!service.printed().includes(SECRET));
    });
  }
  assertEquals(paths.slice(0, 2), paths.slice(2), "the launch URLs are permanent");
});

Deno.test("serve takes its configuration through a pipe, its folders from the current one", async () => {
  const { folder, config } = await configured();
  await using _folder = folder;
  const here = `${folder.path}/p`;
  const text = JSON.stringify({ projects: [{ name: "piped", directory: "../p" }] });
  await Deno.writeTextFile(config, text);
  const data = `${folder.path}/data`;
  const line = `exec ${HOOKLAUNCH_LINE} serve --port 0 --data "$0" --config <(cat "$1")`;
  const service = new Deno.Command("bash", {
    args: ["-c", line, data, config],
    env: { HOOKLAUNCH_ADMIN_TOKEN: TOKEN, HOOKLAUNCH_DEV: "true" },
    cwd: here,
    stderr: "piped",
  }).spawn();
  let printed = "";
  for await (const text of service.stderr.pipeThrough(new TextDecoderStream())) {
    printed += text;
    if (/reached as .*\n/.test(printed)) break;
  }
  const [, url] = /reached as (http:\/\/127\.0\.0\.1:\d+)/.exec(printed) ?? [];
  const headers = { authorization: `Bearer ${TOKEN}` };
  const project = await (await fetch(`${url}/api/v0/projects/piped/`, { headers })).json();
  service.kill("SIGKILL");
  await service.status;
  assertEquals(project.directory, here);
});

Deno.test("a client that never reads its answer does not keep the service from ending", async () => {
  const { folder, args } = await configured();
  await using _folder = folder;
  await using service = hooklaunch([...args, "--stop-timeout", "1"], {
    HOOKLAUNCH_ADMIN_TOKEN: TOKEN,
  });
  const [, port = ""] = await service.expect(/reached as http:\/\/127\.0\.0\.1:(\d+)/);
  const launch = await fetch(`http://127.0.0.1:${port}/api/v0/launch/${ID}/`, {
    method: "POST",
    body: new Uint8Array(8 * 1024 * 1024),
  });
  await launch.body?.cancel();
  const headers = { authorization: `Bearer ${TOKEN}` };
  const runs = await fetch(`http://127.0.0.1:${port}/api/v0/triggers/${ID}/runs/`, { headers });
  const { results: [{ id }] } = await runs.json();
  using connection = await Deno.connect({ port: Number(port) });
  const request = `GET /api/v0/runs/${id}/payload/ HTTP/1.1\r\nhost: x\r\n` +
    `authorization: Bearer ${TOKEN}\r\n\r\n`;
  await connection.write(new TextEncoder().encode(request));
  // The beginning of the answer has come, and the rest of it waits in the service.
  await connection.read(new Uint8Array(64));
  service.child.kill("SIGTERM");
  await service.expect(/Stopped/, 20_000);
  assertEquals((await service.end()).code, 0, service.printed());
});

Deno.test("the periodic work is registered, runs, and does not keep the service from stopping", async () => {
  const { folder, args } = await configured();
  await using _folder = folder;
  {
    await using store = await openStore(`${folder.path}/data`);
    const old = { id: newId(Date.now() - 2 * 86_400_000), status: "complete" } as const;
    await store.committer.write(executionWrites(executionOf(old)));
  }
  // Makes each cron fire that many milliseconds from its registration.
  const soon = {
    DENO_CRON_TEST_SCHEDULE_OFFSET: "200",
    HOOKLAUNCH_ADMIN_TOKEN: TOKEN,
    HOOKLAUNCH_DEV: "false",
  };
  const closed = args.filter((each) => each !== "--dev");
  await using service = hooklaunch([...closed, "--retention-days", "1"], soon);
  await service.expect(
    /Removed 0 runs from lists, 0 runs, 0 pipelines, 1 executions, 0 HTTP requests, 0 log entries, 0 audit entries, 0 uploads/,
  );
  {
    using kv = await Deno.openKv(`${folder.path}/data/hooklaunch.kv`);
    const left = keys.pending(newId(Date.now()), ID);
    await kv.set(left, "damaged");
    const isTaken = async () => (await kv.get(left)).versionstamp === null || undefined;
    await eventually(isTaken, { what: "that a run that is left behind is taken up" });
  }
  await service.expect(/The service refuses every request/);
  service.child.kill("SIGTERM");
  assertEquals((await service.end()).code, 0, service.printed());
});

Deno.test("serve holds what its variables and flags say, and a stop lets a running execution end", async () => {
  const command =
    "until [ -e ../../../../go ]; do sleep 0.05; done; echo done > $VH_OUTPUTS_DIR/out";
  const { folder, args } = await configured(undefined, command);
  await using _folder = folder;
  const flags = [...args.filter((each) => each !== "--dev"), "--max-executions", "1"];
  await using service = hooklaunch(flags, {
    HOOKLAUNCH_ADMIN_TOKEN: TOKEN,
    HOOKLAUNCH_TRUSTED_PROXY: "10.0.0.1, 127.0.0.1",
    HOOKLAUNCH_MAX_PAYLOAD: "1k",
    HOOKLAUNCH_PUBLIC_URL: "https://hooks.example.com",
  });
  const [, port] = await service.expect(
    /port (\d+)[^]* reached as https:\/\/hooks\.example\.com/,
  );
  const url = `http://127.0.0.1:${port}`;
  const headers = { authorization: `Bearer ${TOKEN}`, "x-forwarded-proto": "https" };
  const launch = async (size: number) => {
    const body = new Uint8Array(size);
    const answer = await fetch(`${url}/api/v0/launch/${ID}/`, { method: "POST", headers, body });
    await answer.body?.cancel();
    return answer.status;
  };
  assertEquals([await launch(1_024), await launch(1_025), await launch(1)], [200, 413, 200]);
  const statuses = async (): Promise<string[]> => {
    const { results } = await (await fetch(`${url}/api/v0/executions/`, { headers })).json();
    return results.map(({ status }: { status: string }) => status).sort();
  };
  await eventually(async () => (await statuses()).includes("started") || undefined);
  await eventually(async () => (await statuses()).length === 2 || undefined);
  assertEquals(await statuses(), ["queued", "started"]);
  const started = await (await fetch(`${url}/api/v0/executions/?status=started`, { headers }))
    .json();
  service.child.kill("SIGTERM");
  await service.expect(/Stopping after/);
  await Deno.writeTextFile(`${folder.path}/go`, "");
  assertEquals((await service.end()).code, 0, service.printed());
  const id = started.results[0]?.id;
  {
    await using store = await openStore(`${folder.path}/data`);
    const { status } = await getExecution(store, id) ?? {};
    assertEquals(status, "complete", "the service has waited for its end");
  }
  const out = await Deno.readTextFile(`${folder.path}/data/executions/${id}/outputs/out`);
  assertEquals(out, "done\n");
  assertNotMatch(service.printed(), /Launch URLs begin/);
});

Deno.test("serve takes a renewed certificate up by itself", async () => {
  const { folder, args } = await configured();
  await using _folder = folder;
  const at = (name: string) => `${folder.path}/${name}.pem`;
  const copy = async (from: string) => {
    for (const name of ["cert", "key"]) {
      await Deno.copyFile(new URL(`../http/${from}_${name}.pem`, import.meta.url), at(name));
    }
  };
  await copy("localhost");
  const flags = [...args.filter((each) => each !== "--dev"), "--tls-cert", at("cert")];
  const env = { DENO_CRON_TEST_SCHEDULE_OFFSET: "200", HOOKLAUNCH_ADMIN_TOKEN: TOKEN };
  await using service = hooklaunch([...flags, "--tls-key", at("key")], env);
  const [, port] = await service.expect(/reached as https:\/\/127\.0\.0\.1:(\d+)/);
  await service.expect(/Set --public-url/);
  await copy("renewed");
  await service.expect(/Serving the renewed certificate/);
  const ca = await Deno.readTextFile(new URL("../http/renewed_ca.pem", import.meta.url));
  using client = Deno.createHttpClient({ caCerts: [ca] });
  const url = `https://localhost:${port}/api/v0/launch/${ID}/`;
  const answer = await fetch(url, { method: "POST", client });
  assertEquals([answer.status, await answer.text()], [200, '{"status":"accepted"}']);
});

Deno.test("serve refuses what cannot work, says why, and ends with 1", async (t) => {
  const { folder, config, args } = await configured();
  await using _folder = folder;
  await Deno.mkdir(`${folder.path}/odd/hooklaunch.kv`, { recursive: true });
  using busy = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const pem = await pemFiles(folder.path);
  const cases: [name: string, args: string[], env: Record<string, string>, says: RegExp][] = [
    ["port", ["serve", "--port", "http"], {}, /whole number from 0 to 65535/],
    ["unknown flag", ["serve", "--prot", "1"], {}, /unknown option '--prot'.*--port/s],
    ["variable", ["serve"], { HOOKLAUNCH_PORT: "x" }, /HOOKLAUNCH_PORT.*whole number/s],
    ["dev elsewhere", [...args, "--host", "0.0.0.0"], {}, /--dev: .*loopback/],
    ["dev in other words", ["serve"], { HOOKLAUNCH_DEV: "1" }, /_DEV: Expected true or false/],
    ["half of TLS", ["serve", "--tls-cert", "x.pem"], {}, /both --tls-cert and --tls-key/],
    [
      "no certificate",
      ["serve", "--tls-cert", "x.pem", "--tls-key", "y.pem"],
      {},
      /Cannot read x.pem/,
    ],
    [
      "no certificate in the file",
      [...args, "--tls-cert", pem.key, "--tls-key", pem.key],
      {},
      /--tls-cert: .*Expected a file with certificates in PEM/,
    ],
    [
      "no key in the file",
      [...args, "--tls-cert", pem.cert, "--tls-key", pem.cert],
      {},
      /--tls-key: .*Expected a file with a private key in PEM/,
    ],
    [
      "an empty key",
      [...args, "--tls-cert", pem.cert, "--tls-key", pem.empty],
      {},
      /--tls-key: .*Expected a file with a private key in PEM/,
    ],
    [
      "the key of another certificate",
      [...args, "--tls-cert", pem.cert, "--tls-key", pem.otherKey],
      {},
      /--tls-key: .*Expected the private key of --tls-cert, found the key of another/,
    ],
    [
      "port in use",
      [...args, "--port", String(busy.addr.port)],
      {},
      /--port: .*free on 127\.0\.0\.1, found \d+, which another process listens on/,
    ],
    [
      "unknown host",
      ["serve", "--host", "nowhere.invalid"],
      {},
      /--host: .*address of this machine.*found "nowhere.invalid"/,
    ],
    [
      "malformed host",
      ["serve", "--host", "http://127.0.0.1"],
      {},
      /--host: .*address of this machine.*found "http:\/\/127.0.0.1"/,
    ],
    [
      "another machine's address",
      // Of those for documentation, RFC 5737.
      ["serve", "--host", "192.0.2.1"],
      {},
      /--host: .*address of this machine.*found "192.0.2.1"/,
    ],
    ["a file as data", ["serve", "--data", config], {}, /--data: .*folder.*hooklaunch.yaml"/],
    ["data below a file", ["serve", "--data", `${config}/x`], {}, /--data: .*folder.*yaml\/x"/],
    ...[["serve"], ["restore", "nowhere"]].map((command): typeof cases[number] => [
      `empty data of ${command[0]}`,
      [...command, "--data", ""],
      {},
      /option '--data <folder>' argument '' is invalid. Expected a value, found nothing/,
    ]),
    [
      "data where nobody may write",
      ["serve", "--data", "/proc/hooklaunch"],
      {},
      /--data: .*folder.*found "\/proc\/hooklaunch"/,
    ],
    [
      "a database that is a folder",
      ["serve", "--data", `${folder.path}/odd`],
      {},
      /--data: .*folder.*\/odd"/,
    ],
    ["proxy", ["serve", "--trusted-proxy", "10.0.0.0/33"], {}, /found "10.0.0.0\/33"/],
    ...[
      "hooks.example.com",
      "https://h.example/?a",
      "https://h.example/#a",
      "https://a:b@h.example",
    ]
      .map((url): typeof cases[number] => [
        `public URL ${url}`,
        ["serve", "--public-url", url],
        {},
        /--public-url: .*Expected a URL such as https:\/\/hooks.example.com, without a query/,
      ]),
    ["password", ["serve", "--public-url", "https://a:b@h"], {}, /"https:\/\/\*{3}@h"/],
    ["short token", ["serve"], { HOOKLAUNCH_ADMIN_TOKEN: "short" }, /HOOKLAUNCH_ADMIN_TOKEN.*16/],
    ["bad key", [...args], { HOOKLAUNCH_SECRET_KEY: "abc" }, /32 bytes.*openssl rand/],
    ["no file", ["serve", "--config", "nowhere.yaml"], {}, /file: Cannot read nowhere.yaml/],
    ["unknown command", ["srve"], {}, /unknown command 'srve'.*serve/s],
  ];
  for (const [name, args, env, says] of cases) {
    await t.step(name, async () => {
      const data = `${folder.path}/data`;
      const all = { HOOKLAUNCH_ADMIN_TOKEN: TOKEN, HOOKLAUNCH_DATA: data, ...env };
      const { code, printed } = await run(args, all);
      assertMatch(printed, says);
      assertEquals(code, 1, printed);
      assert(!printed.includes("    at "), `no stack trace: ${printed}`);
    });
  }
  await t.step("a configuration file, with line, column and field", async () => {
    await Deno.writeTextFile(
      config,
      [
        "projects:",
        "  - name: p",
        "    directory: ./p",
        "triggers:",
        "  - name: t",
        "    project: p",
        "    conditions:",
        "      - type: rate_limit",
        "        period: soon",
        "        quota: 5",
        "        extra: 1",
        "    actions: []",
      ].join("\n"),
    );
    // An earlier configuration was applied here, with which the service would start.
    const { code, printed } = await run([...args, "--strict"]);
    assertEquals(code, 1);
    assertStringIncludes(
      printed,
      '/triggers/0/conditions/0/period: line 9, column 9: Expected a number, found "soon"',
    );
    assertStringIncludes(
      printed,
      "/triggers/0/conditions/0/extra: line 11, column 9: Unknown field",
    );
    assertStringIncludes(
      printed,
      "/triggers/0/actions: line 12, column 5: Expected at least 1 element",
    );
    assertMatch(
      printed,
      /^hooklaunch: Cannot accept .*hooklaunch\.yaml:\n( {2}\/triggers\/0.*\n){3}$/,
    );
  });
});

/** All variables of `serve`, without a value. */
const EMPTY = Object.fromEntries(
  [
    ..."HOST CONFIG TLS_CERT TLS_KEY TRUSTED_PROXY PUBLIC_URL KV DEV PORT DATA".split(" "),
    ..."MAX_PAYLOAD RETENTION_DAYS MAX_EXECUTIONS STOP_TIMEOUT ADMIN_TOKEN".split(" "),
    ..."SECRET_KEY LOG_FORMAT LOG_LEVEL".split(" "),
  ].map((name) => [`HOOKLAUNCH_${name}`, ""]),
);

Deno.test("serve says which secrets it cannot read, and goes on", async (t) => {
  const made = { project: "p", actions: [{ type: "run_execution", step: "s" }] };
  const unset = { ...HMAC_CONDITION, secrets: ["{env:HOOKLAUNCH_TEST_UNSET}"] };
  const { folder, args } = await configured([
    { ...made, name: "signed", conditions: [HMAC_CONDITION] },
    { ...made, name: "unset", conditions: [unset] },
    { ...made, name: "open" },
  ]);
  await using _ = folder;
  const place = "/conditions/0/secrets/0";
  const cases: [name: string, args: string[], env: Record<string, string>, says: RegExp[]][] = [
    [
      "a variable that is empty counts as not set",
      args,
      EMPTY,
      [RegExp(`trigger unset: ${place}: Matches nothing: `)],
    ],
    [
      "with another key than before, it says how many triggers cannot be launched",
      [
        ...args.toSpliced(5, 3),
        ...["--trusted-proxy", "127.0.0.1", "--host", "localhost"],
      ],
      { HOOKLAUNCH_SECRET_KEY: "22".repeat(32) },
      [
        /Launch URLs begin with http:\/\/localhost:\d+, .* --public-url/,
        /1 of 3 triggers refuse every request: this key cannot decrypt their secrets/,
        /1 of 3 checked triggers have secrets in environment variables/,
      ],
    ],
  ];
  for (const [name, args, env, says] of cases) {
    await t.step(name, async () => {
      await using service = hooklaunch(args, env);
      await service.expect(/Listening on \S+ port/);
      await service.expect(RegExp(`: unset ${place} HOOKLAUNCH_TEST_UNSET`));
      for (const each of says) await service.expect(each);
      service.child.kill("SIGTERM");
      assertEquals((await service.end()).code, 0);
      if (env === EMPTY) assertNotMatch(service.printed(), /cannot decrypt/);
    });
  }
});
