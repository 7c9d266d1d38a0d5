/** Logins at GitHub, which has no OpenID Connect: a server with the answers of its API. */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { hash } from "node:crypto";
import { applyText } from "../../src/config/apply_text.ts";
import { startService } from "../data.ts";
import { Browser, type Seen, textOf } from "../http/console/fixture.ts";
import { beginLogin, comeBack } from "./issuer.ts";

const SECRET = "a-secret-at-github";

/** Answers as GitHub does, for one person. */
function startGitHub() {
  const state = {
    challenge: "",
    teams: 101,
    emails: 200,
    isVerified: true,
    token: {} as object,
    limited: "",
  };
  const answers: Record<string, (url: URL) => unknown> = {
    "/api/v3/user": () => ({
      id: 583231,
      login: "octocat",
      name: "Octo Cat",
      email: "x@evil.example",
    }),
    "/api/v3/user/emails": () => [
      { email: "spare@example.com", primary: false, verified: true },
      { email: "octo@example.com", primary: true, verified: state.isVerified },
    ],
    "/api/v3/user/orgs": () => [{ login: "example" }],
    "/api/v3/user/teams": (url) => {
      const page = Number(url.searchParams.get("page"));
      const count = Math.min(100, state.teams - 100 * (page - 1));
      return Array.from({ length: count }, (_, index) => ({
        slug: `team-${100 * (page - 1) + index}`,
        organization: { login: "example" },
      }));
    },
  };
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    const url = new URL(request.url);
    if (url.pathname === "/login/oauth/access_token") {
      const sent = new URLSearchParams(await request.text());
      const isRight = sent.get("client_secret") === SECRET && sent.get("client_id") === "app" &&
        hash("sha256", sent.get("code_verifier") ?? "", "base64url") === state.challenge;
      if (!isRight) return Response.json({ error: "incorrect_client_credentials" });
      return sent.get("code") === "right"
        ? Response.json({ access_token: "gho_x", token_type: "bearer", scope: "", ...state.token })
        : Response.json({ error: "bad_verification_code", error_description: "It has expired." });
    }
    if (request.headers.get("authorization") !== "Bearer gho_x") {
      return new Response("", { status: 401 });
    }
    if (url.pathname.endsWith("/emails") && state.emails !== 200) {
      return Response.json({ message: "Not Found" }, { status: state.emails });
    }
    if (url.pathname.endsWith("/orgs") && state.limited !== "") {
      const message = "You have exceeded a secondary rate limit.";
      const headers = { [state.limited]: state.limited === "retry-after" ? "60" : "0" };
      return Response.json({ message }, { status: 403, headers });
    }
    const answer = answers[url.pathname];
    return answer ? Response.json(answer(url)) : Response.json({}, { status: 404 });
  });
  return { url: `http://127.0.0.1:${server.addr.port}`, state, stop: () => server.shutdown() };
}

Deno.test("people log in at GitHub by their login, address, organisations and teams", async (t) => {
  await using service = await startService({ env: { GITHUB: SECRET, WRONG: "another" } });
  const github = startGitHub();
  const configure = async (when: string, client_secret = "{env:GITHUB}") => {
    const oidc = {
      type: "github",
      issuer: github.url,
      client_id: "app",
      client_secret,
      name: "GitHub",
      roles: [{ when, scope: "operate" }],
    };
    const text = JSON.stringify({ oidc });
    await Array.fromAsync(applyText(text, "hooklaunch.yaml", service.service.parts));
  };
  const ISS = `${github.url}/login/oauth`;
  const logIn = async (browser: Browser, code = "right", iss?: string): Promise<Seen> => {
    const start = new URL(await beginLogin(browser));
    assertEquals([start.origin, start.pathname], [github.url, "/login/oauth/authorize"]);
    assertEquals(start.searchParams.get("scope"), "read:user user:email read:org");
    github.state.challenge = start.searchParams.get("code_challenge") ?? "";
    const back = new URL(start.searchParams.get("redirect_uri") ?? "");
    back.searchParams.set("code", code);
    if (iss !== undefined) back.searchParams.set("iss", iss);
    back.searchParams.set("state", start.searchParams.get("state") ?? "");
    return await comeBack(browser, back.href);
  };
  const roles: [when: string, isIn: boolean][] = [
    ["claims.login == 'octocat'", true],
    ["claims.id == 583231", true],
    ["claims.sub == '583231'", true],
    ["claims.email == 'octo@example.com' && claims.email_verified", true],
    ["claims.email == 'x@evil.example'", false],
    ["'example' in claims.orgs", true],
    ["'example/team-100' in claims.teams", true],
    ["'other' in claims.orgs", false],
  ];
  for (const [when, isIn] of roles) {
    await t.step(when, async () => {
      await configure(when);
      const browser = new Browser(service.url);
      assertEquals((await logIn(browser)).status, isIn ? 303 : 403);
      const { status, text } = await browser.get("triggers");
      assertEquals(status, isIn ? 200 : 303);
      if (isIn) assertStringIncludes(text, "octo@example.com, scope: operate");
    });
  }
  await t.step("without the right to see addresses, the login is the name", async () => {
    await configure("!has(claims.email)");
    github.state.emails = 404;
    const browser = new Browser(service.url);
    assertEquals((await logIn(browser)).status, 303);
    assertStringIncludes((await browser.get("triggers")).text, "octocat, scope: operate");
    github.state.emails = 200;
  });
  await t.step("an address that is not verified is nobody's", async () => {
    await configure("!has(claims.email) && !has(claims.email_verified)");
    github.state.isVerified = false;
    assertEquals((await logIn(new Browser(service.url))).status, 303);
    github.state.isVerified = true;
  });
  await t.step("the issuer in the answer is GitHub's own", async () => {
    await configure("true");
    assertEquals((await logIn(new Browser(service.url), "right", ISS)).status, 303);
    const { text } = await logIn(new Browser(service.url), "right", "https://evil.example");
    assertStringIncludes(text, "Cause: token_invalid.");
  });
  for (const header of ["retry-after", "x-ratelimit-remaining"]) {
    await t.step(`a limit of requests takes no role away: ${header}`, async () => {
      await configure("'example' in claims.orgs");
      const browser = new Browser(service.url);
      await logIn(browser);
      github.state.limited = header;
      const again = await logIn(new Browser(service.url));
      github.state.limited = "";
      assertStringIncludes(again.text, "Cause: answer_wrong.");
      assertEquals((await browser.get("triggers")).status, 200);
    });
  }
  const failures: [what: string, cause: string, says: RegExp, act: () => Promise<Seen>][] = [
    ["an old code", "code_refused", /does not accept the code/, async () => {
      await configure("true");
      return await logIn(new Browser(service.url), "old");
    }],
    ["a wrong secret", "client_secret_wrong", /does not accept the client secret/, async () => {
      await configure("true", "{env:WRONG}");
      return await logIn(new Browser(service.url));
    }],
    ["no token", "answer_wrong", /no answer that can be used/, async () => {
      await configure("true");
      github.state.token = { access_token: null };
      return await logIn(new Browser(service.url));
    }],
    ["an API that refuses the token", "answer_wrong", /no answer that can be used/, async () => {
      await configure("true");
      github.state.token = { access_token: "gho_other" };
      return await logIn(new Browser(service.url));
    }],
  ];
  for (const [what, cause, says, act] of failures) {
    await t.step(what, async () => {
      const seen = await act();
      assertStringIncludes(seen.text, `Cause: ${cause}.`);
      assertMatch(textOf(seen), says);
    });
  }
  await github.stop();
});
