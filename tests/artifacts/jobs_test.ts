/** Jobs whose artifacts lie in an S3 bucket. */
import { assert, assertEquals } from "@std/assert";
import { hash } from "node:crypto";
import { RemoteService } from "../engines/remote/fixture.ts";
import { has } from "../needs.ts";
import { eventually } from "../surroundings.ts";
import { hasNoS3, S3Server } from "./s3_server.ts";

const ignore = hasNoS3 || !has("curl");

/** A remote engine with a bucket. */
async function serviceOn(server: S3Server): Promise<RemoteService> {
  const service = new RemoteService(await Deno.makeTempDir(), {});
  service.host.artifacts = server.store({ patience_ms: 1_000, pause_ms: 50, answer_ms: 30_000 });
  await service.begin();
  return service;
}

Deno.test(
  "a job puts its outputs into the bucket by URL, and they and its log are read from there",
  { ignore },
  async () => {
    await using server = await S3Server.start();
    await using service = await serviceOn(server);
    const command = "echo printed; cd ../outputs; mkdir 'a b'; echo small >'a b/ö'; " +
      "head -c 3000000 /dev/zero >large; echo last";
    const id = await service.submit(command);
    const ended = await service.ended(id);
    assertEquals([ended.status, ended.reason], ["complete", undefined]);
    assertEquals(ended.outputs.map(({ path, size }) => [path, size]), [["a b/ö", 6], [
      "large",
      3_000_000,
    ]]);
    // None of the files came through the service.
    assertEquals(service.host.asked.filter((asked) => asked === "PUT outputs"), []);
    await eventually(() => server.files().some((path) => path.endsWith("/log")) || undefined);
    const key = `some prefix/executions/${id}`;
    assertEquals(server.files(), [`${key}/log`, `${key}/outputs/a b/ö`, `${key}/outputs/large`]);
    const output = await service.engine.output(id, "large");
    const bytes = await new Response(output?.stream).bytes();
    assertEquals(hash("sha256", bytes), hash("sha256", new Uint8Array(3_000_000)));
    assertEquals(await service.printed(id, "stdout"), ["printed", "last"]);
    await service.engine.forget(id);
    assertEquals(server.files(), []);
  },
);

Deno.test("a job gets large inputs from the bucket by URL", { ignore }, async () => {
  await using server = await S3Server.start();
  await using service = await serviceOn(server);
  const first = await service.run(
    "head -c 3000000 /dev/urandom >../outputs/large; echo x >../outputs/small",
  );
  const inputs = {
    data: first.outputs.map((output) => ({
      ...output,
      name: output.path,
      output_of: first.id,
    })),
  };
  const second = await service.run(
    "cat ../inputs/data/* | sha256sum; wc -c <../inputs/data/large",
    { inputs },
  );
  assertEquals([second.status, second.reason], ["complete", undefined]);
  assertEquals(service.host.redirects, 1);
  const [sum, size] = await service.printed(second.id, "stdout");
  assertEquals(size, "3000000");
  const contents = await Promise.all(first.outputs.map(async ({ path }) => {
    const output = await service.engine.output(first.id, path);
    return await new Response(output?.stream).bytes();
  }));
  assertEquals(sum, `${hash("sha256", await new Blob(contents).bytes())}  -`);
});

Deno.test("a job waits for a bucket that fails, and loses nothing", { ignore }, async () => {
  await using server = await S3Server.start();
  await using service = await serviceOn(server);
  for (const mode of [500, 403] as const) {
    server.mode = mode;
    const id = await service.submit("echo printed; echo result >../outputs/file");
    await eventually(async () => {
      const lines = await service.printed(id, "stdout");
      return lines.length > 0 && server.failed > 2 || undefined;
    }, { within_ms: 20_000 });
    assert((await service.record(id)).status !== "complete");
    server.mode = "pass";
    server.failed = 0;
    const ended = await service.ended(id);
    assertEquals([ended.status, ended.outputs.length], ["complete", 1], String(mode));
    const output = await service.engine.output(id, "file");
    assertEquals(await new Response(output?.stream).text(), "result\n");
  }
});

Deno.test(
  "where jobs do not reach the bucket, the service takes their outputs",
  { ignore },
  async () => {
    await using server = await S3Server.start();
    await using service = await serviceOn(server);
    const { artifacts } = service.host;
    assert(artifacts);
    const presignPut = artifacts.presignPut.bind(artifacts);
    artifacts.presignPut = async (...args) => {
      const put = await presignPut(...args);
      return put && { ...put, url: put.url.replace(server.url, "http://127.0.0.1:1") };
    };
    const id = await service.submit("echo result >../outputs/file");
    assertEquals((await service.ended(id)).outputs.length, 1);
    assert(service.host.asked.includes("PUT outputs"));
    const output = await service.engine.output(id, "file");
    assertEquals(await new Response(output?.stream).text(), "result\n");
  },
);
