/** Secrets of projects: how they are set and shown, and which executions get them. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import {
  type ApiAnswer,
  endOfExecution,
  endOfRun,
  startService,
  type TestService,
} from "../../data.ts";
import { GitFixture } from "../../projects/code/git_fixture.ts";

const TOKEN = "hf_a-token-of-the-tests";
const OTHER = "hf_another-token-of-the-tests";
const MASK = "********";

interface Call {
  name: string;
  method: string;
  path: string;
  body?: unknown;
  status: number;
  /** Parts of the answer. */
  says?: string[];
}

const at = "projects/files/secrets/";

/** Calls in their order, on one service. */
const calls: Call[] = [
  { name: "none", method: "GET", path: at, status: 200, says: ['"results":[]'] },
  { name: "no project", method: "GET", path: "projects/none/secrets/", status: 404 },
  {
    name: "no project",
    method: "PUT",
    path: "projects/none/secrets/a/",
    body: { value: TOKEN },
    status: 404,
  },
  { name: "no value", method: "PUT", path: `${at}token/`, body: {}, status: 422, says: ["/value"] },
  { name: "an empty value", method: "PUT", path: `${at}token/`, body: { value: "" }, status: 422 },
  {
    name: "a short value",
    method: "PUT",
    path: `${at}token/`,
    body: { value: "1234567" },
    status: 422,
    says: ["Expected 8 characters or more, as a shorter secret cannot be masked in logs: found 7"],
  },
  { name: "blanks", method: "PUT", path: `${at}token/`, body: { value: "         " }, status: 422 },
  {
    name: "NUL",
    method: "PUT",
    path: `${at}token/`,
    body: { value: `${TOKEN}\0` },
    status: 422,
    says: ["NUL"],
  },
  {
    name: "64 KiB",
    method: "PUT",
    path: `${at}token/`,
    body: { value: "x".repeat(65_536) },
    status: 422,
    says: ["32768 characters"],
  },
  {
    name: "part of a reference",
    method: "PUT",
    path: `${at}token/`,
    body: { value: "a{env:TOKEN}" },
    status: 422,
  },
  {
    name: "no branches",
    method: "PUT",
    path: `${at}token/`,
    body: { value: TOKEN, branches: [] },
    status: 422,
  },
  {
    name: "a bad name",
    method: "PUT",
    path: `${at}${encodeURIComponent("a b")}/`,
    body: { value: TOKEN },
    status: 422,
  },
  {
    name: "a mask of nothing",
    method: "PUT",
    path: `${at}token/`,
    body: { value: MASK },
    status: 422,
    says: ["none is named"],
  },
  {
    name: "a new one",
    method: "PUT",
    path: `${at}token/`,
    body: { value: TOKEN },
    status: 201,
    says: ["fingerprint", MASK],
  },
  {
    name: "the same again",
    method: "PUT",
    path: `${at}token/`,
    body: { value: TOKEN },
    status: 200,
  },
  {
    name: "a variable that is not set",
    method: "PUT",
    path: `${at}from-env/`,
    body: { value: "{env:NOT_SET}" },
    status: 201,
    says: ["the service's {env:NOT_SET} cannot be read, or is empty"],
  },
  {
    name: "a variable",
    method: "PUT",
    path: `${at}from-env/`,
    body: { value: "{env:TOKEN}" },
    status: 200,
    says: ['"warnings":[]'],
  },
  { name: "a list", method: "GET", path: at, status: 200, says: ['"{env:TOKEN}"', MASK] },
  {
    name: "a project",
    method: "GET",
    path: "projects/files/",
    status: 200,
    says: [MASK, '"revision":4'],
  },
  {
    name: "the stored one for other branches",
    method: "PUT",
    path: `${at}token/`,
    body: { value: MASK, branches: ["*"] },
    status: 200,
    says: ['"branches":["*"]'],
  },
  { name: "removed", method: "DELETE", path: `${at}from-env/`, status: 204 },
  {
    name: "removed before",
    method: "DELETE",
    path: `${at}from-env/`,
    status: 404,
    says: ["no secret"],
  },
];

