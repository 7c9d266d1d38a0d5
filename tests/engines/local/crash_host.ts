/**
 * A process that hosts an engine, for tests that kill it. It is given a folder, how many executions to
 * submit, and what they have in common; it tells when all of them are stored. Every second one is tried again.
 *
 * @module
 */
import { saveExecution } from "../../../src/store/records/executions.ts";
import { firstAttempt } from "../../../src/store/records/attempts.ts";
import { EngineFixture } from "../fixture.ts";

const RETRY = { attempts: 2, first: 0.02, factor: 1, exit_codes: "*" as const };

const [folder = "", count = "0", fields = "{}"] = Deno.args;
const fixture = await EngineFixture.make({ executionsMax: 3 }, folder);
const executions = Array.from({ length: Number(count) }, (_, index) =>
  fixture.execution(
    `[ ! -d ${folder} ] || echo ${index} >>${folder}/ran
    echo begun; sleep 0.0${index % 7}; echo done; exit ${index}`,
    { ...JSON.parse(fields), ...(index % 2 ? { retry: RETRY } : {}) },
  ));
const attempts = executions.map(firstAttempt);
for (const attempt of attempts) {
  await fixture.store.committer.commit(saveExecution(attempt));
}
console.log(JSON.stringify(executions.map(({ id }) => id)));
for (const attempt of attempts) fixture.engine.submit(attempt);
// It ends by being killed, however fast its work is done.
setInterval(() => {}, 60_000);
