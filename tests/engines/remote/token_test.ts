/** A job's token ends with its job, and outputs keep their bytes and their limits. */
import { assert, assertEquals } from "@std/assert";
import { hash } from "node:crypto";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { ArtifactStore } from "../../../src/artifacts/store.ts";
import { FolderStore } from "../../../src/artifacts/folder.ts";
import { JOB_ROUTES } from "../../../src/http/jobs/routes.ts";
import { DATABASE_FILE } from "../../../src/store/file/database_file.ts";
import { getJob } from "../../../src/store/records/jobs.ts";
import { until } from "../service.ts";
import { HeldCluster, HeldService, type PlayedAgent } from "./held_cluster.ts";
import { atOnce } from "../../at_once.ts";

const test = atOnce("tokens of jobs");

const KIB = 1024;
const END = "end?stdout=0&stderr=0&exit_code=0";
const OTHER_CLAIM = "fedcba9876543210";
/** Queries with which routes do something. A route that is not here is asked without one. */
const QUERIES: Readonly<Record<string, string>> = {
  "POST /:execution_id/claim": "host=node1&folder=/work",
  "POST /:execution_id/beat": "stream=stdout&offset=0&state=running",
  "POST /:execution_id/outputs": `path=late&size=4&sha256=${hash("sha256", "late")}`,
  "PUT /:execution_id/outputs": `path=late&size=4&sha256=${hash("sha256", "late")}`,
  "POST /:execution_id/end": "stdout=0&stderr=0&exit_code=7",
};

/** Asks every route, the one that ends the job last. Returns the statuses by route. */
async function askAll(agent: PlayedAgent, claim?: string): Promise<Record<string, number>> {
  const routes = JOB_ROUTES.toSorted((one, other) =>
    Number(one.opensAfterEnd ?? false) - Number(other.opensAfterEnd ?? false)
  );
  const statuses: Record<string, number> = {};
  for (const { method, path } of routes) {
    const name = `${method} ${path}`;
    const asked = path.replace("/:execution_id/", "").replaceAll(/:\w+/g, "0");
    const body = method === "GET" ? {} : { body: method === "PUT" ? "late" : "" };
    const [status] = await agent.said(`${asked}?${QUERIES[name] ?? ""}`, {
      method,
      ...(claim !== undefined && { claim }),
      ...body,
    });
    statuses[name] = status;
  }
  return statuses;
}

const closed = (agent: PlayedAgent) =>
  until(async () => (await getJob(agent.service.store, agent.id))?.state === "closed");

/** The states of a job whose token opens nothing, and how it gets there. */
const OVER: [state: string, reach: (service: HeldService) => Promise<PlayedAgent>][] = [
  ["its end was reported", async (service) => {
    const agent = await (await service.play()).claims();
    assertEquals(await agent.said(END), [200, "ended"]);
    return agent;
  }],
  ["its end was reported before the service was started again", async (service) => {
    const agent = await (await service.play()).claims();
    assertEquals(await agent.said(END), [200, "ended"]);
    await service.restart();
    return agent;
  }],
  ["only the cluster knows why it has ended, and does not say", async (service) => {
    const agent = await (await service.play()).claims();
    assertEquals(await agent.said(`${END}&cause=terminated`), [200, "ended"]);
    return agent;
  }],
  ["it was stopped before an agent came", async (service) => {
    const agent = await service.play();
    await service.engine.stop(agent.id);
    return agent;
  }],
  ["its cluster has lost it", async (service) => {
    const agent = await (await service.play()).claims();
    service.held.seen.set(agent.id, { kind: "ended", reason: "node failed", isOver: true });
    await closed(agent);
    return agent;
  }],
  ["its execution is run again", async (service) => {
    const agent = await (await service.play({ rerun: true })).claims();
    service.held.seen.set(agent.id, { kind: "ended", isLost: true, isOver: true });
    await until(() => service.held.tokens.has(`${agent.id}-1`));
    return agent;
  }],
  ["its code cannot be brought", async (service) => {
    const agent = await (await service.play({ commit: "0".repeat(40) })).claims();
    service.host.checkout = () => Promise.reject(new Error("no such commit"));
    assertEquals((await agent.said("manifest", { method: "GET" }))[0], 422);
    return agent;
  }],
  ["its execution was removed", async (service) => {
    const agent = await (await service.play()).claims();
    await agent.said(END);
    await closed(agent);
    await service.engine.forget(agent.id);
    return agent;
  }],
];

Deno.test("a job's token opens no route once the job has ended, however that ended", async (t) => {
  await using service = await HeldService.start();
  for (const [state, reach] of OVER) {
    await t.step(state, async () => {
      const agent = await reach(service);
      const statuses = await askAll(agent);
      const refused = Object.keys(statuses).map((route) => [route, 403]);
      assertEquals(statuses, Object.fromEntries(refused));
      assertEquals(await service.engine.output(agent.id, "late"), undefined);
    });
  }
});

