/**
 * What a request takes of the service's limits is given back with its answer: as many again are
 * answered as the limit holds.
 */
import { assert, assertEquals } from "@std/assert";
import { deadline } from "@std/async/deadline";
import { ignoreTimeout } from "../../../src/platform/waiting/promises.ts";
import { UnavailableError } from "../../../src/platform/errors.ts";
import { BodyReader } from "../../../src/http/body.ts";
import { DatabaseDeadline } from "../../../src/http/door/database_deadline.ts";
import { startService } from "../../data.ts";
import { standIn } from "../../store/fixture.ts";
import { eventually, PATIENCE_MS } from "../../surroundings.ts";
import { ARRIVAL, routesOf } from "../routes.ts";
import { REJECTED } from "../scenario.ts";

const MIB = 1_024 * 1_024;

Deno.test("a request takes a place among those under way until it is answered, and no longer", async () => {
  await using service = await startService();
  const { url } = await service.trigger({ enabled: false });
  using bodies = new BodyReader();
  const app = routesOf(service, { bodies });
  const statuses = new Map<number, number>();
  // More than the 4,096 that may be under way.
  for (let turn = 0; turn < 4_200; turn++) {
    const answer = await app.fetch(new Request(url, { method: "POST", body: "x" }), ARRIVAL);
    await answer.body?.cancel();
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
  }
  assertEquals(statuses, new Map([[400, 4_200]]));
});

Deno.test("a body takes memory until its request is answered, and no longer", async () => {
  await using service = await startService();
  // It is refused by what only its body shows.
  const { id, url } = await service.trigger({
    conditions: [{ type: "static_token", in: "body", name: "token", secrets: ["let-me-in"] }],
  });
  using bodies = new BodyReader({ bodies_bytes_max: 16 * MIB });
  const app = routesOf(service, { bodies });
  const body = new Uint8Array(2 * MIB);
  // More than bodies may take together, one at a time.
  for (let turn = 0; turn < 9; turn++) {
    const answer = await app.fetch(new Request(url, { method: "POST", body }), ARRIVAL);
    assertEquals([answer.status, await answer.text()], [400, REJECTED], `body ${turn}`);
  }
  // A long body is hashed for the log after its answer.
  await eventually(async () => {
    const { body: { results } } = await service.api("GET", `triggers/${id}/log/`);
    return results.length === 9 || undefined;
  }, { what: "the refusals in the log" });
});

Deno.test("more than 4,096 launches do not wait for their answers, and run info is answered beside them", async () => {
  await using service = await startService();
  const { id } = await service.trigger();
  const gate = Promise.withResolvers<void>();
  let waiting = 0;
  const accept = async () => {
    waiting++;
    await gate.promise;
    return { repeatOf: id };
  };
  using bodies = new BodyReader();
  const acceptor = standIn(service.service.parts.acceptor, { accept });
  // However long a machine takes to send so many, the first ones wait.
  using databaseDeadline = new DatabaseDeadline({ timeout_ms: PATIENCE_MS });
  const app = routesOf(service, { bodies, acceptor, databaseDeadline });
  const path = `http://localhost/api/v0/launch/${id}/`;
  const launch = async () => {
    const answer = await app.fetch(new Request(path, { method: "POST", body: "x" }), ARRIVAL);
    return [answer.status, answer.headers.get("retry-after")];
  };
  const launches: Promise<unknown>[] = [];
  while (launches.length < 4_096) {
    for (let count = 0; count < 512; count++) launches.push(launch());
    await eventually(() => waiting === launches.length ? true : undefined);
  }
  assertEquals(await deadline(launch(), PATIENCE_MS).catch(ignoreTimeout), [503, "1"]);
  const asked = await app.fetch(new Request(`${path}run/?run_id=${id}`), ARRIVAL);
  assertEquals(asked.status, 404);
  gate.resolve();
  assertEquals(new Set((await Promise.all(launches)).map(String)), new Set(["200,"]));
  assertEquals(await launch(), [200, null]);
});

Deno.test("a launch that cannot be stored is answered 503, one that fails otherwise 500, and neither says why", async () => {
  await using service = await startService();
  const { id } = await service.trigger();
  using bodies = new BodyReader();
  const path = `http://localhost/api/v0/launch/${id}/`;
  for (
    const [error, status, retryAfter] of [
      [new UnavailableError("Cannot store: the disk of /srv is full", 5), 503, "5"],
      [new TypeError("x of /srv is not a function"), 500, null],
    ] as const
  ) {
    const acceptor = standIn(service.service.parts.acceptor, {
      accept: () => Promise.reject(error),
    });
    const app = routesOf(service, { bodies, acceptor });
    const answer = await app.fetch(new Request(path, { method: "POST", body: "x" }), ARRIVAL);
    assertEquals([answer.status, answer.headers.get("retry-after")], [status, retryAfter]);
    assertEquals(answer.headers.get("content-type"), "application/problem+json");
    assert(!(await answer.text()).includes("/srv"));
  }
});

Deno.test("while the service stops launches are turned away, and run info is answered", async () => {
  await using service = await startService();
  const { id } = await service.trigger();
  using bodies = new BodyReader();
  const app = routesOf(service, { bodies, closing: AbortSignal.abort() });
  const path = `http://localhost/api/v0/launch/${id}/`;
  const launched = await app.fetch(new Request(path, { method: "POST", body: "x" }), ARRIVAL);
  assertEquals([launched.status, launched.headers.get("retry-after")], [503, "1"]);
  const asked = await app.fetch(new Request(`${path}run/?run_id=${id}`), ARRIVAL);
  assertEquals(asked.status, 404);
  assertEquals((await service.api("GET", `triggers/${id}/runs/`)).body.results, []);
});
