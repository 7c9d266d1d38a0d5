/**
 * The bundled pipeline with containers, from the webhook to the model that is tested.
 *
 * @module
 */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { dirname } from "node:path";
import { EXAMPLES } from "../../src/demo/examples.ts";
import { eventually, startService } from "../data.ts";
import { hasContainers, makeImage } from "../engines/local/containers.ts";

for (const program of ["docker", "podman"] as const) {
  Deno.test({
    name: `a webhook trains and tests a model in containers of ${program}`,
    ignore: !hasContainers(program),
    async fn() {
      const image = await makeImage(program);
      await using service = await startService();
      const directory = `${service.folder}/flowers`;
      const { project, body } = EXAMPLES.pipeline;
      for (const [name, text] of Object.entries(project)) {
        await Deno.mkdir(dirname(`${directory}/${name}`), { recursive: true });
        const own = text.replaceAll("busybox:stable", image);
        await Deno.writeTextFile(`${directory}/${name}`, own);
      }
      const engine = { type: "local", runner: program };
      const put = await service.api("PUT", "projects/flowers/", {
        name: "flowers",
        directory,
        engine,
      });
      assertEquals(put.status, 201, JSON.stringify(put.body));
      const { url } = await service.trigger({
        project: "flowers",
        actions: [{
          type: "run_pipeline",
          pipeline: "Train and test",
          payload_input_name: "ingest.labels",
        }],
        response: { type: "text", text: "{run_id}" },
      });
      const headers = { "content-type": "application/json" };
      const runId = await (await fetch(url, { method: "POST", headers, body })).text();
      const info = await (await fetch(`${url}run/?run_id=${runId}&wait=20`)).json();
      const pipeline = await eventually(async () => {
        const { body } = await service.api("GET", `pipelines/${info.result[0].pipeline_id}/`);
        return body.ended_at === undefined ? undefined : body;
      }, { what: "the end of the pipeline" });
      assertEquals(pipeline.status, "complete", JSON.stringify(pipeline.nodes));
      const tested = pipeline.nodes[2].execution_id;
      const { body: log } = await service.api("GET", `executions/${tested}/log/`);
      assertStringIncludes(JSON.stringify(log), "10 of 10 flowers were classified correctly.");
      const { body: execution } = await service.api("GET", `executions/${tested}/`);
      assertEquals([execution.engine, execution.metadata], [engine, { accuracy: 1 }]);
    },
  });
}
