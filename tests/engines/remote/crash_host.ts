/**
 * A process that hosts a remote engine, for tests that kill it. It is given a folder, the port for agents and how
 * many executions to submit; it tells when all of them are stored.
 *
 * @module
 */
import { saveExecution } from "../../../src/store/records/executions.ts";
import { RemoteService } from "./fixture.ts";

const [folder = "", port = "0", count = "0"] = Deno.args;
const service = new RemoteService(folder, {}, { port: Number(port) });
await service.begin();
const executions = Array.from({ length: Number(count) }, (_, index) =>
  service.execution(
    `echo ${index} >>${folder}/ran; echo begun
    for i in 1 2 3; do sleep 0.${index % 5}; echo "line $i"; done
    echo x >$VH_OUTPUTS_DIR/x; exit ${index}`,
  ));
for (const execution of executions) {
  await service.store.committer.commit(saveExecution(execution));
}
console.log(JSON.stringify(executions.map(({ id }) => id)));
for (const execution of executions) service.engine.submit(execution);
// It ends by being killed, however fast its work is done.
setInterval(() => {}, 60_000);
