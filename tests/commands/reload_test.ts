/** A service reads anew what it was started with, and goes on with the last good one after a mistake. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { HMAC_CONDITION, signature, temporaryFolder } from "../data.ts";
import { runHosted } from "./hosted.ts";
import { hooklaunch } from "./process.ts";

const TOKEN = "an-operators-token-for-tests";
const ID = "01900000-0000-7000-8000-000000000001";
const SECRETS = [
  "the-first-of-the-secrets",
  "the-second-of-the-secrets",
  "the-third-of-the-secrets",
];
const pem = (name: string) => new URL(`../http/${name}.pem`, import.meta.url).pathname;

/** The configuration of a trigger whose secret is in a variable. */
function configured(text: string): string {
  const conditions = [{ ...HMAC_CONDITION, secrets: ["{env:HOOK_SECRET}"] }];
  const actions = [{ type: "run_execution", step: "s" }];
  const response = { type: "text", text };
  const triggers = [{ id: ID, name: "t", project: "p", conditions, actions, response }];
  return JSON.stringify({ projects: [{ name: "p", directory: "./p" }], triggers });
}

Deno.test("SIGHUP and `hooklaunch reload`: configuration, variables, secrets and certificate are read anew", async () => {
  await using folder = await temporaryFolder();
  const at = (name: string) => `${folder.path}/${name}`;
  const [config, variables, cert, key] = ["h.yaml", "env", "cert.pem", "key.pem"].map(at) as [
    string,
    string,
    string,
    string,
  ];
  await Deno.mkdir(at("p"));
  await Deno.writeTextFile(
    at("p/valohai.yaml"),
    "- step: { name: s, image: i, command: 'true' }\n",
  );
  await Deno.writeTextFile(config, configured("one"));
  await Deno.writeTextFile(variables, `HOOK_SECRET=${SECRETS[0]}\n`);
  await Deno.copyFile(pem("localhost_cert"), cert);
  await Deno.copyFile(pem("localhost_key"), key);
  const env = { HOOKLAUNCH_ADMIN_TOKEN: TOKEN, HOOKLAUNCH_DATA: at("data") };
  const args = ["--config", config, "--tls-cert", cert, "--tls-key", key];
  await using service = hooklaunch(
    ["serve", "--env-file", variables, "--port", "0", ...args],
    env,
  );
  const [, port] = await service.expect(/Listening on 127\.0\.0\.1 port (\d+)/);
  const url = `https://localhost:${port}/api/v0/launch/${ID}/`;
  const caCerts = ["localhost_ca", "renewed_ca"].map((name) => Deno.readTextFileSync(pem(name)));
  const launch = async (secret = "", authorities = caCerts) => {
    using client = Deno.createHttpClient({ caCerts: authorities });
    const headers = signature("{}", secret);
    const answer = await fetch(url, { method: "POST", body: "{}", headers, client });
    return `${answer.status} ${(await answer.text()).slice(0, 3)}`;
  };
  /** Has the service read everything anew, by a signal. Answers what it says of that. */
  const reloadBySignal = async () => {
    const before = service.printed().length;
    service.child.kill("SIGHUP");
    const ended = /certificate (?:un)?changed|the certificate anew/;
    await service.expect(new RegExp(`^[^]{${before},}(?:${ended.source})`));
    return service.printed().slice(before);
  };
  /** The same by the command. */
  const reload = async (code: number) => {
    const ran = await runHosted(["reload"], env);
    assertEquals(ran.code, code, ran.printed);
    return ran.printed;
  };
  assertEquals(await launch(SECRETS[0]), "200 one");
  assertEquals(await launch(SECRETS[1]), '400 {"t');

  // A variable alone: nothing else drops the secret that the trigger was prepared with.
  await Deno.writeTextFile(variables, `HOOK_SECRET=${SECRETS[2]}\n`);
  assertMatch(await reload(0), /configuration:? unchanged/);
  assertEquals(await launch(SECRETS[2]), "200 one");
  assertEquals(await launch(SECRETS[0]), '400 {"t');

  // All of it is new.
  await Deno.writeTextFile(config, configured("two"));
  await Deno.writeTextFile(variables, `HOOK_SECRET=${SECRETS[1]}\n`);
  await Deno.copyFile(pem("renewed_cert"), cert);
  await Deno.copyFile(pem("renewed_key"), key);
  const said = await reloadBySignal();
  assertStringIncludes(said, "HOOK_SECRET");
  assertStringIncludes(said, "trigger t updated");
  assertEquals(await launch(SECRETS[1], caCerts.slice(1)), "200 two");
  assertEquals(await launch(SECRETS[0]), '400 {"t');

  // Each mistake keeps the last good one, and is told.
  await Deno.writeTextFile(config, "triggers: [{ name: 1 }]");
  await Deno.writeTextFile(variables, "OTHER=x\n");
  await Deno.writeTextFile(cert, "no certificate");
  for (const mistakes of [await reloadBySignal(), await reload(1)]) {
    assertMatch(
      mistakes,
      /environment.*(?:kept|anew).*t \/conditions\/0\/secrets\/0 HOOK_SECRET/,
    );
    assertMatch(mistakes, /configuration.*(?:kept|anew).*\/triggers\/0/);
    assertMatch(mistakes, /certificate.*(?:kept|anew)/);
  }
  assertEquals(await launch(SECRETS[1], caCerts.slice(1)), "200 two");

  // What is mended counts again.
  await Deno.writeTextFile(config, configured("six"));
  await Deno.writeTextFile(variables, `HOOK_SECRET=${SECRETS[2]}\n`);
  await Deno.copyFile(pem("renewed_cert"), cert);
  await reload(0);
  assertEquals(await launch(SECRETS[2], caCerts.slice(1)), "200 six");
  assertEquals(await launch(SECRETS[1]), '400 {"t');
  for (const secret of SECRETS) assert(!service.printed().includes(secret));
  service.child.kill("SIGTERM");
  assertEquals((await service.end()).code, 0, service.printed());
});
