/**
 * Exactly once: however often a service ends and starts again, each node's execution exists once and
 * those of its order are kept.
 *
 * @module
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import fc from "fast-check";
import { predecessorsOf } from "../../src/pipelines/edges.ts";
import { UnavailableError } from "../../src/platform/errors.ts";
import { hasEnded, listExecutions } from "../../src/store/records/executions.ts";
import type { PipelinePlan } from "../../src/store/records/pipelines.ts";
import { keys } from "../../src/store/keys.ts";
import { PipelineFixture, plan, states } from "./fixture.ts";

const ON_ERROR = ["stop-all", "stop-next", "continue", "retry"] as const;

/** A pipeline, how its nodes' executions end, and after how many of them the service is restarted. */
interface Story {
  nodes: { before: number[]; onError: (typeof ON_ERROR)[number]; fails: boolean }[];
  restarts: boolean[];
}

const story: fc.Arbitrary<Story> = fc.record({
  nodes: fc.array(
    fc.record({
      before: fc.array(fc.nat(6), { maxLength: 3 }),
      onError: fc.constantFrom(...ON_ERROR),
      fails: fc.boolean(),
    }),
    { minLength: 1, maxLength: 7 },
  ),
  restarts: fc.array(fc.boolean(), { minLength: 4, maxLength: 12 }),
});

Deno.test("pipeline: any graph ends as it must, over any number of restarts", async () => {
  await fc.assert(
    fc.asyncProperty(story, async ({ nodes, restarts }) => {
      await using fixture = await PipelineFixture.make();
      const planned = await plan(yamlOf(nodes), "p");
      const id = await fixture.launch(planned);
      const order = await play(fixture, id, nodes, restarts);
      const pipeline = await fixture.ended(id);

      const { records: executions } = await listExecutions(fixture.store, { limit: 200 });
      assertEquals(new Set(executions.map((each) => each.id)).size, executions.length);
      assertEquals(pipeline.nodes.map(({ status }) => status !== "created"), nodes.map(() => true));
      for (const { name, attempts, status } of pipeline.nodes) {
        const own = executions.filter(({ node }) => node === name);
        assertEquals(own.length, attempts, `${name} was launched ${attempts} times`);
        assert(own.every((each) => hasEnded(each.status)));
        if (status === "skipped") assertEquals(attempts, 0);
      }
      checkOrder(planned, order);
      assertEquals(pipeline.status, expectedStatus(nodes, pipeline.nodes.map((n) => n.status)));
    }),
    { numRuns: 40 },
  );
});

/** Ends executions one after the other, and answers the order in which they were seen to start. */
async function play(
  fixture: PipelineFixture,
  id: string,
  nodes: Story["nodes"],
  restarts: readonly boolean[],
): Promise<string[]> {
  const order: string[] = [];
  const over = new Set<string>();
  for (let step = 0;; step++) {
    if (restarts[step % restarts.length]) await fixture.restart();
    const open = async () => {
      const { records: executions } = await listExecutions(fixture.store, { limit: 200 });
      const next = executions.find((each) => !over.has(each.id) && !hasEnded(each.status));
      const { ended_at } = await fixture.record(id);
      return next ?? (ended_at === undefined ? undefined : null);
    };
    let next = await open();
    while (next === undefined) {
      await new Promise((resolve) => setTimeout(resolve, 2));
      next = await open();
    }
    if (next === null) return order;
    over.add(next.id);
    order.push(`${next.node} starts`);
    const { fails = false } = nodes[Number(next.node?.slice(1))] ?? {};
    await fixture.finish(next.id, { status: fails ? "error" : "complete" });
    order.push(`${next.node} ends`);
  }
}

/** No node is seen before those that it waits for have ended. */
function checkOrder(planned: PipelinePlan, order: readonly string[]): void {
  for (const { name } of planned.nodes) {
    const start = order.indexOf(`${name} starts`);
    if (start < 0) continue;
    for (const before of predecessorsOf(planned, name)) {
      const end = order.lastIndexOf(`${before} ends`);
      assert(end >= 0 && end < start, `${name} began before ${before} had ended: ${order}`);
    }
  }
}

function expectedStatus(nodes: Story["nodes"], states: readonly string[]): string {
  const isHeldUp = nodes.some(({ onError }, index) => {
    const state = states[index];
    if (state === "skipped") return true;
    return (state === "error" || state === "stopped") && onError !== "continue";
  });
  return isHeldUp ? "error" : "complete";
}

function yamlOf(
  nodes: (Story["nodes"][number] & Partial<Drama["nodes"][number]>)[],
  reuses = false,
): string {
  const edges = nodes.flatMap(({ before }, index) =>
    // Only to nodes above, so that there is no circle.
    before.filter((other) => other < index).map((other) =>
      `    - [n${other}.dependency.*, n${index}.dependency.*]`
    )
  );
  const lines = nodes.map(({ onError, approvals = [] }, index) => {
    const actions = approvals.map((when) => `{ when: ${when}, then: require-approval }`);
    return `    - { name: n${index}, type: execution, step: s, on-error: ${onError}, actions: [${actions}] }`;
  });
  return `
- step: { name: s, image: i, command: c }
- pipeline:
    name: p
    reuse-executions: ${reuses}
    nodes:
${lines.join("\n")}
    edges: ${edges.length === 0 ? "[]" : `\n${edges.join("\n")}`}
`;
}

/** What comes to a pipeline from outside. `fail` is how many of its commits are stored before one that is not. */
type Event = "finish" | "approve" | "stop" | "restart" | { fail: number };

