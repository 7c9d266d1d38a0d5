/**
 * Requests that are turned away because too many wait: the sender is told when to come again, and the
 * operator that it happens.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { BodyReader } from "../../../src/http/body.ts";
import { UnavailableError } from "../../../src/platform/errors.ts";
import { Acceptor } from "../../../src/runs/accept.ts";
import { startService } from "../../data.ts";
import { collectLog } from "../../log_records.ts";
import { eventually } from "../../surroundings.ts";

/** Lets launches find that there is no room for them. */
function makeFull(): Disposable {
  const fullness = new UnavailableError("Cannot accept a launch: it is full", 1);
  return replaced(Acceptor.prototype, "fullness", { get: () => fullness });
}

/** Lets requests find no room for their bodies. */
function makeCrowded(): Disposable {
  const read = () => Promise.resolve({ body: { failure: "no_memory" }, [Symbol.dispose]() {} });
  return replaced(BodyReader.prototype, "read", { value: read });
}

function replaced(of: object, name: string, by: PropertyDescriptor): Disposable {
  const before = Object.getOwnPropertyDescriptor(of, name) ?? {};
  Object.defineProperty(of, name, { ...by, configurable: true });
  return { [Symbol.dispose]: () => void Object.defineProperty(of, name, before) };
}

const FULL = [
  ["launches for which there is no room", makeFull, "Cannot accept a launch: it is full"],
  [
    "launches whose bodies have no room",
    makeCrowded,
    "Cannot accept requests: too many bodies are arriving",
  ],
] as const;

for (const [what, fill, reason] of FULL) {
  Deno.test(`${what} are answered 503, and the log says so`, async () => {
    await using service = await startService();
    const { url } = await service.trigger({});
    await using log = await collectLog("warning");
    using _full = fill();
    // Not at once where something else was turned away in the same second.
    const { level, properties } = await eventually(async () => {
      const answer = await fetch(url, { method: "POST", body: "a" });
      assertEquals([answer.status, answer.headers.get("retry-after")], [503, "1"]);
      assertEquals(await answer.json(), { title: "Service Unavailable", status: 503 });
      return log.records[0];
    }, { what: "a line of the log" });
    assertEquals([level, properties.error], ["warning", reason]);
  });
}

Deno.test("run info is answered while there is no room for launches", async () => {
  await using service = await startService();
  const { url } = await service.trigger({});
  using _full = makeFull();
  const launched = await fetch(url, { method: "POST", body: "a" });
  const asked = await fetch(`${url}run/?run_id=01900000-0000-7000-8000-000000000001`);
  assertEquals([launched.status, asked.status], [503, 404]);
  await Promise.all([launched, asked].map(({ body }) => body?.cancel()));
});
