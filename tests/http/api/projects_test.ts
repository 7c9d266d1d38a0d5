import { assertEquals, assertMatch } from "@std/assert";
import { startService } from "../../data.ts";

Deno.test("a project is created, read, listed, replaced and deleted", async () => {
  await using service = await startService();
  const settings = { name: "digits", repository: "https://git.example.com/digits.git" };
  const created = await service.api("POST", "projects/", settings);
  assertEquals(created.status, 201);
  const { warnings, ...shown } = created.body;
  assertEquals(warnings, []);
  assertEquals(shown, {
    ...settings,
    config_file: "valohai.yaml",
    engine: { type: "local", runner: "process" },
    revision: 1,
  });
  assertEquals((await service.api("POST", "projects/", settings)).status, 409);
  assertEquals((await service.api("GET", "projects/digits/")).body, shown);
  const { body: { results } } = await service.api("GET", "projects/");
  assertEquals(results.map(({ name }: { name: string }) => name), ["digits", "files"]);
  const changed = { ...settings, config_file: "ml/valohai.yaml" };
  assertEquals(
    (await service.api("PUT", "projects/digits/", changed)).body.config_file,
    "ml/valohai.yaml",
  );
  assertEquals((await service.api("DELETE", "projects/digits/")).status, 204);
  assertEquals((await service.api("GET", "projects/digits/")).status, 404);
});

Deno.test("a new project has no name that looks like another one's", async () => {
  await using service = await startService();
  const { body: { directory } } = await service.api("GET", "projects/files/");
  for (const name of ["Files", "FILES", "fiLes"]) {
    for (const [method, path] of [["POST", "projects/"], ["PUT", `projects/${name}/`]] as const) {
      for (const query of ["?dry_run", ""]) {
        const { status, body } = await service.api(method, path + query, { name, directory });
        assertEquals(status, 409, JSON.stringify(body));
        assertMatch(body.detail, /"\w+" looks like the name of project "files"/);
      }
    }
  }
  assertEquals((await service.api("PUT", "projects/files/", { directory })).status, 200);
  // The name is free with its project.
  assertEquals((await service.api("DELETE", "projects/files/")).status, 204);
  const { status } = await service.api("PUT", "projects/Files/", { directory });
  assertEquals(status, 201);
});

Deno.test("a project that a trigger uses is not deleted", async () => {
  await using service = await startService();
  await service.trigger({ name: "user" });
  const { status, body } = await service.api("DELETE", "projects/files/");
  assertEquals(status, 409);
  assertMatch(body.detail, /user/);
});

Deno.test("no trigger comes to use a project while it is deleted", async () => {
  await using service = await startService();
  const name = "short-lived";
  for (let turn = 0; turn < 20; turn++) {
    await service.api("PUT", `projects/${name}/`, { name, directory: "/srv" });
    const create = (each: number) =>
      service.api("POST", "triggers/", {
        name: `${turn}-${each}`,
        project: name,
        actions: [{ type: "fetch_repository" }],
      });
    const [deleted, ...created] = await Promise.all([
      service.api("DELETE", `projects/${name}/`),
      ...[1, 2, 3, 4].map(create),
    ]);
    const made = created.filter(({ status }) => status === 201);
    assertEquals(deleted.status, made.length > 0 ? 409 : 204);
    for (const { body } of made) await service.api("DELETE", `triggers/${body.id}/`);
  }
});

Deno.test("a project that many make at the same time is made by one of them", async () => {
  await using service = await startService();
  for (let turn = 0; turn < 20; turn++) {
    const name = `p${turn}`;
    const make = (_: unknown, each: number) =>
      each % 2 === 0
        ? service.api("PUT", `projects/${name}/`, { name, directory: "/srv" })
        : service.api("POST", "projects/", { name, directory: "/srv" });
    const answers = await Promise.all(Array.from({ length: 20 }, make));
    assertEquals(answers.filter(({ status }) => status === 201).length, 1);
  }
});

Deno.test("a project that cannot work is refused, field by field", async (t) => {
  await using service = await startService();
  const good = { name: "p", directory: "/srv/p" };
  const cases: [name: string, project: unknown, pointer: string, detail: RegExp][] = [
    [
      "neither repository nor directory",
      { name: "p" },
      "",
      /^Expected either repository or directory, found neither \(a project without code has config\)$/,
    ],
    [
      "both",
      { ...good, repository: "x" },
      "",
      /^Expected either repository or directory, found both$/,
    ],
    ["relative folder", { ...good, directory: "p" }, "/directory", /absolute/],
    [
      "relative path",
      { name: "p", repository: "./p.git" },
      "/repository",
      /absolute.*"\.\/p\.git"/,
    ],
    [
      "unknown runner",
      { ...good, engine: { type: "local", runner: "rocket" } },
      "/engine/runner",
      /"process".*"docker".*"podman".*found "rocket"/,
    ],
    [
      "unknown engine",
      { ...good, engine: { type: "moon" } },
      "/engine/type",
      /"local".*found "moon"/,
    ],
    ["unknown field", { ...good, dir: "x" }, "/dir", /Unknown field/],
    ["bad name", { ...good, name: "../p" }, "/name", /letters, digits/],
  ];
  for (const [name, project, pointer, detail] of cases) {
    await t.step(name, async () => {
      const { status, body } = await service.api("POST", "projects/", project);
      assertEquals(status, 422);
      assertEquals(body.errors[0].pointer, pointer);
      assertMatch(body.errors[0].detail, detail);
    });
  }
});

Deno.test("a project that is larger than a record is refused, and one as large is stored", async () => {
  await using service = await startService();
  const project = (folders: number) => ({
    name: "large",
    directory: "/srv",
    engine: { type: "local", inputs: { folders: Array(folders).fill(`/${"x".repeat(2_000)}`) } },
  });
  const refused = await service.api("PUT", "projects/large/", project(40));
  assertEquals([refused.status, refused.body.errors], [422, [
    { pointer: "", detail: "Expected at most 61440 bytes in all, found 80292" },
  ]]);
  assertEquals((await service.api("PUT", "projects/large/", project(30))).status, 201);
});

Deno.test("what an engine leaves out of the steps of a project is told once", async () => {
  await using service = await startService();
  const steps = ["train", "test"].map((name) => ({
    step: { name, image: "python:3.13", command: "true" },
  }));
  await Deno.writeTextFile(`${service.folder}/project/valohai.yaml`, JSON.stringify(steps));
  const directory = `${service.folder}/project`;
  const told: Record<string, string[]> = {};
  for (const runner of ["process", "docker"]) {
    const project = { name: "files", directory, engine: { type: "local", runner } };
    assertEquals((await service.api("PUT", "projects/files/", project)).status, 200);
    const { body } = await service.api("GET", "projects/files/contents/");
    told[runner] = body.warnings.map(({ detail }: { detail: string }) => detail);
  }
  assertEquals(told, {
    process: [`The "image" of steps is not used: the engine's runner is "process"`],
    docker: [],
  });
});
