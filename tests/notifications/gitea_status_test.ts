/** Statuses on the commits of a real Gitea, whose webhooks start the runs. */
import { assertEquals } from "@std/assert";
import { ignoreMissing } from "../../src/platform/files/missing_file.ts";
import { eventually, SECRET, startService } from "../data.ts";
import { hasNoGitea, sharedGitea } from "../projects/code/hosts/gitea.ts";
import { GitFixture } from "../projects/code/git_fixture.ts";
import { temporaryFolder } from "../surroundings.ts";

/** Ends as the test says, once it says so. */
const STEP = (folder: string) => `
- step:
    name: train
    image: debian
    command: while [ ! -e '${folder}/code' ]; do sleep 0.05; done; exit $(cat '${folder}/code')
`;

Deno.test({
  name: "the commit of a push to a real Gitea gets the states of the work that it starts",
  ignore: hasNoGitea,
  async fn() {
    const gitea = await sharedGitea();
    await using folder = await temporaryFolder();
    await using service = await startService({ env: { GITEA_TOKEN: gitea.token } });
    await Deno.writeTextFile(`${service.folder}/project/valohai.yaml`, STEP(folder.path));
    const { url } = await service.trigger({
      name: "trained",
      conditions: [{ type: "hmac", preset: "gitea", secrets: [SECRET] }],
      actions: [{ type: "run_execution", step: "train" }],
    });
    const notifier = await service.api("PUT", "notifiers/commits/", {
      to: {
        type: "gitea_status",
        url: `http://${gitea.host}/api/v1/`,
        token: "{env:GITEA_TOKEN}",
        private_networks: true,
        description: { success: "{body.ref} is trained" },
      },
    });
    assertEquals(notifier.status, 201, JSON.stringify(notifier.body));
    const remote = await GitFixture.make(`${folder.path}/remote`, { a: "1" });
    await gitea.create("trained", remote.path);
    await gitea.hook("ann/trained", url, SECRET);
    const ends = [["0", "success", "refs/heads/main is trained"], [
      "3",
      "failure",
      "The work has failed",
    ]] as const;
    for (const [code, state, description] of ends) {
      await Deno.remove(`${folder.path}/code`).catch(ignoreMissing);
      const sha = await remote.commit({ a: `${code} for ${state}` });
      await gitea.push("trained", remote.path);
      const told = (count: number) =>
        eventually(async () => {
          const all = await gitea.statuses("ann/trained", sha);
          return all.length === count ? all : undefined;
        }, { what: `${count} statuses of the commit` });
      assertEquals((await told(1)).map(({ status }) => status), ["pending"]);
      await Deno.writeTextFile(`${folder.path}/code`, code);
      const [pending, end] = await told(2);
      assertEquals(end?.status, state);
      assertEquals([pending?.context, end?.context], ["hooklaunch/trained", "hooklaunch/trained"]);
      assertEquals([pending?.description, end?.description], ["The work goes on", description]);
      assertEquals(new URL(end?.target_url ?? "").origin, service.url);
    }
    await eventually(async () => {
      const { body: { results } } = await service.api("GET", "notifications/?notifier=commits");
      const states = results.map(({ status }: { status: string }) => status);
      return String(states) === "sent,sent" || undefined;
    }, { what: "the end of both notifications" });
  },
});
