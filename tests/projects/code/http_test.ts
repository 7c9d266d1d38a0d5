/**
 * Repositories over smart HTTP, with and without credentials: that these reach the server that they
 * are for, and nothing and nobody else; and that a fetch is ended together with all that it started.
 *
 * @module
 */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ActionError } from "../../../src/platform/errors.ts";
import type { Projects } from "../../../src/projects/mod.ts";
import { eventually } from "../../surroundings.ts";
import {
  configFile,
  GitFixture,
  processesWith,
  projectOf,
  setUp,
  TemporaryFolder,
  textsIn,
} from "./git_fixture.ts";
import { basic, GitServer } from "./http_server.ts";

/** Nothing else on the machine holds it. */
const UNIQUE = crypto.randomUUID();
const PASSWORD = `${UNIQUE}/pass word%41`;
const VARIABLES: Record<string, string> = {
  GIT_USER: "robot",
  GIT_PASSWORD: PASSWORD,
  EMPTY: "",
  LINES: `${UNIQUE}\nhost=elsewhere`,
};
const env = (name: string) => VARIABLES[name];
const AUTHORIZATION = basic("robot", PASSWORD);

Deno.test("http: a repository is cloned, fetched and checked out", async () => {
  await using folder = new TemporaryFolder();
  const { remote, hash, projects } = await setUp(folder);
  await using server = new GitServer(folder.path);
  const project = projectOf(`http://${server.host}/remote/.git`);
  assertEquals((await projects.resolve(project, "main")).commit, hash);
  const newer = await remote.commit({ "a.txt": "a" });
  assertEquals(await projects.fetch(project), { branches: { main: newer } });
  await projects.checkout("digits", newer, join(folder.path, "copy"));
  assertEquals(await Deno.readTextFile(join(folder.path, "copy/a.txt")), "a");
  // A dumb server would have been asked for objects, one by one.
  assert(server.requests.includes("POST /remote/.git/git-upload-pack"));
  assert(!server.requests.some((request) => request.includes("/objects/")));
});

Deno.test("http: what a project that was given another address launches is from there, whatever goes on for the old one", async () => {
  await using folder = new TemporaryFolder();
  const { hash, dataFolder, projects } = await setUp(folder);
  const other = await GitFixture.make(join(folder.path, "other"), {
    "valohai.yaml": configFile("other"),
  });
  const goOn = Promise.withResolvers<void>();
  let isSlow = false;
  const before = async () => {
    if (isSlow) await goOn.promise;
  };
  await using server = new GitServer(folder.path, { before });
  // The server ends when it has answered.
  using stack = new DisposableStack();
  stack.defer(() => goOn.resolve());
  const old = projectOf(`http://${server.host}/remote/.git`);
  const changed = projectOf(other.path);
  await projects.resolve(old, "main");
  isSlow = true;
  const asked = server.requests.length;
  const fetching = projects.fetch(old);
  await eventually(() => server.requests.length > asked ? true : undefined);
  const launching = projects.resolve(changed, "main");
  const fetchingAgain = projects.fetch(changed);
  const origin = join(dataFolder, "projects/digits/origin.json");
  await eventually(async () =>
    (await Deno.readTextFile(origin)).includes(other.path) ? true : undefined
  );
  // An action that had begun before the change.
  assertEquals((await projects.resolve(old, hash)).commit, hash);
  goOn.resolve();
  assertEquals([...(await launching).config.steps.keys()], ["other"]);
  const newest = await other.git("rev-parse", "HEAD");
  assertEquals(await fetchingAgain, { branches: { main: newest } });
  assertEquals(await fetching, { branches: { main: hash } });
});

Deno.test("https: a server is believed whose certificate the service is told to trust, and no other", async () => {
  await using folder = new TemporaryFolder();
  const { hash, projects } = await setUp(folder, { env });
  const path = (name: string) => new URL(`../../http/localhost_${name}.pem`, import.meta.url);
  const tls = {
    cert: Deno.readTextFileSync(path("cert")),
    key: Deno.readTextFileSync(path("key")),
  };
  await using server = new GitServer(folder.path, { authorization: AUTHORIZATION, tls });
  const project = projectOf(`https://robot:{env:GIT_PASSWORD}@${server.host}/remote/.git`);
  const error = await assertRejects(() => projects.fetch(project), ActionError, "Cannot fetch");
  assertStringIncludes(error.message, "certificate");
  assertEquals(server.requests, [], "no credentials are sent to a stranger");
  Deno.env.set("GIT_SSL_CAINFO", fileURLToPath(path("ca")));
  try {
    assertEquals((await projects.resolve(project, "main")).commit, hash);
  } finally {
    Deno.env.delete("GIT_SSL_CAINFO");
  }
});

