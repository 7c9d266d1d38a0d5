/** The setting `backup` of a hosted service: backups go to a bucket, and where they cannot, it says so. */
import { assertEquals } from "@std/assert";
import { findBackup } from "../../src/backup/find.ts";
import { restore } from "../../src/backup/restore.ts";
import { readHostedConfiguration } from "../../src/hosted/configuration.ts";
import { hostedSettings } from "../../src/hosted/settings.ts";
import { openStore } from "../../src/store/open_store.ts";
import { getStoredTrigger } from "../../src/store/records/triggers.ts";
import { CREDENTIALS, hasNoS3, S3Server } from "../artifacts/s3_server.ts";
import { OPTIONS } from "../backup/fixture.ts";
import { eventually, temporaryFolder } from "../surroundings.ts";
import { makeTrigger, relay } from "./launching.ts";
import { STOP_MS, Timeline } from "./platform.ts";

const AWS = {
  AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId,
  AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey,
};

Deno.test("a hosted service makes its backups to a bucket, and says why it makes none", async () => {
  const cases: [
    text: string,
    variables: Record<string, string>,
    to: string | undefined,
    said: RegExp[],
  ][] = [
    ["backup: { to: s3://bucket/backups }", AWS, "s3://bucket/backups", []],
    ["{ backup: { to: s3://bucket/backups } }", {}, undefined, [/AWS_ACCESS_KEY_ID/]],
    ["backup: { to: /backups }", AWS, undefined, [/backup\.to is \/backups, expected a bucket/]],
    ["triggers: [] # no backup", AWS, undefined, []],
    // What was applied before stays in use, and launches are taken.
    [
      "backup: { to: s3://bucket/backups }\ntriggers: [{ name: x }]",
      AWS,
      "s3://bucket/backups",
      [],
    ],
  ];
  for (const [text, variables, to, said] of cases) {
    const env = (name: string) =>
      name === "HOOKLAUNCH_CONFIG_YAML" ? text : Object(variables)[name];
    const configuration = await readHostedConfiguration(env);
    assertEquals(configuration?.mistake, undefined, text);
    const { notes, service } = hostedSettings(env, configuration);
    assertEquals(service.backup?.to, to, text);
    const found = notes.filter((note) => /^No backups are made: /.test(note));
    assertEquals(found.length, said.length, text);
    for (const [at, pattern] of said.entries()) assertEquals(pattern.test(found[at] ?? ""), true);
  }
  // Where the settings themselves cannot be read, nobody knows where the files are.
  for (const text of ["storage: s3://bucket/a\ntriggers: [", "storage: x\ntriggers: []"]) {
    const unread = await readHostedConfiguration(() => text);
    assertEquals(unread?.mistake === undefined, false, text);
  }
});

Deno.test({
  name:
    "a hosted service makes a backup with the minute's cron, reads it back, and a machine restores it",
  ignore: hasNoS3,
  async fn() {
    await using server = await S3Server.start();
    await using folder = await temporaryFolder();
    const to = server.storage;
    await using timeline = new Timeline({
      ...AWS,
      HOOKLAUNCH_CONFIG_YAML: `backup: { to: "${to}" }\n`,
    });
    const process = await timeline.start();
    const path = await makeTrigger(process, relay(1));
    assertEquals(await process.tick("sweep"), true);
    const backup = await eventually(async () => {
      const { body } = await process.api("GET", "service/");
      return body?.backup?.proof === undefined ? undefined : body.backup;
    }, { what: "a proven backup" });
    assertEquals(backup.failures, []);
    assertEquals([backup.proof.name, backup.proof.read_back], [backup.last.name, true]);
    assertEquals((await process.stop(STOP_MS)).code, 0);

    const { source } = await findBackup(to, (name) => Object(AWS)[name]);
    await restore({ ...OPTIONS, data: folder.path, source });
    await using store = await openStore(folder.path);
    const [, id = ""] = /launch\/([^/]+)/.exec(path) ?? [];
    assertEquals((await getStoredTrigger(store, id))?.id, id);
  },
});
