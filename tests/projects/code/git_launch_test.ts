/**
 * Repositories in a whole service: what a run launches, and from which commit.
 *
 * @module
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import {
  endOfExecution,
  endOfRun,
  eventually,
  startService,
  type TestService,
} from "../../data.ts";
import { GitFixture, processesWith } from "./git_fixture.ts";
import { GitServer } from "./http_server.ts";

const CONFIG = `
- pipeline:
    name: old
    nodes:
      - { name: now, type: execution, step: show }
      - { name: before, type: execution, step: show, commit: v1 }
    edges: []
- step: { name: show, image: busybox, command: cat marker.txt }
- step:
    name: hold
    image: busybox
    command: until [ -e "$DOOR" ]; do sleep 0.05; done; cat marker.txt
    environment-variables:
      - name: DOOR
        default: DOOR_PATH
`;

async function setUp(service: TestService) {
  const door = join(service.folder, "door");
  const remote = await GitFixture.make(join(service.folder, "remote"), {
    "valohai.yaml": CONFIG.replace("DOOR_PATH", door),
    "marker.txt": "first\n",
  });
  const made = await service.api("PUT", "projects/digits/", {
    name: "digits",
    repository: `file://${remote.path}`,
  });
  assertEquals(made.status, 201);
  return { remote, open: () => Deno.writeTextFile(door, "") };
}

/** What an execution printed. */
async function printed(service: TestService, id: string): Promise<string> {
  const { body } = await service.api("GET", `executions/${id}/log/`);
  return JSON.stringify(body.results);
}

/** Launches a trigger and waits until its run has ended. Answers the executions, in their order. */
async function launch(
  service: TestService,
  trigger: { id: string; url: string },
): Promise<{ id: string; commit: string }[]> {
  await (await fetch(trigger.url, { method: "POST" })).body?.cancel();
  const { body: { results: [run] } } = await service.api(
    "GET",
    `triggers/${trigger.id}/runs/?limit=1`,
  );
  const { status, actions } = await endOfRun(service, run.id);
  assertEquals(status, "completed", JSON.stringify(actions));
  const ids: string[] = actions.flatMap((action: { created?: { execution_id: string } }) =>
    action.created?.execution_id ?? []
  );
  const executions = await Promise.all(ids.map((id) => service.api("GET", `executions/${id}/`)));
  return executions.map(({ body }) => body);
}

Deno.test("an action after fetch_repository launches the newest commit, and records it", async () => {
  await using service = await startService();
  const { remote } = await setUp(service);
  const run = { type: "run_execution", step: "show", commit: "main" };
  const trigger = await service.trigger({
    project: "digits",
    actions: [run, { type: "fetch_repository" }, run, { type: "fetch_repository" }, run],
  });
  const first = await remote.git("rev-parse", "HEAD");
  const before = await launch(service, trigger);
  assertEquals(before.map(({ commit }) => commit), [first, first, first]);
  const second = await remote.commit({ "marker.txt": "second\n" });
  const after = await launch(service, trigger);
  assertEquals(after.map(({ commit }) => commit), [first, second, second]);
  for (const { id, commit } of after) {
    assertEquals((await endOfExecution(service, id)).status, "complete");
    assertStringIncludes(await printed(service, id), commit === first ? "first" : "second");
  }
});

Deno.test("an execution that waits runs its own commit after a force-push and a restart", async () => {
  await using service = await startService({ settings: { executionsMax: 1 } });
  const { remote, open } = await setUp(service);
  const first = await remote.git("rev-parse", "HEAD");
  const trigger = await service.trigger({
    project: "digits",
    actions: ["hold", "hold"].map((step) => ({ type: "run_execution", step, commit: "main" })),
  });
  const executions = await launch(service, trigger);
  await Deno.writeTextFile(join(remote.path, "marker.txt"), "rewritten\n");
  await remote.git("commit", "--quiet", "--all", "--amend", "--message=rewritten");
  await remote.git("reflog", "expire", "--expire=now", "--all");
  await remote.git("gc", "--quiet", "--prune=now");
  const fetched = await service.api("POST", "projects/digits/fetch/");
  assertEquals(fetched.body, { branches: { main: await remote.git("rev-parse", "HEAD") } });
  await service.restart();
  await open();
  assertEquals(executions.length, 2);
  for (const { id, commit } of executions) {
    assertEquals(commit, first);
    assertEquals((await endOfExecution(service, id)).status, "complete");
    assertStringIncludes(await printed(service, id), "first");
  }
});

