import { assertEquals, assertStringIncludes } from "@std/assert";
import { createHmac, randomBytes } from "node:crypto";
import { MAC_BYTES, SIGNATURE_ALGORITHMS } from "../src/conditions/signing/scheme.ts";
import { TIMESTAMP_FORMATS } from "../src/conditions/freshness.ts";
import { run } from "./commands/process.ts";
import { hooklaunch } from "./commands/process.ts";
import { has } from "./needs.ts";
import { temporaryFolder } from "./surroundings.ts";

/** Reads a page of the documentation. */
function page(name: string): Promise<string> {
  return Deno.readTextFile(new URL(`../src/docs/${name}.md`, import.meta.url));
}

/** The code blocks of the pages that begin with the name of a file. */
async function filesOfPages(): Promise<Map<string, string>> {
  const blocks = (await page("getting_started") + await page("providers")).matchAll(
    /```\w+\n(# ([\w./-]+)\n[\s\S]*?)```/g,
  );
  return new Map([...blocks].map(([, text = "", name = ""]) => [name, text]));
}

async function writeFilesOfPages(folder: string): Promise<void> {
  for (const [name, text] of await filesOfPages()) {
    if (name.includes("/")) {
      await Deno.mkdir(`${folder}/${name.split("/")[0]}`, { recursive: true });
    }
    await Deno.writeTextFile(`${folder}/${name}`, text);
  }
}

Deno.test("the documented table of settings has the flags of serve and their defaults", async () => {
  const text = await page("settings");
  const [table = ""] = /\| flag [\s\S]*?\n\n/.exec(text) ?? [];
  const { printed } = await run(["serve", "--help"]);
  const help = printed.replaceAll(/\s+/g, " ");
  const inTable: string[] = [];
  for (const row of table.split("\n").slice(2, -2)) {
    const [, flags = "", defaults = ""] = row.split("|");
    const names = [...flags.matchAll(/`(--[\w-]+)`/g)].map(([, name = ""]) => name);
    const values = [...defaults.matchAll(/`([^`]+)`/g)].map(([, value = ""]) => value);
    inTable.push(...names);
    for (const [index, value] of values.entries()) {
      const [, told = ""] = help.split(` ${names[index]} `);
      const [, found] = /^(?:(?! --).)*?default: "?([^",)]+)/.exec(told) ?? [];
      assertEquals(found, value, names[index]);
    }
  }
  const inHelp = [...printed.matchAll(/^ +(?:-\w, )?(--[\w-]+)/gm)].map(([, name = ""]) => name);
  assertEquals(inTable.toSorted(), inHelp.filter((name) => name !== "--help").toSorted());
  const examples = (await page("operating")).matchAll(/^deno task start (.*(?:\\\n.*)*)$/gm);
  const used = [...examples].flatMap(([, flags = ""]) => flags.match(/--[\w-]+/g) ?? []);
  assertEquals(used.filter((flag) => !inHelp.includes(flag)), []);
});

Deno.test("the documented table of conditions has the names that they take", async () => {
  const text = await page("conditions");
  const names = {
    hmac: Object.keys(MAC_BYTES),
    signature: SIGNATURE_ALGORITHMS,
    timestamp: TIMESTAMP_FORMATS,
  };
  for (const [type, taken] of Object.entries(names)) {
    const [row = ""] = new RegExp(`^\\| \`${type}\` .*$`, "m").exec(text) ?? [];
    assertStringIncludes(row, `(${taken.join(", ")})`);
  }
});

Deno.test({
  name: "the documented unit is one that systemd reads",
  ignore: !has("systemd-analyze"),
  async fn() {
    const text = await page("operating");
    const [, unit = ""] = /```ini\n([\s\S]*?)```/.exec(text) ?? [];
    await using folder = await temporaryFolder();
    const path = `${folder.path}/hooklaunch.service`;
    // Neither the binary nor its user is on this machine.
    await Deno.writeTextFile(
      path,
      unit.replace("/usr/local/bin/hooklaunch", "/bin/true").replace("User=hooklaunch\n", ""),
    );
    const { code, stderr } = await new Deno.Command("sh", {
      args: ["-c", 'exec systemd-analyze verify --man=no "$0"', path],
    }).output();
    const said = new TextDecoder().decode(stderr).split("\n");
    assertEquals([code, said.filter((line) => line.includes(path))], [0, []]);
  },
});

Deno.test("the documented first trigger and senders work as they are printed", async (t) => {
  await using folder = await temporaryFolder();
  await writeFilesOfPages(folder.path);
  const env = {
    HOOKLAUNCH_ADMIN_TOKEN: randomBytes(20).toString("hex"),
    GITHUB_SECRET: randomBytes(20).toString("hex"),
    GITLAB_TOKEN: randomBytes(20).toString("hex"),
    STRIPE_SECRET: `whsec_${randomBytes(16).toString("hex")}`,
    SLACK_SECRET: randomBytes(16).toString("hex"),
    STANDARD_SECRET: `whsec_${randomBytes(32).toString("base64")}`,
  };
  const at = (name: string) => `${folder.path}/${name}`;
  const config = ["--config", at("hooklaunch.yaml"), "--data", at("data")];
  await using service = hooklaunch(["serve", "--dev", "--port", "0", ...config], env);
  const [, url = ""] = await service.expect(/reached as (http:\/\/127\.0\.0\.1:\d+)/);
  const { code, printed } = await run(["apply", at("senders.yaml"), "--url", url], env);
  assertEquals(code, 0, printed);

  const cases: [trigger: string, body: string, headers: string[]][] = [
    ["retrain-on-issue", '{"action": "opened"}', ["X-GitHub-Event: issues"]],
    ["github", '{"zen": "Keep it logically awesome."}', ["X-GitHub-Delivery: 1"]],
    ["gitlab", '{"object_kind": "push"}', []],
    ["stripe", '{"id": "evt_1", "type": "invoice.paid"}', []],
    ["slack", '{"event_id": "Ev1"}', []],
    ["standard-webhooks", '{"type": "user.created"}', []],
  ];
  for (const [trigger, body, headers] of cases) {
    await t.step(trigger, async () => {
      await Deno.writeTextFile(at("event.json"), body);
      const more = headers.flatMap((header) => ["--header", header]);
      const sent = await run(["send", trigger, at("event.json"), "--url", url, ...more], env);
      assertEquals(sent.code, 0, sent.printed);
      assertStringIncludes(sent.printed, "200 ");
    });
  }
  await t.step("what GitHub itself would send", async () => {
    const list = await run(["trigger", "list", "--json", "--url", url], env);
    const trigger = JSON.parse(list.printed).find(({ name }: { name: string }) =>
      name === "github"
    );
    const mac = createHmac("sha256", env.GITHUB_SECRET).update("{}").digest("hex");
    const answer = await fetch(trigger.url, {
      method: "POST",
      headers: { "x-hub-signature-256": `sha256=${mac}`, "x-github-delivery": "2" },
      body: "{}",
    });
    await answer.body?.cancel();
    assertEquals(answer.status, 200);
  });
});