for (
  const [name, userInfo, authorization] of [
    ["a password", "robot:{env:GIT_PASSWORD}", AUTHORIZATION],
    ["a user name and a password", "{env:GIT_USER}:{env:GIT_PASSWORD}", AUTHORIZATION],
    ["a token alone", "{env:GIT_PASSWORD}", basic(PASSWORD, "")],
    ["an escaped user name", "ro%62ot:{env:GIT_PASSWORD}", AUTHORIZATION],
  ] as const
) {
  Deno.test(`http: ${name} of the environment opens a repository`, async () => {
    await using folder = new TemporaryFolder();
    const { hash, projects } = await setUp(folder, { env });
    await using server = new GitServer(folder.path, { authorization });
    const project = projectOf(`http://${userInfo}@${server.host}/remote/.git`);
    assertEquals((await projects.resolve(project, "main")).commit, hash);
  });
}

Deno.test("http: credentials that are missing or wrong are told, and not shown", async () => {
  await using folder = new TemporaryFolder();
  const { projects } = await setUp(folder, { env });
  await using server = new GitServer(folder.path, {
    authorization: basic("robot", "another"),
    // As some servers do, on the way to git's own message.
    before: (request) =>
      Promise.resolve(
        request.headers.has("authorization")
          ? new Response(
            [PASSWORD, encodeURIComponent(PASSWORD), request.headers.get("authorization")].join(),
            { status: 403, headers: { "content-type": "text/plain" } },
          )
          : undefined,
      ),
  });
  for (
    const [userInfo, says] of [
      ["robot:{env:GIT_PASSWORD}@", "403"],
      ["robot:{env:NOT_THERE}@", "the environment variable NOT_THERE is not set"],
      ["robot:{env:EMPTY}@", "the environment variable EMPTY is not set"],
      ["robot:{env:LINES}@", "the environment variable LINES holds a line break"],
      ["", "could not read Username"],
    ] as const
  ) {
    const project = projectOf(`http://${userInfo}${server.host}/remote/.git`);
    const error = await assertRejects(() => projects.fetch(project), ActionError, "Cannot fetch");
    assertStringIncludes(error.message, says);
    assert(!error.message.includes(UNIQUE), error.message);
    assert(!error.message.includes(AUTHORIZATION), error.message);
  }
});

Deno.test("http: another port of this machine, to which a server redirects, is asked for nothing", async () => {
  await using folder = new TemporaryFolder();
  const { hash, projects } = await setUp(folder, { env });
  await using other = new GitServer(folder.path);
  await using server = new GitServer(folder.path, {
    before: (request) => {
      const to = new URL(request.url);
      to.host = other.host;
      return Promise.resolve(Response.redirect(to, 302));
    },
  });
  const project = projectOf(`http://robot:{env:GIT_PASSWORD}@${server.host}/remote/.git`);
  await assertRejects(() => projects.resolve(project, hash), ActionError, "no public address");
  assertEquals(other.requests, []);
});

Deno.test("http: while a fetch runs, credentials are in no command line and no file", async () => {
  await using folder = new TemporaryFolder();
  const { hash, dataFolder, projects } = await setUp(folder, { env });
  const asked = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  await using server = new GitServer(folder.path, {
    authorization: AUTHORIZATION,
    before: async (request) => {
      if (request.method !== "POST") return;
      asked.resolve();
      await goOn.promise;
    },
  });
  const project = projectOf(`http://robot:{env:GIT_PASSWORD}@${server.host}/remote/.git`);
  const resolving = projects.resolve(project, "main");
  await asked.promise;
  const running = [...(await processesWith(server.host)).values()];
  const secret = [...(await processesWith(UNIQUE)).values()];
  const files = await Array.fromAsync(textsIn(dataFolder));
  goOn.resolve();
  assertEquals((await resolving).commit, hash);
  assert(running.some((line) => line.includes("git-remote-http")), running.join("\n"));
  assertEquals(secret, []);
  files.push(...await Array.fromAsync(textsIn(dataFolder)));
  assert(files.some(([path]) => path.endsWith("mirror.git/config")));
  const telling = files.filter(([, text]) => text.includes(UNIQUE) || text.includes(AUTHORIZATION));
  assertEquals(telling.map(([path]) => path), []);
});