test("a job's token opens its routes until then, for who has the claim alone", async () => {
  await using service = await HeldService.start();
  const agent = await (await service.play()).claims();
  const refused = Object.values(await askAll(agent, OTHER_CLAIM));
  assertEquals(new Set(refused), new Set([403]));
  await service.engine.stop(agent.id);
  const failed = Object.entries(await askAll(agent)).filter(([, status]) => status >= 300);
  // A job that is to end brings no files.
  assertEquals(failed, [["GET /:execution_id/files/:index", 422]]);
  assertEquals((await service.ended(agent.id)).outputs.map(({ path }) => path), ["late"]);
});

test("of two agents that are admitted before either claims, one gets the job", async () => {
  await using service = await HeldService.start();
  const { id } = await service.play();
  const desk = await service.engine.desk();
  const token = service.held.tokens.get(id) ?? "";
  const claims = await Promise.all([OTHER_CLAIM, "0123456789abcdef"].map(async (claimId) => {
    const pass = await desk.admit(id, token, claimId);
    assert(pass !== undefined);
    const host = `node ${claimId}`;
    return { pass, claim: { claimId, host, folder: "/work" } };
  }));
  const answers = await Promise.all(claims.map(({ pass, claim }) => desk.claim(pass, claim)));
  assertEquals(answers.toSorted(), ["claimed", "taken"]);
  const winner = claims[answers.indexOf("claimed")];
  assertEquals((await getJob(service.store, id))?.claim?.id, winner?.claim.claimId);
  // An answer that was lost is asked for again.
  const again = await Promise.all(claims.map(({ pass, claim }) => desk.claim(pass, claim)));
  assertEquals(again, answers);
  const { machine } = await service.record(id);
  assertEquals(machine, winner?.claim.host);
});

test("an output whose record is damaged is brought again before the end", async () => {
  await using service = await HeldService.start();
  const { kv } = service.store;
  const content = random(100);
  const damages: ((key: Deno.KvKey) => unknown)[] = [
    (key) => kv.set(key, "garbage"),
    () => {
      using database = new DatabaseSync(join(service.folder, "data", DATABASE_FILE), {
        timeout: 10_000,
      });
      database.exec("update kv set v = x'ff0fdeadbeef' where instr(k, 'job_output')");
    },
  ];
  for (const damage of damages) {
    const agent = await (await service.play()).claims();
    assertEquals(await agent.put("a", content), 200);
    await damage(["job_output", agent.id, hash("sha256", "a")]);
    assertEquals((await agent.said(`${END}&outputs=1`))[0], 409);
    assertEquals(await agent.put("a", content), 200);
    assertEquals(await agent.said(`${END}&outputs=1`), [200, "ended"]);
    assertEquals((await service.ended(agent.id)).outputs.map(({ path }) => path), ["a"]);
  }
});

test("an end may be repeated as it was, and not otherwise", async () => {
  await using service = await HeldService.start();
  const agent = await (await service.play()).claims();
  const report = { body: "%61\n" };
  for (let time = 0; time < 3; time++) {
    assertEquals(await agent.said(END, report), [200, "ended"]);
    if (time === 1) await closed(agent);
  }
  for (
    const [path, body] of [[END, "%62\n"], [END, ""], [
      `${END}&cause=stopped`,
      report.body,
    ]] as const
  ) {
    assertEquals((await agent.said(path, { body }))[0], 403, `${path} ${body}`);
  }
  assertEquals((await agent.said(END, { ...report, claim: OTHER_CLAIM }))[0], 403);
  assertEquals((await service.ended(agent.id)).exit_code, 0);
});

/** A body that comes in two halves, the second when a test says so. */
function inHalves(content: Uint8Array<ArrayBuffer>) {
  const begun = Promise.withResolvers<void>();
  const rest = Promise.withResolvers<void>();
  const middle = content.length >> 1;
  let part = 0;
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      if (part++ === 0) return controller.enqueue(content.subarray(0, middle));
      begun.resolve();
      await rest.promise;
      controller.enqueue(content.subarray(middle));
      controller.close();
    },
  }, { highWaterMark: 0 });
  return { body, begun: begun.promise, goOn: rest.resolve };
}

const random = (length: number) => {
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; at += 65_536) {
    crypto.getRandomValues(bytes.subarray(at, at + 65_536));
  }
  return bytes;
};

