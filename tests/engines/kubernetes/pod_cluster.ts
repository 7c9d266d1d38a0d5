/**
 * A cluster for tests whose jobs are pods in all but name: the programs of both containers run as processes of
 * this machine, the one of the step's image with processes of its own.
 *
 * @module
 */
import { join } from "node:path";
import main from "../../../src/engines/kubernetes/main.sh" with { type: "text" };
import sidecar from "../../../src/engines/kubernetes/sidecar.sh" with { type: "text" };
import { TestCluster } from "../remote/test_cluster.ts";

/** Starts both containers, and ends the agent's when the other has ended, as the kubelet does. */
const RUN = `
sh ./sidecar.sh & sidecar=$!
unshare --pid --fork --kill-child sh ./main.sh; code=$?
kill -TERM $sidecar; wait $sidecar; exit $code`;

/** Runs jobs as such pods. */
export class PodCluster extends TestCluster {
  protected override async prepare(folder: string, script: string): Promise<void> {
    const here = (text: string) =>
      text.replaceAll("/hooklaunch-agent", folder).replaceAll(
        /(?<=[ =])\/hooklaunch(?=[ \n])/g,
        folder,
      );
    await Deno.writeTextFile(join(folder, "agent"), script);
    await Deno.writeTextFile(join(folder, "main.sh"), here(main));
    await Deno.writeTextFile(join(folder, "sidecar.sh"), here(sidecar));
    await super.prepare(folder, RUN);
  }
}
