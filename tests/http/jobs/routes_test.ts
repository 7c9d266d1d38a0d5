/** What agents get, and what nobody gets who has no right to it. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { hash } from "node:crypto";
import type { Jobs } from "../../../src/http/app.ts";
import { BodyReader } from "../../../src/http/body.ts";
import { newId } from "../../../src/platform/ids.ts";
import { ADMIN_TOKEN, startService } from "../../data.ts";
import { ARRIVAL, routesOf } from "../routes.ts";
import { FolderDesk, type GivenJob } from "./desk.ts";

const CLAIM = "0123456789abcdef";
const OTHER_CLAIM = "fedcba9876543210";

interface Sent {
  method?: string;
  token?: string;
  claim?: string | undefined;
  body?: BodyInit;
  headers?: Record<string, string>;
}

/** The routes of a service with a desk that has two jobs. */
async function withJobs(
  test: (parts: {
    desk: FolderDesk;
    job: GivenJob;
    other: GivenJob;
    ask(path: string, sent?: Sent): Promise<Response>;
  }) => Promise<void>,
  options: Partial<Jobs> & { secure?: boolean } = {},
) {
  const folder = await Deno.makeTempDir();
  await using service = await startService();
  using bodies = new BodyReader();
  const desk = new FolderDesk(folder);
  const [job, other] = ["hlj_first", "hlj_second"].map((token) => {
    const given: GivenJob = { id: newId(Date.now()), token, command: "true" };
    desk.give(given);
    return given;
  }) as [GivenJob, GivenJob];
  const { secure = true, ...jobs } = options;
  const app = routesOf(service, {
    bodies,
    peerOf: () => ({ ip: "127.0.0.1", secure }),
  }, { deskOf: () => Promise.resolve(desk), ...jobs });
  const ask = async (
    path: string,
    { method = "POST", token = job.token, claim = CLAIM, body, headers = {} }: Sent = {},
  ) => {
    const request = new Request(`http://service/api/v0/jobs/${path}`, {
      method,
      headers: {
        host: "service",
        authorization: `Bearer ${token}`,
        ...(claim && { "hooklaunch-claim": claim }),
        ...headers,
      },
      ...(body === undefined ? {} : { body }),
    });
    return await app.fetch(request, ARRIVAL);
  };
  try {
    await test({ desk, job, other, ask });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const claimed = ({ id }: GivenJob) => `${id}/claim?host=node1&folder=/work`;
const output = ({ id }: GivenJob, content: string, path = "a") =>
  `${id}/outputs?path=${path}&size=${content.length}&sha256=${hash("sha256", content)}`;

Deno.test("a token opens its own execution alone, and every refusal is the same", () =>
  withJobs(async ({ desk, job, other, ask }) => {
    assertEquals((await ask(claimed(job))).status, 200);
    assertEquals(
      (await ask(claimed(other), { token: other.token, claim: OTHER_CLAIM })).status,
      200,
    );
    const pass = { executionId: other.id, tokenHash: "", claimId: OTHER_CLAIM, hasEnded: false };
    await desk.end(pass, {
      digest: "",
      notUploaded: [],
      logEnds: { stdout: 0, stderr: 0 },
    });
    const cases: [what: string, path: (job: GivenJob) => string, sent: Sent][] = [
      ["a forged token", ({ id }) => `${id}/manifest`, { token: "hlj_forged", method: "GET" }],
      ["a foreign token", ({ id }) => `${id}/beat`, { token: other.token }],
      ["an operator's token", ({ id }) => `${id}/beat`, { token: ADMIN_TOKEN }],
      ["no token", ({ id }) => `${id}/end`, { headers: { authorization: "" } }],
      ["no token at a file", ({ id }) => `${id}/files/0`, {
        method: "GET",
        headers: { authorization: "Basic eDp5" },
      }],
      ["an unknown execution", () => `${newId(Date.now())}/claim`, {}],
      ["what is no id", () => "..%2f..%2fetc/claim", {}],
      ["a claim that is none", ({ id }) => `${id}/beat`, { claim: "../../x" }],
      ["a token after its end", () => `${other.id}/claim`, { token: other.token }],
    ];
    const bodies = new Set<string>();
    for (const [what, path, sent] of cases) {
      const answer = await ask(path(job), sent);
      assertEquals(answer.status, 403, what);
      bodies.add(await answer.text());
    }
    assertEquals(bodies.size, 1);
    // Nor does it open what operators read.
    const operators = await ask(`../executions/${job.id}`, { method: "GET" });
    assertEquals(operators.status, 401);
  }));

Deno.test("a claim is the first agent's, who may repeat it", () =>
  withJobs(async ({ desk, job, ask }) => {
    const first = await ask(claimed(job));
    assertEquals([first.status, await first.text()], [200, "claimed\nok\n"]);
    assertEquals((await ask(claimed(job))).status, 200);
    const second = await ask(claimed(job), { claim: OTHER_CLAIM });
    assertEquals(second.status, 409);
    assertStringIncludes(await second.text(), '"title":"Job request refused"');
    assertEquals(desk.state(job.id).claim, { claimId: CLAIM, host: "node1", folder: "/work" });
    const nobody = await ask(claimed(job), { claim: "" });
    assertEquals(nobody.status, 422);
  }));

Deno.test("a manifest is lines, with every byte of a path that is not plain in octal", () =>
  withJobs(async ({ desk, ask }) => {
    const id = newId(Date.now());
    const content = new TextEncoder().encode("x");
    desk.give({
      id,
      token: "hlj_third",
      command: "true",
      files: [{ path: "inputs/d/ö \\$(x)\n", content }],
      limits: { timeLimitS: 60, folders: ["inputs/d e"] },
    });
    const sent = { token: "hlj_third" };
    await ask(`${id}/claim?host=n&folder=/w`, sent);
    const preparing = await ask(`${id}/manifest`, { ...sent, method: "GET" });
    assertEquals([preparing.status, await preparing.text()], [202, "preparing\nok\n"]);
    const answer = await ask(`${id}/manifest`, { ...sent, method: "GET" });
    const text = await answer.text();
    const late = await ask(`${id}/claim?host=n&folder=/w&manifest=1`, sent);
    assertEquals([late.status, await late.text()], [201, `claimed\n${text}`]);
    const lines = text.split("\n");
    assert(lines.includes("limit time 60"));
    assert(lines.includes("folder inputs/d\\0040e"));
    const sum = hash("sha256", content);
    assert(
      lines.includes(
        `file 2 file 600 1 ${sum} inputs/d/\\0303\\0266\\0040\\0134\\0044\\0050x\\0051\\0012`,
      ),
      lines.join("\n"),
    );
    assertEquals(lines.slice(-2), ["ok", ""]);
    const file = await ask(`${id}/files/2`, { ...sent, method: "GET" });
    assertEquals([file.headers.get("content-length"), await file.text()], ["1", "x"]);
    assertEquals((await ask(`${id}/files/3`, { ...sent, method: "GET" })).status, 422);
  }));

Deno.test("an upload is checked by its size and its SHA-256", () =>
  withJobs(async ({ desk, job, ask }) => {
    await ask(claimed(job));
    const put = (path: string, body: string, headers = {}) =>
      ask(path, { method: "PUT", body, headers });
    const key = `executions/${job.id}/outputs/a`;
    for (const body of ["other", "short", "much longer"]) {
      assertEquals((await put(output(job, "bytes"), body)).status, 422, body);
      assertEquals(await desk.artifacts.open(key), undefined);
    }
    const announced = await put(output(job, "bytes"), "bytes", { "content-length": "7" });
    assertEquals(announced.status, 422);
    assertEquals(await (await ask(output(job, "bytes"))).text(), "send\nok\n");
    assertEquals((await put(output(job, "bytes"), "bytes")).status, 200);
    assertEquals(await (await ask(output(job, "bytes"))).text(), "stored\nok\n");
    const outside = await put(output(job, "bytes", "../../x"), "bytes");
    assertEquals(outside.status, 422);
    const large = await ask(`${job.id}/outputs?path=a&size=2000000&sha256=${"0".repeat(64)}`);
    assertEquals(large.status, 413);
  }));

Deno.test("what an agent sends is bounded and checked", () =>
  withJobs(async ({ desk, job, ask }) => {
    await ask(claimed(job));
    const beat = `${job.id}/beat?stream=stdout&offset=0&state=running`;
    const large = await ask(beat, { body: new Uint8Array(600 * 1024) });
    assertEquals(large.status, 413);
    assertEquals(desk.stream(job.id, "stdout"), "");
    for (
      const query of [
        "stream=stdin&offset=0&state=running",
        "stream=stdout&offset=-1&state=running",
        "stream=stdout&offset=0&state=x",
      ]
    ) {
      assertEquals((await ask(`${job.id}/beat?${query}`)).status, 422, query);
    }
    assertEquals((await ask(`${job.id}/end?stdout=0&stderr=0&exit_code=x`)).status, 422);
    const ahead = await ask(`${job.id}/end?stdout=5&stderr=0&exit_code=0`);
    assertEquals(ahead.status, 409);
    const ended = await ask(`${job.id}/end?stdout=0&stderr=0&exit_code=3`, { body: "%61%20b\n" });
    assertEquals(ended.status, 200);
    assertEquals(desk.state(job.id).end?.notUploaded, ["a "]);
    assertEquals((await ask(`${job.id}/unknown`)).status, 404);
  }));

Deno.test("jobs use HTTPS, unless the owner allows plain HTTP", async () => {
  await withJobs(async ({ job, ask }) => {
    const answer = await ask(claimed(job));
    assertEquals(answer.status, 403);
    assertStringIncludes(await answer.text(), "HTTPS is required");
  }, { secure: false });
  await withJobs(async ({ job, ask }) => {
    assertEquals((await ask(claimed(job))).status, 200);
    assertEquals((await ask("../triggers/", { method: "GET" })).status, 403);
  }, { secure: false, allowsHttp: true });
});