/** Fails where an answer tells a secret, or has it encrypted. */
function expectSecret({ body }: Pick<ApiAnswer, "body">, name: string): void {
  const text = JSON.stringify(body);
  for (const secret of [TOKEN, OTHER, "aes-256-gcm"]) {
    assertEquals(text.includes(secret), false, `${name}: ${text}`);
  }
}

Deno.test("secrets of a project are set, shown masked, kept by their names and removed", async () => {
  await using service = await startService({ env: { TOKEN: OTHER } });
  for (const { name, method, path, body, status, says = [] } of calls) {
    const answer = await service.api(method, path, body);
    const text = JSON.stringify(answer.body);
    assertEquals(answer.status, status, `${name}: ${text}`);
    for (const part of says) assertStringIncludes(text, part, name);
    expectSecret(answer, name);
  }
  const project = { directory: `${service.folder}/project` };
  const put = async (secrets?: unknown) => {
    const answer = await service.api("PUT", "projects/files/", {
      ...project,
      ...(secrets !== undefined && { secrets }),
    });
    expectSecret(answer, JSON.stringify(secrets));
    return answer;
  };
  const { body: { secrets: [{ fingerprint }], revision } } = await put();
  const same = await put([{ name: "token", value: MASK, branches: ["*"] }]);
  assertEquals([same.body.revision, same.body.secrets[0].fingerprint], [revision, fingerprint]);
  const sent = await put([{ name: "token", value: TOKEN, fingerprint, branches: ["*"] }]);
  assertEquals(sent.body.revision, revision);
  const rotated = await put([{ name: "token", value: OTHER }]);
  assertEquals(rotated.body.revision, revision + 1);
  assert(rotated.body.secrets[0].fingerprint !== fingerprint);
  assertEquals((await put([{ name: "renamed", value: MASK }])).status, 422);
  assertEquals((await put([{ name: "a", value: TOKEN }, { name: "a", value: TOKEN }])).status, 422);
  const value = "x".repeat(25_000);
  const many = [{ name: "one", value }, { name: "two", value }];
  assertStringIncludes((await put(many)).body.detail, "put long secrets into files");
  const stale = await fetch(`${service.url}/api/v0/projects/files/`, {
    method: "PUT",
    headers: { authorization: "Bearer an-operators-token-for-tests", "if-match": '"1"' },
    body: JSON.stringify({ ...project, secrets: [{ name: "token", value: TOKEN }] }),
  });
  expectSecret({ body: await stale.json() }, "stale");
  assertEquals(stale.status, 412);
  assertEquals((await put([])).body.secrets, undefined);
  const audit = await service.api("GET", "audit/?limit=200");
  assertStringIncludes(JSON.stringify(audit.body), "putProjectSecret");
  expectSecret(audit, "audit");
});

const STEPS = `
- step:
    name: show
    image: debian
    command: 'case "$TOKEN" in hf_a-*tests) echo "got $TOKEN" ;; *) echo "without: $TOKEN" ;; esac'
    environment-variables:
      - { name: TOKEN, default: "{secret:token}" }
      - { name: TEXT, default: "{env:HOME}" }
`;

async function launched(service: TestService, url: string, body: unknown = {}) {
  const sent = await fetch(url, { method: "POST", body: JSON.stringify(body) });
  const { actions } = await endOfRun(service, await sent.text());
  const id = actions[0].created?.execution_id;
  assert(id !== undefined, JSON.stringify(actions));
  const execution = await endOfExecution(service, id);
  const log = await service.api("GET", `executions/${id}/log/`);
  return { execution, log: JSON.stringify(log.body.results) };
}

