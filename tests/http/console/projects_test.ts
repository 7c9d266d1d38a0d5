/** The pages of projects and engines over HTTP. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { startService } from "../../data.ts";
import { GitFixture } from "../../projects/code/git_fixture.ts";
import { launchCommand } from "../api/fixture.ts";
import { loggedIn, textOf } from "./fixture.ts";

const HOSTILE = `"><script>alert(1)</script>`;

Deno.test("a project's page has its steps and pipelines, or the problems of its file with lines", async (t) => {
  await using service = await startService();
  const browser = await loggedIn(service);
  const csrf = await browser.csrf();
  await t.step("steps and inputs", async () => {
    const seen = textOf(await browser.get("projects/files"));
    for (const part of ["ready", "copy labels", "echo word", "declares none"]) {
      assertStringIncludes(seen, part);
    }
  });
  await t.step("problems", async () => {
    const path = `${service.folder}/project/valohai.yaml`;
    await Deno.writeTextFile(
      path,
      `- step:\n    name: '${HOSTILE}'\n    image: 1\n    command: x\n`,
    );
    const page = await browser.get("projects/files");
    assert(!page.text.includes("<script>alert"));
    assertStringIncludes(textOf(page), "line 3, column");
    assertStringIncludes(textOf(page), "cannot be used");
    assertStringIncludes(textOf(await browser.get("triggers/new")), "Project files has no steps");
    assertMatch(textOf(await browser.get("projects")), /files ✕ cannot be used for .* line 3/);
  });
  await t.step("a new one, with its mistakes at their fields", async () => {
    const add = (fields: Record<string, string>) => browser.post("projects", { csrf, ...fields });
    const wrong = await add({ name: "a b", code: "relative" });
    assertEquals(wrong.status, 422);
    assertEquals([...wrong.text.matchAll(/class="problem"/g)].length, 2, wrong.text);
    const { status, headers } = await add({ name: "more", code: `${service.folder}/project` });
    assertEquals([status, headers.get("location")], [303, "/projects/more"]);
    assertStringIncludes(textOf(await browser.get("projects")), "more");
  });
  await t.step("one whose configuration is all, and one that is read by an API", async () => {
    const add = (fields: Record<string, string>) => browser.post("projects", { csrf, ...fields });
    const none = await add({ name: "inline", code: "", source: "", api_url: "", config: "" });
    assertEquals(none.status, 422);
    assertStringIncludes(textOf(none), "a project without code has config");
    const config = "- step: { name: word, image: none, command: echo inline }";
    const code = "https://github.com/acme/digits.git";
    const cases: [Record<string, string>, RegExp][] = [
      [{ name: "inline", code, source: "", config, api_url: "https://x.example" }, /together with/],
      [{ name: "inline", code: "git@host:x.git", source: "github" }, /Expected mirror/],
    ];
    for (const [fields, problem] of cases) {
      const wrong = await add(fields);
      assertEquals(wrong.status, 422);
      assertMatch(textOf(wrong), problem);
      // What was typed is there to be mended.
      assertMatch(wrong.text, /<details open[^>]*><summary>How it is read/);
    }
    assertEquals((await add({ name: "inline", code: "", source: "", config })).status, 303);
    assertStringIncludes(textOf(await browser.get("projects/inline")), "file in the project");
    assertEquals((await add({ name: "api", code, source: "github" })).status, 303);
    const { body } = await service.api("GET", "projects/api/");
    assertEquals([body.repository, body.source], [code, "github"]);
    for (const name of ["inline", "api"]) {
      assertEquals((await service.api("DELETE", `projects/${name}/`)).status, 204);
    }
  });
  await t.step("secrets are set, shown by their fingerprints, and removed", async () => {
    const set = (fields: Record<string, string>) =>
      browser.post("projects/more/secrets", { csrf, ...fields });
    const value = "a-secret-of-this-page\r\nin two lines\r\n";
    for (const secret of ["a b", "..", ""]) {
      const wrong = await set({ secret, value });
      assertEquals([wrong.status, wrong.text.includes("a-secret-of")], [422, false], wrong.text);
    }
    const short = await set({ secret: "token", value: "short" });
    assertStringIncludes(textOf(short), "Expected 8 characters or more");
    const { status, headers } = await set({ secret: "token", value });
    assertEquals([status, headers.get("location")], [303, "/projects/more"]);
    const { body: { results: [stored] } } = await service.api("GET", "projects/more/secrets/");
    const { text } = await browser.get("projects/more");
    assertStringIncludes(textOf({ text }), `token ${stored.fingerprint}`);
    assertEquals(text.includes("a-secret-of"), false);
    const again = { value: "a-secret-of-this-page\nin two lines" };
    const same = await service.api("PUT", "projects/more/secrets/token/", again);
    assertEquals([same.status, same.body.fingerprint], [200, stored.fingerprint]);
    const removed = await browser.post("projects/more/secrets/remove", { csrf, secret: "token" });
    assertEquals(removed.status, 303);
    assertEquals((await service.api("GET", "projects/more/secrets/")).body.results, []);
    assertEquals(
      (await browser.post("projects/more/secrets/remove", { csrf, secret: ".." })).status,
      422,
    );
    assertEquals((await service.api("DELETE", "projects/more/")).status, 204);
  });
  await t.step("a repository that cannot be fetched", async () => {
    const code = `file://${service.folder}/nowhere`;
    await browser.post("projects", { csrf, name: "gone", code });
    assertStringIncludes(textOf(await browser.get("projects/gone")), "not fetched yet");
    const { status, text } = await browser.post("projects/gone/fetch", { csrf });
    assertEquals(status, 502);
    assertStringIncludes(text, 'role="alert"');
    assertMatch(
      textOf(await browser.get("projects")),
      /gone ✕ cannot be fetched for .* Cannot fetch/,
    );
    const settings = { name: "limited", scope: "read", projects: ["files"] };
    const { body } = await service.api("POST", "tokens/", settings);
    const limited = await loggedIn(service, body.token);
    for (const address of ["projects", "projects/files", "engines"]) {
      assertEquals((await limited.get(address)).status, 200, address);
    }
    assertEquals((await browser.get("projects/none")).status, 404);
  });
  await t.step(
    "what fails is on the overview, also after a restart, until it succeeds",
    async () => {
      await service.trigger();
      await service.restart();
      const again = await loggedIn(service);
      const { text } = await again.get("");
      assertStringIncludes(textOf({ text }), "files : Cannot accept valohai.yaml");
      assertMatch(textOf({ text }), /gone : Cannot fetch the repository .* , for \d+ s/);
      assertStringIncludes(text, 'href="projects/gone"');
      assertStringIncludes(textOf(await again.get("projects/gone")), "Fetching has failed for");

      const git = await GitFixture.make(`${service.folder}/nowhere`, { "valohai.yaml": "[]" });
      assertEquals((await service.api("POST", "projects/gone/fetch/")).status, 201);
      await Deno.writeTextFile(`${service.folder}/project/valohai.yaml`, "[]");
      await again.get("projects/files");
      const { body: none } = await service.api("GET", "failures/");
      assertEquals(none.results, []);
      await git.commit({ "valohai.yaml": "- step: 1" });
      assertEquals((await service.api("POST", "projects/gone/fetch/")).status, 201);
      const { body } = await service.api("GET", "failures/?project=gone");
      assertEquals(body.results.map(({ kind }: { kind: string }) => kind), ["file"]);
      assertEquals((await service.api("DELETE", "projects/gone/")).status, 204);
      assertEquals((await service.api("GET", "failures/")).body.results, []);
    },
  );
});

Deno.test("the engines tell what runs and what waits the longest", async () => {
  await using service = await startService({ settings: { executionsMax: 1, stopTimeout_ms: 500 } });
  const browser = await loggedIn(service);
  await launchCommand(service, "sleep 30");
  const waiting = await launchCommand(service, "sleep 31");
  const { text } = await browser.get("engines");
  const seen = textOf({ text });
  assertStringIncludes(seen, "local ✓ no failure known files 1 running , 1 waiting");
  assertStringIncludes(text, `href="executions/${waiting}"`);
  assert(!text.includes('href="instances"'), "one process has the database");
  assertStringIncludes(textOf(await browser.get("instances")), "This service is one instance");
  for (const { id } of (await service.api("GET", "executions/")).body.results) {
    await service.api("POST", `executions/${id}/stop/`);
  }
});