Deno.test("http: a fetch whose time is up leaves no process behind", async () => {
  await using folder = new TemporaryFolder();
  const { projects } = await setUp(folder, { env, fetchTimeout_ms: 700 });
  const end = Promise.withResolvers<void>();
  await using server = new GitServer(folder.path, {
    before: (request) => request.method === "POST" ? end.promise : Promise.resolve(),
  });
  const project = projectOf(`http://${server.host}/remote/.git`);
  await assertRejects(() => projects.fetch(project), ActionError, "given up after 0.7 s");
  const left = [...(await processesWith(server.host)).values()];
  end.resolve();
  assertEquals(left, []);
});

for (
  const [name, end] of [
    ["a service that stops", (projects: Projects) => projects.close()],
    [
      "a project that is removed",
      async (projects: Projects) => (await projects.forget("digits"))(),
    ],
  ] as const
) {
  Deno.test(`http: ${name} leaves no fetch behind`, async () => {
    await using folder = new TemporaryFolder();
    const { dataFolder, projects } = await setUp(folder, { env });
    const asked = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    await using server = new GitServer(folder.path, {
      before: async () => {
        asked.resolve();
        await goOn.promise;
      },
    });
    const project = projectOf(`http://${server.host}/remote/.git`);
    const [fetching, next] = [projects.fetch(project), projects.fetch(project)].map((fetch) =>
      assertRejects(
        () => fetch,
        ActionError,
        "ended, as the service stops or the project is removed",
      )
    );
    await asked.promise;
    await end(projects);
    const left = [...(await processesWith(server.host)).values()];
    goOn.resolve();
    assertEquals(left, []);
    await Promise.all([fetching, next]);
    const kept = await Array.fromAsync(Deno.readDir(join(dataFolder, "projects/digits")))
      .catch(() => []);
    assertEquals(kept.filter(({ name }) => name !== "origin.json"), []);
  });
}

Deno.test("http: a git that is killed while it fetches is started again", async () => {
  await using folder = new TemporaryFolder();
  const { remote, projects } = await setUp(folder, { env });
  const before: (() => Promise<void>)[] = [];
  await using server = new GitServer(folder.path, {
    before: async () => await before.pop()?.(),
  });
  const project = projectOf(`http://${server.host}/remote/.git`);
  await projects.resolve(project, "main");
  const newer = await remote.commit({ "a.txt": "a" });
  const asked = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  before.push(async () => {
    asked.resolve();
    await goOn.promise;
  });
  const fetching = projects.fetch(project);
  await asked.promise;
  const gits = await eventually(async () => {
    const running = await processesWith(`${server.host}/remote/.git`);
    return running.size > 0 ? running : undefined;
  }, { what: "git" });
  const args = ["-c", 'kill -s KILL -- "$@"', "sh", ...[...gits.keys()].map(String)];
  await new Deno.Command("sh", { args, stderr: "null" }).output();
  goOn.resolve();
  assertEquals(await fetching, { branches: { main: newer } });
});

Deno.test("http: fetches of a project never overlap, and many become two", async () => {
  await using folder = new TemporaryFolder();
  const { remote, projects } = await setUp(folder);
  let atOnce = 0;
  let atOnceMax = 0;
  await using server = new GitServer(folder.path, {
    before: async () => {
      atOnceMax = Math.max(atOnceMax, ++atOnce);
      await new Promise((resolve) => setTimeout(resolve, 20));
      atOnce--;
    },
  });
  const project = projectOf(`http://${server.host}/remote/.git`);
  await projects.resolve(project, "main");
  const newer = await remote.commit({ "a.txt": "a" });
  server.requests.length = 0;
  const results = await Promise.all(Array.from({ length: 8 }, () => projects.fetch(project)));
  assertEquals(results, results.map(() => ({ branches: { main: newer } })));
  assertEquals(server.requests.filter((request) => request.startsWith("GET")).length, 2);
  assertEquals(atOnceMax, 1);
  assertEquals(await projects.fetch(project), { branches: { main: newer } });
});
