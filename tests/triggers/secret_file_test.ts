/** Secrets in files: a new secret takes effect without a restart, and a file that is not there is told. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { readSecretFile } from "../../src/platform/files/secret_file.ts";
import { HMAC_CONDITION, signature, startService, TestClock } from "../data.ts";
import { temporaryFolder } from "../surroundings.ts";

Deno.test("a secret in a file is read anew when the file changes", async () => {
  const clock = new TestClock();
  await using folder = await temporaryFolder();
  await using service = await startService({ clock });
  const path = join(folder.path, "secret");
  await Deno.writeTextFile(path, "the-first-secret\n");
  const secrets = [`{file:${path}}`];
  const { url, id } = await service.trigger({ conditions: [{ ...HMAC_CONDITION, secrets }] });
  const send = async (secret: string) => {
    const answer = await fetch(url, { method: "POST", body: "x", headers: signature("x", secret) });
    await answer.body?.cancel();
    return answer.status;
  };
  const both = async () => [await send("the-first-secret"), await send("the-second-secret")];
  assertEquals(await both(), [200, 400]);

  // As a platform does it: another file takes the place of the one before.
  await Deno.writeTextFile(`${path}.new`, "the-second-secret\r\n");
  await Deno.rename(`${path}.new`, path);
  clock.time_ms += 1_000;
  assertEquals(await both(), [400, 200]);

  await Deno.remove(path);
  clock.time_ms += 1_000;
  assertEquals(await both(), [400, 400]);
  const { body: shown } = await service.api("GET", `triggers/${id}/`);
  assertEquals(shown.conditions[0].secrets, secrets);
  assertEquals(shown.warnings, [{
    pointer: "/conditions/0/secrets/0",
    detail: `Matches nothing: the service's file ${path} cannot be read, or is empty`,
  }]);
  const { body: log } = await service.api("GET", `triggers/${id}/log/`);
  assertStringIncludes(log.results[0].reason, `file ${path} cannot be read`);

  await Deno.writeTextFile(path, "the-first-secret");
  clock.time_ms += 1_000;
  assertEquals(await both(), [200, 400]);
});

Deno.test("a trigger is signed for with the secret in its file", async () => {
  await using folder = await temporaryFolder();
  await using service = await startService();
  const path = join(folder.path, "secret");
  await Deno.writeTextFile(path, "a-secret-in-a-file\n");
  const secrets = [{ name: "file", value: `{file:${path}}` }];
  const { id } = await service.trigger({ conditions: [{ ...HMAC_CONDITION, secrets }] });
  const { body } = await service.api("POST", `triggers/${id}/sign/`, { body: "x" });
  assertEquals(body.headers["x-signature"], signature("x", "a-secret-in-a-file")["x-signature"]);
});

Deno.test("what is no file with a secret is none, and nothing waits for it", async () => {
  await using folder = await temporaryFolder();
  const path = (name: string) => join(folder.path, name);
  await Deno.writeTextFile(path("empty"), "");
  await Deno.writeTextFile(path("blank"), " \n");
  await Deno.writeFile(path("large"), new Uint8Array(70_000).fill(65));
  await Deno.mkdir(path("folder"));
  await new Deno.Command("sh", { args: ["-c", `mkfifo "$1"`, "sh", path("pipe")] }).output();
  for (const name of ["empty", "blank", "large", "folder", "pipe", "none"]) {
    assertEquals(readSecretFile(path(name)), undefined, name);
  }
  assertEquals(readSecretFile("/dev/zero"), undefined);
  await Deno.writeTextFile(path("two lines"), "a\nb\n\n");
  assertEquals(readSecretFile(path("two lines")), "a\nb\n");
});

Deno.test("a reference to a file is an absolute path and nothing else", async (t) => {
  await using service = await startService();
  const cases: [secret: string, status: number][] = [
    ["{file:/run/secrets/x}", 201],
    ["{file:relative}", 422],
    ["{file:/run/secrets/}", 422],
    ["{file:}", 422],
    ["x{file:/run/secrets/x}", 422],
  ];
  for (const [index, [secret, status]] of cases.entries()) {
    await t.step(secret, async () => {
      const answer = await service.api("POST", "triggers/", {
        name: `t${index}`,
        project: "files",
        conditions: [{ ...HMAC_CONDITION, secrets: [secret] }],
        actions: [{ type: "run_execution", step: "echo" }],
      });
      assertEquals(answer.status, status, JSON.stringify(answer.body));
      assert(status === 201 || answer.body.errors.length > 0);
    });
  }
});
