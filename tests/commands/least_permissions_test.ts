/** A service with the narrow permissions that the documentation prints launches, runs a step, and can do no more. */
import { assert, assertEquals } from "@std/assert";
import { fileURLToPath } from "node:url";
import { eventually, signature, temporaryFolder } from "../data.ts";
import { freePort } from "../surroundings.ts";

const ROOT = new URL("../../", import.meta.url);
const TOKEN = "an-operators-token-1";
const SECRET = "a-secret-of-github";
const ID = "01900000-0000-7000-8000-000000000001";
const PROJECT = `- step:
    name: copy
    image: debian
    command: cp "$VH_INPUTS_DIR"/labels/* "$VH_OUTPUTS_DIR/"
    inputs:
      - name: labels
`;

/** The command of the page, with paths and a port of the test. */
async function commandOf(folder: string, port: number): Promise<string[]> {
  const page = await Deno.readTextFile(new URL("src/docs/security.md", ROOT));
  const [, block = ""] = /```sh not-run\n(deno run [^`]*)```/.exec(page) ?? [];
  const words = block.replaceAll("\\\n", " ").replaceAll("'", "")
    .replaceAll("/opt/hooklaunch", fileURLToPath(ROOT).replace(/\/$/, ""))
    .replaceAll("/var/lib/hooklaunch", `${folder}/data`)
    .replaceAll("/srv/projects", `${folder}/projects`)
    .replaceAll("/etc/hooklaunch.yaml", `${folder}/hooklaunch.yaml`)
    .replaceAll("8080", String(port))
    .trim().split(/\s+/);
  assertEquals(words[0], "deno");
  return words.slice(1);
}

Deno.test("a service with the printed permissions launches and runs a step", async () => {
  await using folder = await temporaryFolder();
  for (const name of ["data", "projects", "projects/p"]) await Deno.mkdir(`${folder.path}/${name}`);
  await Deno.writeTextFile(`${folder.path}/projects/p/valohai.yaml`, PROJECT);
  const trigger = {
    name: "t",
    id: ID,
    project: "p",
    conditions: [{
      ...{ type: "hmac", algorithm: "sha256", header: "X-Signature", prefix: "sha256=" },
      secrets: ["{env:GITHUB_SECRET}"],
    }],
    actions: [{ type: "run_execution", step: "copy", payload_input_name: "labels" }],
  };
  const projects = [{ name: "p", directory: `${folder.path}/projects/p` }];
  const config = JSON.stringify({ projects, triggers: [trigger] });
  await Deno.writeTextFile(`${folder.path}/hooklaunch.yaml`, config);
  const port = freePort();
  const child = new Deno.Command(Deno.execPath(), {
    args: await commandOf(folder.path, port),
    env: { HOOKLAUNCH_ADMIN_TOKEN: TOKEN, GITHUB_SECRET: SECRET, OTEL_DENO_TRACING: "false" },
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const printed = new Response(child.stderr).text();
  let hasEnded = false;
  const ended = child.status.finally(() => hasEnded = true);
  const base = `http://127.0.0.1:${port}`;
  try {
    await eventually(async () => {
      assert(!hasEnded, "the service has ended");
      const answer = await fetch(`${base}/healthz`).catch(() => undefined);
      await answer?.body?.cancel();
      return answer?.ok || undefined;
    }, { what: "the service" });
    const sent = await fetch(`${base}/api/v0/launch/${ID}/`, {
      method: "POST",
      headers: signature("labels", SECRET),
      body: "labels",
    });
    await sent.body?.cancel();
    assertEquals(sent.status, 200);
    const headers = { authorization: `Bearer ${TOKEN}` };
    await eventually(async () => {
      const answer = await fetch(`${base}/api/v0/executions/`, { headers });
      const { results: [execution] } = await answer.json();
      return execution?.status === "complete" ? execution : undefined;
    }, { what: "the execution" });
  } finally {
    if (!hasEnded) child.kill("SIGTERM");
    const { code } = await ended;
    const text = await printed;
    assertEquals(code, 0, text);
    assert(!/"level":"error"/.test(text), text);
  }
});
