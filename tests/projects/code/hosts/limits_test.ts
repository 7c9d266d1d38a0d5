/** Requests to the API of a host: few, conditional, bounded, and with its refusals told. */
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import type { Clock } from "../../../../src/platform/clock.ts";
import { systemClock } from "../../../../src/platform/clock.ts";
import { ActionError } from "../../../../src/platform/errors.ts";
import { configFile } from "../git_fixture.ts";
import { hosted } from "./fixture.ts";

Deno.test("github: a launch asks nothing, and a fetch asks once whether anything is new", async () => {
  await using host = await hosted("github");
  const { server, remote } = host;
  assert(server);
  const projects = host.projects();
  const project = host.project();
  const at = `/api/v3/repos/${server.name}`;
  const asked = () => server.requests.splice(0);
  const head = await remote.git("rev-parse", "HEAD");
  await Promise.all(Array.from({ length: 5 }, () => projects.resolve(project, "HEAD")));
  assertEquals(asked(), [
    `200 ${at}/commits/HEAD`,
    `200 ${at}/contents/valohai.yaml?ref=${head}`,
  ]);
  for (const reference of ["HEAD", "HEAD"]) await projects.resolve(project, reference);
  assertEquals(asked(), []);

  const fetch = () => projects.fetch(project, undefined, { lists: false });
  await fetch();
  assertEquals(asked(), [`304 ${at}/commits/HEAD`]);
  // Whoever comes while one fetch runs shares the next.
  await Promise.all(Array.from({ length: 8 }, fetch));
  assertEquals(asked(), [`304 ${at}/commits/HEAD`, `304 ${at}/commits/HEAD`]);

  const newer = await remote.commit({ "valohai.yaml": configFile("newer") });
  await fetch();
  assertEquals(asked(), [
    `200 ${at}/commits/HEAD`,
    `200 ${at}/contents/valohai.yaml?ref=${newer}`,
  ]);
  // A hash is a commit for ever.
  for (let count = 0; count < 3; count++) {
    await projects.resolve(project, head);
    await fetch();
  }
  assertEquals(asked().filter((request) => request.includes(head)), [`200 ${at}/commits/${head}`]);
  await projects.close();
});

Deno.test("a host that refuses more requests is left alone until it takes them again", async () => {
  let time_ms = Date.parse("2026-01-01T00:00:00Z");
  const clock: Clock = { ...systemClock, now: () => time_ms };
  const reset = String(time_ms / 1_000 + 90);
  const cases: [kind: "github" | "gitlab", refusal: ResponseInit, wait_s: number][] = [
    ["github", {
      status: 403,
      headers: { "x-ratelimit-remaining": "0", "x-ratelimit-reset": reset },
    }, 90],
    ["github", { status: 403, headers: { "retry-after": "60" } }, 60],
    ["github", { status: 429, headers: { "retry-after": "30" } }, 30],
    ["gitlab", { status: 429, headers: { "ratelimit-reset": reset } }, 90],
    ["gitlab", { status: 429 }, 60],
    ["gitlab", {
      status: 429,
      headers: { "retry-after": new Date(time_ms + 45_000).toUTCString() },
    }, 45],
  ];
  for (const kind of ["github", "gitlab"] as const) {
    await using host = await hosted(kind);
    const { server } = host;
    assert(server);
    for (const [, refusal, wait_s] of cases.filter(([of]) => of === kind)) {
      const projects = host.projects({ clock });
      server.instead = () => new Response("{}", refusal);
      const fetch = () => projects.fetch(host.project());
      server.requests.length = 0;
      for (let count = 0; count < 3; count++) {
        const { message } = await assertRejects(fetch, ActionError);
        assertMatch(
          message,
          new RegExp(`refuses more requests for now: try again in ${wait_s} s$`),
        );
      }
      assertEquals(server.requests.length, 1);
      server.instead = undefined;
      time_ms += wait_s * 1_000;
      await fetch();
      time_ms -= wait_s * 1_000;
      await projects.close();
    }
  }
});

Deno.test("a host that fails for a moment is asked again, and what it answers is bounded", async () => {
  await using host = await hosted("github");
  const { server, remote } = host;
  assert(server);
  const projects = host.projects();
  const project = host.project();
  let failures = 2;
  const soon = { status: 502, headers: { "retry-after": "0" } };
  server.instead = () => failures-- > 0 ? new Response("<html>", soon) : undefined;
  await projects.fetch(project, undefined, { lists: false });
  assertEquals(server.requests.slice(0, 3).map((request) => request.slice(0, 3)), [
    ...["502", "502", "200"],
  ]);

  const head = await remote.git("rev-parse", "HEAD");
  const cases: [answer: () => Response, says: RegExp][] = [
    [
      () => new Response("", soon),
      /GitHub fails with status 502: look at its state, and try again later$/,
    ],
    [
      () => new Response("", { status: 403 }),
      /forbids it \(403\): the token needs read access to the contents/,
    ],
    [() => new Response("no hash"), /names no commit in its answer: check the address of its API$/],
    [() => new Response("x".repeat(2 * 1024 ** 2)), /expected at most 1048576 bytes$/],
    [
      () => new Response("", { status: 418 }),
      /status 418, expected 200: check that its API is at http:/,
    ],
    [() => Response.redirect("http://elsewhere.test/x"), /redirects to elsewhere\.test\/x: /],
    [
      () => new Response(null, { status: 302, headers: { location: "file:///etc/passwd" } }),
      /redirects to the scheme "file:"/,
    ],
  ];
  for (const [answer, says] of cases) {
    server.instead = answer;
    const { message } = await assertRejects(() => projects.fetch(project), ActionError);
    assertMatch(message, says);
  }
  const large = "x".repeat(1024 ** 2 + 1);
  server.instead = ({ url }) => url.includes("/contents/") ? new Response(large) : undefined;
  const other = { ...project, config_file: "other.yaml" };
  const { message } = await assertRejects(() => projects.resolve(other, head), ActionError);
  assertMatch(message, /Cannot read other\.yaml of commit .*: expected at most 1048576 bytes$/);
  await projects.close();
});

Deno.test("a host is asked at the address that its project names", async () => {
  await using host = await hosted("gitlab");
  const { server } = host;
  assert(server);
  const projects = host.projects();
  const project = { ...host.project(), api_url: `http://${host.host}/api/v4/` };
  await projects.resolve(project, "HEAD");
  const elsewhere = { ...project, api_url: `http://${host.host}/gitlab/api/v4` };
  const { message } = await assertRejects(() => projects.resolve(elsewhere, "HEAD"), ActionError);
  assertMatch(message, /no repository at http:\/\/127\.0\.0\.1:\d+\/gitlab\/api\/v4\/projects\//);
  await projects.close();
});
