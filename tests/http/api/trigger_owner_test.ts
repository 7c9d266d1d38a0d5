/** A trigger keeps who made and changed it, and the configuration file that owns it. */
import { assertEquals, assertMatch } from "@std/assert";
import { ADMIN_TOKEN, startService } from "../../data.ts";
import { runHosted } from "../../commands/hosted.ts";

const ADMIN = "HOOKLAUNCH_ADMIN_TOKEN";

Deno.test("a trigger keeps who made and changed it, and the file that owns it", async (t) => {
  await using service = await startService();
  const { body: ci } = await service.api("POST", "tokens/", { name: "ci", scope: "admin" });
  const patchAs = async (token: string, id: string, patch: unknown) => {
    const answer = await fetch(`${service.url}/api/v0/triggers/${id}/`, {
      method: "PATCH",
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify(patch),
    });
    return await answer.json();
  };
  const hooklaunch = async (...args: string[]) => {
    const ended = await runHosted([...args, "--url", service.url], { [ADMIN]: ADMIN_TOKEN });
    assertEquals(ended.code, 0, ended.printed);
    return ended.printed;
  };
  const { id } = await service.trigger({ name: "hello" });
  const stateOf = async (of = id) => {
    const { body } = await service.api("GET", `triggers/${of}/`);
    const { created_by, updated_by, owner, file, revision } = body;
    return { created_by, updated_by, owner, file, revision };
  };
  const made = { created_by: ADMIN, updated_by: ADMIN, owner: "api", file: undefined, revision: 1 };
  const file = `${service.folder}/hooks.yaml`;
  const inFile = { owner: "file", file };

  await t.step("made by the API, changed by another operator", async () => {
    assertEquals(await stateOf(), made);
    assertEquals((await patchAs(ci.token, id, { enabled: false })).updated_by, "ci");
    assertEquals(await stateOf(), { ...made, updated_by: "ci", revision: 2 });
    // Nothing changes: nobody has changed it.
    await patchAs(ADMIN_TOKEN, id, { enabled: false });
    assertEquals(await stateOf(), { ...made, updated_by: "ci", revision: 2 });
  });
  await t.step("a file takes it over, also as it is", async () => {
    await Deno.writeTextFile(file, await hooklaunch("export"));
    assertMatch(await hooklaunch("apply", file, "--check"), /^Nothing changes/);
    assertEquals(await stateOf(), { ...made, updated_by: "ci", revision: 2 });
    assertMatch(await hooklaunch("apply", file), /trigger hello: unchanged/);
    assertEquals(await stateOf(), { ...made, ...inFile, updated_by: "ci", revision: 2 });
    assertMatch(await hooklaunch("trigger", "list"), /OWNER[^\n]*\n.*\/hooks\.yaml +http/);
    const wide = await hooklaunch("trigger", "list", "-o", "wide");
    assertMatch(
      wide,
      new RegExp(`ID +CREATED +CREATED BY[^\\n]*\\n.* ${id} .* ${ADMIN} .* ci +2\\n`),
    );
    assertMatch(await hooklaunch("trigger", "show", "hello"), /\nowner +\/\S+hooks\.yaml\n/);
  });
  await t.step("a change by the API leaves it to the file", async () => {
    await patchAs(ci.token, id, { enabled: true });
    assertEquals(await stateOf(), { ...made, ...inFile, updated_by: "ci", revision: 3 });
  });
  await t.step("a file makes one", async () => {
    const settings = {
      name: "made",
      project: "files",
      actions: [{ type: "run_execution", step: "echo" }],
    };
    const other = `${service.folder}/other.json`;
    await Deno.writeTextFile(other, JSON.stringify({ triggers: [settings] }));
    await hooklaunch("apply", other);
    const { body: { results: [trigger] } } = await service.api("GET", "triggers/?name=made");
    assertEquals(await stateOf(trigger.id), { ...made, owner: "file", file: other });
    // What was read is written again, and names no owner by itself.
    const { status } = await service.api("PUT", `triggers/${trigger.id}/`, {
      ...trigger,
      file: "x",
    });
    assertEquals(status, 200);
    assertEquals((await stateOf(trigger.id)).file, other);
  });
  await t.step("the audit log tells the owner", async () => {
    const { body } = await service.api("GET", "audit/?operation=replaceTrigger");
    const owners = body.results.flatMap((
      { changes }: { changes: { pointer: string; after: unknown }[] },
    ) => changes.filter(({ pointer }) => pointer === "/file").map(({ after }) => after));
    assertEquals(owners, [file]);
  });
  await t.step("it survives a restart", async () => {
    const before = await stateOf();
    await service.restart();
    assertEquals(await stateOf(), before);
  });
});
