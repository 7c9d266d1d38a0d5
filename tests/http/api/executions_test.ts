/** The lists of executions, and the files that executions leave behind. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { attachment } from "../../../src/http/api/outputs.ts";
import { derivedId, newId } from "../../../src/platform/ids.ts";
import { datumId } from "../../../src/store/records/executions.ts";
import type { Store } from "../../../src/store/store.ts";
import { endOfExecution, startService } from "../../data.ts";
import { play, type Scenario } from "../scenario.ts";
import { AUTHORIZED, follow, launchCommand, serveRoutes, storeExecution } from "./fixture.ts";

interface Page {
  results: { id: string }[];
  next: string | null;
}

async function read(url: string): Promise<Page> {
  const answer = await fetch(url);
  assertEquals(answer.status, 200, url);
  return await answer.json();
}

/** The ids of all results, page by page. */
async function readAll(url: string): Promise<{ ids: string[]; pages: number }> {
  const ids: string[] = [];
  let pages = 0;
  for (let next: string | null = url; next !== null; pages++) {
    const page: Page = await read(next);
    ids.push(...page.results.map(({ id }) => id));
    next = page.next;
  }
  return { ids, pages };
}

Deno.test("executions are found by project, status and pipeline", async (t) => {
  await using routes = await serveRoutes();
  const { store, url } = routes;
  const made_ms = Date.now() - 1_000;
  const pipeline = newId(made_ms);
  const sameTime = newId(made_ms);
  const other = newId(Date.now());
  const node = (id: string, name: string, parts = {}) =>
    storeExecution(store, { id: derivedId(id, name), pipeline_id: id, node: name, ...parts });
  const ids = {
    plain: await storeExecution(store),
    ended: await storeExecution(store, { status: "error" }),
    elsewhere: await storeExecution(store, { project: "digits", status: "error" }),
    train: await node(pipeline, "train"),
    deploy: await node(pipeline, "deploy", { status: "error" }),
    sameTime: await node(sameTime, "train"),
    other: await node(other, "train"),
  };
  const cases: [query: string, ...names: (keyof typeof ids)[]][] = [
    ["", "plain", "ended", "elsewhere", "train", "deploy", "sameTime", "other"],
    ["project=digits", "elsewhere"],
    ["project=none"],
    ["status=error", "ended", "elsewhere", "deploy"],
    ["status=error&project=files", "ended", "deploy"],
    [`pipeline=${pipeline}`, "train", "deploy"],
    [`pipeline=${pipeline}&status=error`, "deploy"],
    [`pipeline=${newId(0)}`],
  ];
  for (const [query, ...names] of cases) {
    await t.step(query || "all", async () => {
      const expected = names.map((name) => ids[name]).sort().reverse();
      const base = `${url}/api/v0/executions/?${query}`;
      assertEquals((await readAll(base)).ids, expected);
      assertEquals((await readAll(`${base}&limit=1`)).ids, expected, "in pages of one");
    });
  }
});

Deno.test("a filter that nothing passes looks at so many records and no more", async () => {
  await using routes = await serveRoutes();
  const { store, url } = routes;
  const wanted = await storeExecution(store, { project: "digits" });
  await storeMany(store, 2_300);
  const first = await read(`${url}/api/v0/executions/?project=digits`);
  assertEquals(first.results, []);
  assert(first.next);
  assertEquals(new URL(first.next).searchParams.get("project"), "digits");
  const second = await read(first.next);
  assertEquals(second.results.map(({ id }) => id), [wanted]);
  assertEquals(second.next, null);
});

async function storeMany(store: Store, count: number): Promise<void> {
  const begun_ms = Date.now();
  await Promise.all(
    Array.from(
      { length: count },
      (_, index) => storeExecution(store, { id: newId(begun_ms + index) }),
    ),
  );
}

Deno.test("what cannot be asked for is refused, each with what is expected", async (t) => {
  await using routes = await serveRoutes();
  const cases: [query: string, pointer: string, detail: string][] = [
    ["status=done", "/status", 'Expected one of \\"created\\", \\"queued\\"'],
    ["project=../x", "/project", "letters, digits"],
    ["pipeline=0190", "/pipeline", "Expected a full id"],
    ["cursor=x", "/cursor", "Expected a full id"],
    ["limit=201", "/limit", "Expected a whole number from 1 to 200"],
    ["projct=x", "/projct", "Unknown field"],
  ];
  for (const [query, pointer, detail] of cases) {
    await t.step(query, async () => {
      await play(routes.url, {
        name: query,
        method: "GET",
        path: `/api/v0/executions/?${query}`,
        expectedStatus: 422,
        expectedContent: [`"pointer":"${pointer}"`, detail],
      });
    });
  }
});