/** Branches of a secret, a commit, and if the commit gets it. */
const branches: [branches: string[] | undefined, commit: string, expected: string][] = [
  [undefined, "main", "got"],
  [undefined, "HEAD", "got"],
  [undefined, "v1", "got"],
  [
    undefined,
    "stranger",
    'commits of the default branch alone get it, and this commit is on \\"stranger\\"',
  ],
  [undefined, "a-tag", "and this commit is on no branch"],
  [["release/*"], "release/1", "got"],
  [["release/*", "main"], "main", "got"],
  [["release/*"], "stranger", "commits of these branches alone get it: release/*"],
  [["main"], "release/1", "commits of these branches alone get it: main"],
  [["*"], "stranger", "got"],
  [["*"], "a-tag", "and this commit is on no branch"],
];

Deno.test("a secret goes to commits of its branches, and to no other project", async () => {
  await using service = await startService();
  const remote = await GitFixture.make(join(service.folder, "remote"), { "valohai.yaml": STEPS });
  await remote.git("tag", "v1");
  for (const branch of ["stranger", "release/1", "gone"]) {
    await remote.git("checkout", "--quiet", "-b", branch, "main");
    await remote.commit({ [branch]: "x" });
  }
  await remote.git("tag", "a-tag");
  await remote.git("checkout", "--quiet", "main");
  await remote.git("branch", "--delete", "--force", "gone");
  const repository = `file://${remote.path}`;
  await service.api("PUT", "projects/code/", { repository });
  await service.api("PUT", "projects/other/", { repository });
  for (const name of ["code", "other"]) await service.api("POST", `projects/${name}/fetch/`);
  const settings = { response: { type: "text", text: "{run_id}" } };
  const action = { type: "run_execution", step: "show" };
  const { id, url } = await service.trigger({ ...settings, project: "code", actions: [action] });
  for (const [patterns, commit, expected] of branches) {
    const secret = { value: TOKEN, ...(patterns && { branches: patterns }) };
    await service.api("PUT", "projects/code/secrets/token/", secret);
    await service.api("PATCH", `triggers/${id}/`, { actions: [{ ...action, commit }] });
    const { execution, log } = await launched(service, url);
    const text = JSON.stringify(execution.reason ?? "") + log;
    const what = expected === "got" ? `got ${MASK}` : expected;
    assertStringIncludes(text, what, `${patterns} ${commit}`);
    assertEquals(execution.status, expected === "got" ? "complete" : "error");
    assertEquals(JSON.stringify([execution, log]).includes(TOKEN), false);
    assertEquals(execution.secrets, { TOKEN: { name: "token" } });
    assertEquals(execution.environment_variables, {});
  }
  const saved = await service.trigger({
    ...settings,
    project: "other",
    actions: [{ ...action, commit: "main" }],
  });
  assertStringIncludes(
    JSON.stringify(saved),
    'The variable TOKEN names the secret \\"token\\", which project \\"other\\" does not have',
  );
  const { execution } = await launched(service, saved.url);
  assertStringIncludes(execution.reason, 'which project "other" does not have');
  const { body: project } = await service.api("PUT", "projects/other/", { repository });
  assertStringIncludes(JSON.stringify(project.warnings), 'Step \\"show\\" cannot run');
  const contents = JSON.stringify((await service.api("GET", "projects/code/contents/")).body);
  assertStringIncludes(contents, "{env:HOME} is not read here");
  assertEquals(contents.includes("cannot run"), false);
});

Deno.test("what a sender or an action sets in place of a secret is text", async () => {
  await using service = await startService();
  await Deno.writeTextFile(`${service.folder}/project/valohai.yaml`, STEPS);
  await service.api("PUT", "projects/files/secrets/token/", { value: TOKEN });
  const { url } = await service.trigger({
    response: { type: "text", text: "{run_id}" },
    actions: [{ type: "run_execution", step: "show", environment: { TOKEN: "{body.token}" } }],
  });
  const { execution, log } = await launched(service, url, { token: "{secret:token}" });
  assertEquals([execution.status, execution.secrets], ["complete", undefined]);
  assertStringIncludes(log, "without: {secret:token}");
});