test("uploads with an end in their midst change no output that is listed", async () => {
  await using service = await HeldService.start();
  for (let round = 0; round < 12; round++) {
    const agent = await (await service.play()).claims();
    for (const path of ["a", "b", "c"]) assertEquals(await agent.put(path, random(2_000)), 200);
    // Of the same length as what is listed, of another, and new ones. Some never go on.
    const uploads = Array.from({ length: 6 }, () => {
      const path = "abcdef"[Math.floor(Math.random() * 6)] ?? "a";
      const content = random(Math.random() < 0.5 ? 2_000 : 1 + Math.floor(Math.random() * 200_000));
      const { body, begun, goOn } = inHalves(content);
      const sent = agent.said(agent.output(path, content), { method: "PUT", body })
        .then(([status]) => status, () => 0);
      return { begun: Promise.race([begun, sent]), goOn, sent, isStuck: Math.random() < 0.3 };
    });
    await Promise.all(uploads.map(({ begun }) => begun));
    const steps: (() => unknown)[] = uploads.filter(({ isStuck }) => !isStuck)
      .map(({ goOn }) => () => goOn());
    const end = async () => assertEquals(await agent.said(END), [200, "ended"]);
    steps.splice(Math.floor(Math.random() * (steps.length + 1)), 0, end);
    await Promise.all(steps.map((step) => step()));
    // Those that never go on break off.
    await Promise.all(uploads.map(({ sent }) => sent));
    for (const { goOn } of uploads) goOn();
    const { outputs } = await service.ended(agent.id);
    assert(outputs.length >= 3);
    for (const { path, sha256 } of outputs) {
      const output = await service.engine.output(agent.id, path);
      assertEquals(hash("sha256", await new Response(output?.stream).bytes()), sha256, path);
    }
  }
});

/** A folder whose agents are told to put outputs at an address. */
function addressed(folder: string): ArtifactStore {
  const store: ArtifactStore = new FolderStore(folder);
  store.presignPut = () => Promise.resolve({ url: "http://127.0.0.1:1/", checksum: "" });
  return store;
}

test("outputs have their limits whichever way they come, those under way counted", async () => {
  const folder = await Deno.makeTempDir();
  await using service = new HeldService(new HeldCluster(), folder, { outputsMax: 3 });
  const store = new FolderStore(`${folder}/artifacts`);
  const taking = Promise.withResolvers<void>();
  const put = store.put.bind(store);
  store.put = (...args) => {
    taking.resolve();
    return put(...args);
  };
  service.host.artifacts = store;
  await service.begin();
  const engine = { type: "remote", disk_mb: 1 };
  const direct = await (await service.play({ engine })).claims();
  assertEquals(await direct.put("large", random(3 * KIB * KIB)), 413);
  const first = random(700 * KIB);
  const { body, goOn } = inHalves(first);
  // An upload that does not go on would hold up the end of the service.
  using _end = { [Symbol.dispose]: goOn };
  const underWay = direct.said(direct.output("first", first), { method: "PUT", body });
  await taking.promise;
  assertEquals(await direct.put("second", random(700 * KIB)), 413);
  assertEquals(await direct.put("small", random(KIB)), 200);
  goOn();
  assertEquals(await underWay, [200, "stored"]);
  assertEquals(await direct.put("second", random(700 * KIB)), 413);
  // Its own bytes do not count twice.
  assertEquals(await direct.put("first", random(800 * KIB)), 200);
  const many = await Promise.all(
    Array.from({ length: 8 }, (_, nth) => direct.put(`many${nth}`, random(10))),
  );
  assertEquals(many.filter((status) => status === 200).length, 1);
  assertEquals(await direct.said(END), [200, "ended"]);
  assertEquals((await service.ended(direct.id)).outputs.length, 3);
});

test("addresses that were given count as what may come there", async () => {
  const folder = await Deno.makeTempDir();
  await using service = new HeldService(new HeldCluster(), folder, { outputsMax: 3 });
  service.host.artifacts = addressed(`${service.folder}/artifacts`);
  await service.begin();
  const agent = await (await service.play({ engine: { type: "remote", disk_mb: 1 } })).claims();
  const [one, two] = [random(700 * KIB), random(700 * KIB)];
  assertEquals(await agent.said(agent.output("one", one)), [200, "put"]);
  assertEquals((await agent.said(agent.output("two", two)))[0], 413);
  assertEquals(await agent.put("two", two), 413);
  // Where the address cannot be reached, the service takes it.
  assertEquals(await agent.put("one", one), 200);
  assertEquals(await agent.said(agent.output("two", random(10))), [200, "put"]);
  assertEquals(await agent.said(agent.output("three", random(10))), [200, "put"]);
  assertEquals((await agent.said(agent.output("four", random(10))))[0], 413);
});

test("an output whose check takes longer than its agent waits for the answer is checked once", async () => {
  const folder = await Deno.makeTempDir();
  await using service = new HeldService(new HeldCluster(), folder, {});
  const store = addressed(`${service.folder}/artifacts`);
  const checked = Promise.withResolvers<boolean>();
  let checks = 0;
  store.verify = () => {
    checks++;
    return checked.promise;
  };
  service.host.artifacts = store;
  await service.begin();
  const agent = await (await service.play()).claims();
  const output = agent.output("large", random(10));
  assertEquals(await agent.said(output), [200, "put"]);
  const asked = () => service.host.asked.filter((each) => each === "POST outputs").length;
  const before = asked();
  const answers = [agent.said(`${output}&put=1`), agent.said(`${output}&put=1`)];
  await until(() => asked() === before + answers.length);
  checked.resolve(true);
  assertEquals(await Promise.all(answers), [[200, "stored"], [200, "stored"]]);
  assertEquals(await agent.said(`${output}&put=1`), [200, "stored"]);
  assertEquals(checks, 1);
});
