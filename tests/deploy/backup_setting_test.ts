/** The setting `backup` of a hosted service: no backups are made there, and it says so. */
import { assertEquals } from "@std/assert";
import { readHostedConfiguration } from "../../src/hosted/configuration.ts";
import { hostedSettings } from "../../src/hosted/settings.ts";

Deno.test("a hosted service says that it makes no backups", async () => {
  const cases: [text: string, said: number][] = [
    ["backup: { to: s3://bucket/backups }", 1],
    ["{ backup: { to: s3://bucket/backups } }", 1],
    ["triggers: [] # no backup", 0],
  ];
  for (const [text, said] of cases) {
    const env = (name: string) => name === "HOOKLAUNCH_CONFIG_YAML" ? text : undefined;
    const configuration = await readHostedConfiguration(env);
    const { notes } = hostedSettings(env, configuration);
    assertEquals(notes.filter((note) => /^The setting backup /.test(note)).length, said, text);
  }
});