Deno.test("an execution that waits while its project is deleted ends as error, and says why", async () => {
  await using service = await startService({ settings: { executionsMax: 1 } });
  const { open } = await setUp(service);
  const trigger = await service.trigger({
    project: "digits",
    actions: ["hold", "show"].map((step) => ({ type: "run_execution", step })),
  });
  const [running, waiting] = await launch(service, trigger);
  await eventually(async () => {
    const { body } = await service.api("GET", `executions/${running?.id}/`);
    return body.status === "started" ? body : undefined;
  }, { what: "the first one's start" });
  await service.api("DELETE", `triggers/${trigger.id}/`);
  assertEquals((await service.api("DELETE", "projects/digits/")).status, 204);
  await open();
  const { status, reason } = await endOfExecution(service, waiting?.id ?? "");
  const why = 'Cannot run: Project "digits" was deleted while this waited';
  assertEquals([status, reason], ["error", why]);
});

Deno.test("a fetch that hangs ends with the service, and the next service makes it again", async () => {
  await using service = await startService();
  const { remote } = await setUp(service);
  const asked = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  await using server = new GitServer(service.folder, {
    before: async () => {
      asked.resolve();
      await goOn.promise;
    },
  });
  const repository = `http://${server.host}/remote/.git`;
  await service.api("PUT", "projects/digits/", { name: "digits", repository });
  const run = { type: "run_execution", step: "show" };
  const { id, url } = await service.trigger({ project: "digits", actions: [run] });
  await (await fetch(url, { method: "POST" })).body?.cancel();
  await asked.promise;
  const before = await processesWith(server.host);
  await service.restart();
  const after = await processesWith(server.host);
  goOn.resolve();
  assert(before.size > 0);
  assertEquals([...before.keys()].filter((pid) => after.has(pid)), []);
  const { body: { results } } = await service.api("GET", `triggers/${id}/runs/`);
  const { status, actions } = await endOfRun(service, results[0].id);
  assertEquals(status, "completed", JSON.stringify(actions));
  const execution = await endOfExecution(service, actions[0].created.execution_id);
  assertEquals(execution.commit, await remote.git("rev-parse", "HEAD"));
});

Deno.test("an edit of a folder does not change executions that were launched from it", async () => {
  await using service = await startService({ settings: { executionsMax: 1 } });
  const { remote, open } = await setUp(service);
  const put = await service.api("PUT", "projects/digits/", {
    name: "digits",
    directory: remote.path,
  });
  assertEquals(put.status, 200);
  const trigger = await service.trigger({
    project: "digits",
    actions: ["hold", "hold"].map((step) => ({ type: "run_execution", step })),
  });
  const executions = await launch(service, trigger);
  await Deno.writeTextFile(join(remote.path, "marker.txt"), "after");
  await Deno.remove(join(remote.path, "valohai.yaml"));
  await open();
  assertEquals(executions.length, 2);
  for (const { id, commit } of executions) {
    assertMatch(commit, /^~[0-9a-f]{64}$/);
    assertEquals((await endOfExecution(service, id)).status, "complete");
    assertStringIncludes(await printed(service, id), "first");
  }
});

Deno.test("actions and nodes that name a commit of a folder fail and say why, the others do not", async () => {
  await using service = await startService();
  const { remote } = await setUp(service);
  await service.api("PUT", "projects/digits/", { name: "digits", directory: remote.path });
  const run = { type: "run_execution", step: "show" };
  const trigger = await service.trigger({
    project: "digits",
    actions: [run, { ...run, commit: "main" }, { type: "run_pipeline", pipeline: "old" }],
  });
  await (await fetch(trigger.url, { method: "POST" })).body?.cancel();
  const { body } = await service.api("GET", `triggers/${trigger.id}/runs/?limit=1`);
  const { status, actions } = await endOfRun(service, body.results[0].id);
  assertEquals(status, "complete_with_error");
  const [good, ...bad] = actions.map(({ error }: { error?: string }) => error);
  assertEquals(good, undefined);
  assertMatch(bad[0], /^Cannot find the commit "main" of project "digits": it is a plain folder/);
  assertMatch(bad[1], /node "before": Cannot find the commit "v1" of project "digits"/);
});
