/** Instances that share a database, and their machines. */
import { assertEquals, assertRejects } from "@std/assert";
import { ConflictError } from "../../../src/platform/errors.ts";
import { eventually, TestClock } from "../../surroundings.ts";
import { sharedStore } from "../fixture.ts";

Deno.test("instances: a copy of a data folder is refused while the instance of the other one lives", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = new TestClock();
  const machineId = crypto.randomUUID();
  await using first = await sharedStore(kv, clock, { machineId });
  await first.shared?.instances.takeMachine();
  await using second = await sharedStore(kv, clock, { leads: false, machineId });
  const take = async () => await second.shared?.instances.takeMachine();
  await assertRejects(take, ConflictError, "remove the file machine_id");
  const hasMachine = () =>
    first.shared?.instances.all.filter(({ has_machine }) => has_machine).map(({ isSelf }) =>
      isSelf
    );
  await eventually(() => hasMachine()?.length === 1 || undefined);
  assertEquals(hasMachine(), [true]);

  await first.shared?.leave();
  await take();
});
