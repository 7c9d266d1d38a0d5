/** The triggers of providers.md take what their providers send. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { createHmac } from "node:crypto";
import { has } from "../needs.ts";
import { runPage } from "./page.ts";
import { Terminal } from "./terminal.ts";

Deno.test({
  name: "src/docs/providers.md: its triggers take what their providers send",
  ignore: !has("openssl"),
  async fn(t) {
    await using terminal = await Terminal.afterGettingStarted();
    await runPage(terminal, "src/docs/providers.md");
    const run = async (command: string) => {
      const { code, printed } = await terminal.run(command);
      assertEquals(code, 0, printed);
      return printed;
    };
    const cases: [trigger: string, body: string, headers: string][] = [
      ["github", '{"zen": "Keep it logically awesome."}', "--header 'X-GitHub-Delivery: 1'"],
      ["gitlab", '{"object_kind": "push"}', ""],
      ["slack", '{"event_id": "Ev1"}', ""],
      ["stripe", '{"id": "evt_1", "type": "invoice.paid"}', ""],
      ["shopify", '{"id": 1}', "--header 'X-Shopify-Webhook-Id: 1'"],
      ["standard", '{"type": "user.created"}', ""],
      ["labels", '{"action": "ANNOTATION_CREATED"}', ""],
      ["alerts", '{"status": "firing", "alerts": []}', ""],
      ["acme", "{}", ""],
    ];
    for (const [trigger, body, headers] of cases) {
      await t.step(trigger, async () => {
        await terminal.write("event.json", body);
        assertStringIncludes(await run(`hooklaunch send ${trigger} event.json ${headers}`), "200 ");
      });
    }
    await t.step("a slash command of Slack, whose payload is a form", async () => {
      await terminal.write("command.txt", "command=%2Ftrain&text=mnist");
      const type = "--content-type application/x-www-form-urlencoded";
      assertStringIncludes(await run(`hooklaunch send slack command.txt ${type}`), "200 On it: ");
      const log = await run(
        "hooklaunch execution log -f $(hooklaunch execution list | sed -n '2s/ .*//p')",
      );
      assertStringIncludes(log, "command=%2Ftrain");
    });
    await t.step("what GitHub itself would send", async () => {
      const triggers = JSON.parse(await run("hooklaunch trigger list --json"));
      const github = triggers.find(({ name }: { name: string }) => name === "github");
      assert(github);
      const mac = createHmac("sha256", "a-secret-of-github").update("{}").digest("hex");
      const answer = await fetch(github.url, {
        method: "POST",
        headers: { "x-hub-signature-256": `sha256=${mac}`, "x-github-delivery": "2" },
        body: "{}",
      });
      await answer.body?.cancel();
      assertEquals(answer.status, 200);
    });
  },
});