/** A pipeline with what its nodes' actions ask for, and what comes to it. */
interface Drama {
  nodes: (Story["nodes"][number] & { approvals: (typeof APPROVALS)[number][] })[];
  reuses: boolean;
  events: Event[];
}

const APPROVALS = ["node-starting", "node-complete"] as const;

const drama: fc.Arbitrary<Drama> = fc.record({
  nodes: fc.array(
    fc.record({
      before: fc.array(fc.nat(4), { maxLength: 2 }),
      onError: fc.constantFrom(...ON_ERROR),
      fails: fc.boolean(),
      approvals: fc.subarray([...APPROVALS]),
    }),
    { minLength: 1, maxLength: 5 },
  ),
  reuses: fc.boolean(),
  events: fc.array(
    fc.oneof(
      { weight: 8, arbitrary: fc.constantFrom<Event>("finish", "approve", "restart") },
      { weight: 1, arbitrary: fc.constant<Event>("stop") },
      { weight: 4, arbitrary: fc.record({ fail: fc.nat(3) }) },
    ),
    { maxLength: 16 },
  ),
});

Deno.test("pipeline: each launch is made once and as approved, whatever commit fails and whatever operators do", async () => {
  await fc.assert(
    fc.asyncProperty(drama, async ({ nodes, reuses, events }) => {
      await using fixture = await PipelineFixture.make();
      const planned = await plan(yamlOf(nodes, reuses), "p");
      if (reuses) {
        // What it may take over.
        const alone = { before: [], onError: "stop-all" as const, fails: false };
        const first = await plan(yamlOf([alone], true), "p");
        const id = await fixture.launch(first);
        await fixture.end(id, "n0");
        await fixture.ended(id);
      }
      const id = await fixture.launch(planned);
      const told = await perform(fixture, id, nodes, events);
      const pipeline = await fixture.ended(id);

      const { records } = await listExecutions(fixture.store, { limit: 200 });
      const executions = records.filter(({ pipeline_id }) => pipeline_id === id);
      for (const { name, attempts, status, reused } of pipeline.nodes) {
        const own = executions.filter(({ node }) => node === name);
        assertEquals(own.length, attempts, `${name} was launched ${attempts} times`);
        assert(own.every((each) => hasEnded(each.status)));
        assert(own.every((each) => fixture.submitted.some(({ id }) => id === each.id)));
        if (status === "skipped") assertEquals(attempts, 0);
        if (reused) assertEquals([attempts, status], [0, "complete"]);
        const asks = nodes[Number(name.slice(1))]?.approvals.includes("node-starting");
        if (asks && (attempts > 0 || reused)) {
          assert(told.approved.has(name), `${name} was not approved`);
        }
      }
      if (told.isStopped) assert(["stopped", "error"].includes(pipeline.status));
      else {
        assertEquals(pipeline.status, expectedStatus(nodes, pipeline.nodes.map((n) => n.status)));
      }
    }),
    { numRuns: 80 },
  );
});

/** Plays what comes to a pipeline, and then what brings it to its end. */
async function perform(
  fixture: PipelineFixture,
  id: string,
  nodes: Drama["nodes"],
  events: readonly Event[],
): Promise<{ isStopped: boolean; approved: Set<string> }> {
  const told = { isStopped: false, approved: new Set<string>() };
  let failsIn = Infinity;
  const { committer } = fixture.store;
  const commit = committer.commit.bind(committer);
  committer.commit = (change) =>
    commit({
      ...change,
      writes() {
        const writes = change.writes();
        if (!writes.some(({ key: [kind] }) => kind === "pipeline") || failsIn-- > 0) return writes;
        failsIn = Infinity;
        throw new UnavailableError("Cannot store: database or disk is full", 5);
      },
    });
  const play: Record<string, () => Promise<unknown>> = {
    async finish() {
      const { records } = await listExecutions(fixture.store, { limit: 200 });
      const open = records.find(({ status }) => !hasEnded(status));
      const fails = nodes[Number(open?.node?.slice(1))]?.fails;
      if (open) await fixture.finish(open.id, { status: fails ? "error" : "complete" });
    },
    async approve() {
      for (const name of await fixture.pipelines.approve(id)) told.approved.add(name);
    },
    async stop() {
      if (await fixture.pipelines.stop(id)) told.isStopped = true;
    },
    restart: () => fixture.restart(),
  };
  for (const event of events) {
    if (typeof event === "object") failsIn = event.fail;
    else await play[event]?.().catch((error) => assert(error instanceof UnavailableError, error));
  }
  failsIn = Infinity;
  // A turn that failed is made up for at once.
  while ((await fixture.record(id)).ended_at === undefined) {
    for (const event of ["restart", "approve", "finish"]) await play[event]?.();
  }
  return told;
}

Deno.test("pipeline: one whose plan is damaged ends as an error, and what runs of it is stopped", async () => {
  await using fixture = await PipelineFixture.make();
  const nodes: Story["nodes"] = [
    { before: [], onError: "continue", fails: false },
    { before: [0], onError: "continue", fails: false },
  ];
  const id = await fixture.launch(await plan(yamlOf(nodes), "p"));
  const { id: running, node } = await fixture.launched(id, "n0");
  assertEquals(node, "n0");
  await fixture.store.kv.set(keys.pipelinePlan(id, 0), new TextEncoder().encode('{"nodes'));
  await fixture.restart();
  const { status, reason = "", ...ended } = await fixture.ended(id);
  assertEquals([status, ...states({ ...ended, status })], ["error", "n0 stopped", "n1 skipped"]);
  assertStringIncludes(reason, "Its plan is damaged");
  assertEquals(fixture.stopped, [running]);
});
