/**
 * A process that hosts an engine, for tests that kill it. It is given a folder, how many executions to
 * submit, and what they have in common; it tells when all of them are stored.
 *
 * @module
 */
import { saveExecution } from "../../../src/store/records/executions.ts";
import { EngineFixture } from "../fixture.ts";

const [folder = "", count = "0", fields = "{}"] = Deno.args;
const fixture = await EngineFixture.make({ executionsMax: 3 }, folder);
const executions = Array.from({ length: Number(count) }, (_, index) =>
  fixture.execution(
    `[ ! -d ${folder} ] || echo ${index} >>${folder}/ran
    echo begun; sleep 0.0${index % 7}; echo done; exit ${index}`,
    JSON.parse(fields),
  ));
for (const execution of executions) {
  await fixture.store.committer.commit(saveExecution(execution));
}
console.log(JSON.stringify(executions.map(({ id }) => id)));
for (const execution of executions) fixture.engine.submit(execution);
// It ends by being killed, however fast its work is done.
setInterval(() => {}, 60_000);