Deno.test("an output is listed with its datum id, and downloaded as what it is", async (t) => {
  await using service = await startService();
  const name = '50% "é".txt';
  const id = await launchCommand(
    service,
    `mkdir "$VH_OUTPUTS_DIR/a b" && cd "$VH_OUTPUTS_DIR/a b" && printf hello > '${name}' && ` +
      `printf 'secret' > "$VH_OUTPUTS_DIR/../secret"; head -c 300000 /dev/zero > zeros`,
  );
  const { outputs } = await endOfExecution(service, id);
  const [output, zeros] = outputs;
  assertEquals([output.path, output.size], [`a b/${name}`, 5]);
  assertEquals(output.datum_id, datumId(id, output.path));
  const listed = await service.api("GET", "executions/?limit=1");
  assertEquals(listed.body.results[0].outputs, outputs);
  const base = `/api/v0/executions/${id}/outputs/`;
  const path = base + output.path.split("/").map(encodeURIComponent).join("/");
  const expectedHeaders = {
    "content-type": "application/octet-stream",
    "content-length": "5",
    "content-disposition":
      `attachment; filename="50_ ___.txt"; filename*=UTF-8''50%25%20%22%C3%A9%22.txt`,
    etag: `"${output.sha256}"`,
    "x-content-type-options": "nosniff",
  };
  const scenarios: Scenario[] = [
    { name: "GET", path, expectedStatus: 200, expectedBody: "hello", expectedHeaders },
    { name: "HEAD", method: "HEAD", path, expectedStatus: 200, expectedHeaders },
    {
      name: "what compresses has the same length",
      path: `${base}a%20b/zeros`,
      headers: { "accept-encoding": "gzip" },
      expectedStatus: 200,
      expectedHeaders: { "content-length": "300000", etag: `"${zeros.sha256}"` },
    },
    {
      name: "who has it gets it not again",
      path,
      headers: { "if-none-match": `"other", W/"${output.sha256}"` },
      expectedStatus: 304,
      expectedBody: "",
      expectedHeaders: { etag: `"${output.sha256}"` },
    },
    {
      name: "who has another one",
      path,
      headers: { "if-none-match": '"other"' },
      expectedStatus: 200,
    },
    { name: "what is not there", path: `${base}none`, expectedStatus: 404 },
    { name: "what is not an output", path: `${base}..%2Fsecret`, expectedStatus: 404 },
    { name: "no token", path, headers: { authorization: "" }, expectedStatus: 401 },
  ];
  for (const { headers, ...scenario } of scenarios) {
    await t.step(scenario.name, async () => {
      const all = { ...AUTHORIZED, ...headers };
      await play(service.url, { method: "GET", ...scenario, headers: all });
    });
  }
  await t.step("what was changed after the end is not sent as what it was", async () => {
    const file = `${service.folder}/data/executions/${id}/outputs/${output.path}`;
    await Deno.writeTextFile(file, "longer than before");
    await play(service.url, {
      name: "changed",
      method: "GET",
      path,
      headers: AUTHORIZED,
      expectedStatus: 409,
    });
  });
});

Deno.test("an output with a line break in its name is sent like any other", async () => {
  await using service = await startService();
  const command = `printf x > "$VH_OUTPUTS_DIR/$(printf 'report\\nx.txt')"`;
  const id = await launchCommand(service, command);
  const { outputs } = await endOfExecution(service, id);
  assertEquals(outputs.map(({ path }: { path: string }) => path), ["report\nx.txt"]);
  await play(service.url, {
    name: "a line break",
    method: "GET",
    path: `/api/v0/executions/${id}/outputs/report%0Ax.txt`,
    headers: AUTHORIZED,
    expectedStatus: 200,
    expectedBody: "x",
  });
});

Deno.test("a download that is broken off closes its file", async () => {
  await using service = await startService();
  const id = await launchCommand(service, `head -c 30000000 /dev/zero > "$VH_OUTPUTS_DIR/zeros"`);
  await endOfExecution(service, id);
  const answer = await fetch(`${service.url}/api/v0/executions/${id}/outputs/zeros`, {
    headers: AUTHORIZED,
  });
  // A file that is left open is seen by the check of resources at the end of the test.
  await answer.body?.cancel();
});

Deno.test("file names are quoted for old clients, and encoded for new ones", () => {
  assertEquals(attachment("model.pkl"), 'attachment; filename="model.pkl"');
  assertEquals(attachment('a"b'), `attachment; filename="a_b"; filename*=UTF-8''a%22b`);
  assertEquals(
    attachment("a'(b)*é"),
    `attachment; filename="a'(b)*_"; filename*=UTF-8''a%27%28b%29%2A%C3%A9`,
  );
  assertEquals(
    attachment("a\nb\ud800"),
    `attachment; filename="a_b_"; filename*=UTF-8''a%0Ab%EF%BF%BD`,
  );
});

Deno.test("an execution is stopped", async () => {
  await using service = await startService();
  const id = await launchCommand(service, "echo begun; sleep 30");
  await using log = await follow(service.url, id);
  assertStringIncludes((await log.next())?.data ?? "", "begun");
  const { status, body } = await service.api("POST", `executions/${id}/stop/`);
  assertEquals(status, 202);
  assert(["stopping", "stopped"].includes(body.status), body.status);
  const ended = await endOfExecution(service, id);
  assertEquals([ended.status, ended.reason], ["stopped", "Stopped by request"]);
  assertEquals((await service.api("POST", `executions/${id}/stop/`)).body.status, "stopped");
});

Deno.test("an execution does not show the credentials in the URLs of its inputs", async () => {
  await using routes = await serveRoutes();
  const url = "https://someone:s3cret@files.example/a.csv?x=@";
  const id = await storeExecution(routes.store, { inputs: { data: [{ name: "a.csv", url }] } });
  for (const path of ["executions/", `executions/${id}/`]) {
    const answer = await fetch(`${routes.url}/api/v0/${path}`);
    const text = await answer.text();
    assertEquals(answer.status, 200, text);
    assertStringIncludes(text, "https://********@files.example/a.csv?x=@");
    assert(!text.includes("s3cret"));
  }
});
