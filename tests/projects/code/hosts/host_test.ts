/** Projects whose repositories are read by the APIs of their hosts: a real Gitea, and servers that play the others. */
import { assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { ActionError, InvalidInputError } from "../../../../src/platform/errors.ts";
import { systemActions } from "../../../docs/systems.ts";
import { systemClock } from "../../../../src/platform/clock.ts";
import { refsKeeper } from "../../../../src/store/records/project_refs.ts";
import { eventually, startService } from "../../../data.ts";
import { sharedStore, standIn } from "../../../store/fixture.ts";
import { configFile, textsIn } from "../git_fixture.ts";
import { hosted, KINDS } from "./fixture.ts";
import { hasNoGitea, sharedGitea } from "./gitea.ts";

for (const kind of KINDS) {
  Deno.test(`${kind}: references are resolved, and files read, without a mirror`, async () => {
    await using host = await hosted(kind);
    const { remote } = host;
    const projects = host.projects();
    const project = host.project();
    const [first, second] = [
      await remote.git("rev-parse", "v1^{commit}"),
      await remote.git("rev-parse", "HEAD"),
    ];
    assertEquals(await projects.isKept(project), false);
    assertEquals(await projects.resolveKept(project, "HEAD"), undefined);

    for (
      const [reference, commit, step] of [
        ["HEAD", second, "second"],
        ["main", second, "second"],
        ["refs/heads/main", second, "second"],
        ["feature/x", second, "second"],
        ["v1", first, "first"],
        ["light", first, "first"],
        ["refs/tags/v1", first, "first"],
        [first, first, "first"],
        [first.slice(0, 8), first, "first"],
        [first.toUpperCase(), first, "first"],
      ] as const
    ) {
      const { commit: found, config } = await projects.resolve(project, reference);
      assertEquals([reference, found, [...config.steps.keys()]], [reference, commit, [step]]);
    }
    assertEquals(await projects.isKept(project), true);
    await remote.git("branch", "old", first);
    await remote.git("checkout", "--quiet", "-b", "aside", first);
    const aside = await remote.commit({ aside: "x" });
    await remote.git("checkout", "--quiet", "main");
    await host.push();
    for (
      const [commit, branches, isOnDefault] of [
        [first, ["aside", "feature/x", "main", "old"], true],
        [second, ["feature/x", "main"], true],
        [aside, ["aside"], false],
        ["1".repeat(40), [], false],
      ] as const
    ) {
      const found = await projects.branchesWith(project, commit, () => true);
      assertEquals([found.branches.toSorted(), found.isOnDefault], [[...branches], isOnDefault]);
    }
    const some = await projects.branchesWith(project, first, (branch) => branch === "old");
    assertEquals(some, { branches: ["old"], isOnDefault: true });
    const inner = { ...project, config_file: "team a/b.yaml" };
    assertEquals([...(await projects.resolve(inner, "HEAD")).config.steps.keys()], ["inner"]);

    for (
      const [reference, says] of [
        [
          "nope",
          /Cannot find "nope" in the repository of project "digits": .*branches are "aside", "feature\/x", "main"/,
        ],
        ["0".repeat(39) + "1", /no branch, tag or commit/],
        ["abcd", /no branch, tag or commit/],
        ["main~1", /no branch, tag or commit/],
      ] as const
    ) {
      const error = await assertRejects(() => projects.resolve(project, reference), ActionError);
      assertMatch(error.message, says);
    }
    for (const path of ["nope.yaml", "src"]) {
      const missing = { ...project, config_file: path };
      const error = await assertRejects(() => projects.resolve(missing, "HEAD"), ActionError);
      assertStringIncludes(error.message, `commit ${second} has no such file`);
    }
    await projects.close();
  });

  Deno.test(`${kind}: a branch has the commit of the last fetch, and a restart changes nothing`, async () => {
    await using host = await hosted(kind);
    const { remote } = host;
    const kept = new Map();
    const refs = {
      get: (name: string) => Promise.resolve(kept.get(name)),
      put: (name: string, value: unknown) => Promise.resolve(void kept.set(name, value)),
    };
    const project = host.project();
    const before = await remote.git("rev-parse", "HEAD");
    const projects = host.projects({ refs });
    assertEquals((await projects.resolve(project, "main")).commit, before);
    assertEquals((await projects.resolve(project, "HEAD")).commit, before);

    const after = await remote.commit({ "valohai.yaml": configFile("third") });
    for (let count = 0; count < 4; count++) await remote.git("branch", `more-${count}`);
    await host.push();
    assertEquals((await projects.resolve(project, "main")).commit, before);
    await projects.close();
    const restarted = host.projects({ refs });
    assertEquals((await restarted.resolve(project, "HEAD")).commit, before);
    assertEquals((await restarted.resolve(project, "main")).commit, before);

    const { branches } = await restarted.fetch(project);
    assertEquals(branches, {
      "feature/x": before,
      main: after,
      ...Object.fromEntries([0, 1, 2, 3].map((count) => [`more-${count}`, after])),
    });
    for (const reference of ["HEAD", "main", "more-1"]) {
      const { commit, config } = await restarted.resolve(project, reference);
      assertEquals([commit, [...config.steps.keys()]], [after, ["third"]]);
    }
    // An engine of this machine gets the commit alone, and finds it again after a restart.
    const local = host.projects({ refs, projectOf: () => Promise.resolve(project) });
    for (const turn of ["1", "2"]) {
      await local.checkout("digits", before, join(host.folder, turn));
      const text = await Deno.readTextFile(join(host.folder, turn, "valohai.yaml"));
      assertEquals(text, configFile("second"));
      if (turn === "1") await local.close();
    }
    const again = host.projects({ refs, projectOf: () => Promise.resolve(project) });
    await again.checkout("digits", before, join(host.folder, "3"));
    await again.close();
    await (await restarted.forget("digits"))();
    assertEquals(await restarted.isKept(project), false);
    await restarted.close();
  });

  Deno.test(`${kind}: what the host refuses is told with what to do, and without the token`, async () => {
    await using host = await hosted(kind);
    const wrong = host.projects({ env: () => "wr0ng-token" });
    const project = host.project();
    for (
      const [projects, credentials, says] of [
        [
          wrong,
          "robot:{env:TOKEN}@",
          /does not know the token \(401\): .*expired.*set its variable/,
        ],
        [host.projects(), "", /no repository at http:.*\(404\).*its token is missing/],
        [
          host.projects({ env: () => undefined }),
          "{env:TOKEN}@",
          /environment variable TOKEN is not set/,
        ],
      ] as const
    ) {
      const error = await assertRejects(
        () => projects.fetch(host.project(credentials)),
        ActionError,
        'Cannot fetch the repository of project "digits": ',
      );
      assertMatch(error.message, says);
      assertEquals(/wr0ng|s3cr3t/.test(error.message), false);
      await projects.close();
    }
    const projects = host.projects();
    const gone = {
      ...project,
      repository: project.repository?.replace("digits.git", "other.git") ?? "",
    };
    await assertRejects(() => projects.resolve(gone, "main"), ActionError, "no repository at");
    assertEquals(
      await projects.check({ ...project, repository: `http://{env:NONE}@${host.host}/a/b` }),
      [{
        pointer: "/repository",
        detail: "Cannot be fetched: the environment variable NONE is not set",
      }],
    );
    await host.remote.commit({ "valohai.yaml": "- step: {}\n" });
    await host.push();
    await projects.fetch(project);
    await assertRejects(() => projects.resolve(project, "HEAD"), InvalidInputError);
    await projects.close();
    for await (const [path, text] of textsIn(host.folder)) {
      if (!path.includes("/remote/")) {
        assertEquals([path, text.includes(host.token)], [path, false]);
      }
    }
  });
}

const WORKFLOW = `
on: { workflow_dispatch: { inputs: { commit: { type: string } } } }
jobs: { train: { runs-on: debian, steps: [{ run: "true" }] } }
`;

Deno.test("several instances: beside the leader a commit is found, and fetched, and nothing is remembered", async () => {
  await using host = await hosted("github");
  using open = await Deno.openKv(":memory:");
  // The test closes it, and not the stores.
  const kv = standIn(open, { close() {}, [Symbol.dispose]() {} });
  await using leading = await sharedStore(kv, systemClock);
  await using following = await sharedStore(kv, systemClock, { leads: false });
  const project = host.project();
  const leader = host.projects({ refs: refsKeeper(leading) });
  const { commit } = await leader.resolve(project, "main");
  const kept = await refsKeeper(following).get("digits");
  const other = host.projects({ refs: refsKeeper(following) });
  assertEquals(await other.hasCommit(project, commit), true);
  assertEquals((await other.fetch(project)).branches["main"], commit);
  assertEquals(await refsKeeper(leading).get("digits"), kept);
  await Promise.all([leader.close(), other.close()]);
});

Deno.test({
  name: "gitea: a request starts a workflow, and sees its end",
  ignore: hasNoGitea,
  fn: async (t) => {
    await using host = await hosted("gitea");
    const gitea = await sharedGitea();
    await host.remote.commit({ ".gitea/workflows/retrain.yaml": WORKFLOW });
    await host.push();
    const path = new URL(host.project("").repository ?? "").pathname.slice(1, -".git".length);
    const runner = await gitea.runner(path);
    await using service = await startService({ env: { GITEA_TOKEN: host.token } });
    const [action] = systemActions("Gitea", Number(host.host.split(":")[1]));
    const local = JSON.parse(JSON.stringify(action).replaceAll("acme/models", path));
    const { url } = await service.trigger({
      actions: [local],
      response: { type: "text", text: "{run_id}" },
    });
    for (const [result, status] of [["SUCCESS", "complete"], ["FAILURE", "error"]] as const) {
      await t.step(result, async () => {
        const answer = await fetch(url, { method: "POST", body: '{"after": "c0ffee"}' });
        const run = await answer.text();
        const task = await eventually(() => runner.task(), { what: "a task" });
        assertEquals(task.context.event.inputs, { commit: "c0ffee" });
        await runner.end(task, result);
        const sent = await eventually(async () => {
          const { body } = await service.api("GET", `deliveries/${run}/`);
          const [found] = body.sent ?? [];
          return ["complete", "error"].includes(found?.status) ? found : undefined;
        });
        assertEquals(sent.status, status, JSON.stringify(sent));
      });
    }
  },
});
