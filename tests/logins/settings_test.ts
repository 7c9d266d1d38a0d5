/** The settings of identity providers: what a configuration file may say, with line and field of each mistake. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { checkConfig } from "../../src/config/check.ts";
import { parseConfig } from "../../src/config/document.ts";
import { InvalidInputError } from "../../src/platform/errors.ts";

const ROLE = { when: "claims.sub == 'a'", scope: "read" } as const;
const PROVIDER = {
  issuer: "https://login.example.com/realms/main",
  client_id: "hooklaunch",
  client_secret: "{env:OIDC_SECRET}",
  roles: [ROLE],
};

/** Mistakes, with the field and the words of the error. */
const MISTAKES: [what: string, oidc: unknown, pointer: string, detail: RegExp][] = [
  ["no issuer", { ...PROVIDER, issuer: undefined }, "/oidc/issuer", /./],
  [
    "plain HTTP",
    { ...PROVIDER, issuer: "http://login.example.com" },
    "/oidc/issuer",
    /Expected an https URL/,
  ],
  ["a query", { ...PROVIDER, issuer: "https://a.example/?x=1" }, "/oidc/issuer", /without a query/],
  ["a password", { ...PROVIDER, issuer: "https://a:b@a.example/" }, "/oidc/issuer", /https URL/],
  [
    "a literal secret",
    { ...PROVIDER, client_secret: "hunter2-hunter2" },
    "/oidc/client_secret",
    /^Expected \{env:NAME\} or \{file:\/path\}/,
  ],
  ["no roles", { ...PROVIDER, roles: [] }, "/oidc/roles", /./],
  [
    "a role without a scope",
    { ...PROVIDER, roles: [{ when: "true" }] },
    "/oidc/roles/0/scope",
    /./,
  ],
  [
    "another scope",
    { ...PROVIDER, roles: [{ ...ROLE, scope: "root" }] },
    "/oidc/roles/0/scope",
    /admin/,
  ],
  [
    "a broken condition",
    { ...PROVIDER, roles: [{ ...ROLE, when: "claims.a ==" }] },
    "/oidc/roles/0/when",
    /Syntax error/,
  ],
  [
    "another variable",
    { ...PROVIDER, roles: [{ ...ROLE, when: "user == 'a'" }] },
    "/oidc/roles/0/when",
    /Unknown variable 'user': there are claims/,
  ],
  [
    "a condition that is a text",
    { ...PROVIDER, roles: [{ ...ROLE, when: "'ops'" }] },
    "/oidc/roles/0/when",
    /Must be true or false/,
  ],
  [
    "a search in a search",
    {
      ...PROVIDER,
      roles: [{ ...ROLE, when: "claims.a.exists(x, claims.b.exists(y, x == y))" }],
    },
    "/oidc/roles/0/when",
    /more than once/,
  ],
  [
    "an empty limit",
    { ...PROVIDER, roles: [{ ...ROLE, triggers: [] }] },
    "/oidc/roles/0/triggers",
    /./,
  ],
  ["an unknown field", { ...PROVIDER, audience: "x" }, "/oidc/audience", /./],
  [
    "GitHub without its type",
    { ...PROVIDER, issuer: "https://github.com" },
    "/oidc/type",
    /github/,
  ],
  ["scopes without openid", { ...PROVIDER, scopes: ["email"] }, "/oidc/scopes", /openid/],
  ["one twice", [PROVIDER, PROVIDER], "/oidc/1/client_id", /a second time/],
  ["a mistake in a list", [PROVIDER, { ...PROVIDER, client_id: "" }], "/oidc/1/client_id", /./],
];

Deno.test("a mistake in a provider is told with its line and field", async (t) => {
  for (const [what, oidc, pointer, detail] of MISTAKES) {
    await t.step(what, () => {
      const text = JSON.stringify({ oidc }, null, 2);
      const error = assertThrows(() => parseConfig(text, "hooklaunch.yaml"), InvalidInputError);
      const [problem] = error.problems;
      assert(problem);
      assert(problem.pointer === pointer, `${problem.pointer}: ${problem.detail}`);
      assert(/line \d+/.test(problem.detail), problem.detail);
      assert(detail.test(problem.detail.replace(/^.*?line \d+, column \d+: /, "")), problem.detail);
      assert(!error.message.includes("hunter2"), error.message);
    });
  }
});

Deno.test("a provider gets its defaults", () => {
  const { oidc } = parseConfig(JSON.stringify({ oidc: PROVIDER }), "hooklaunch.yaml");
  assertEquals(oidc, [{
    ...PROVIDER,
    type: "oidc",
    name: "login.example.com",
    scopes: ["openid", "profile", "email"],
  }]);
  const github = { ...PROVIDER, type: "github", issuer: "https://github.com" };
  const [made] = parseConfig(JSON.stringify({ oidc: [github] }), "hooklaunch.yaml").oidc;
  assertEquals([made?.name, made?.scopes], ["GitHub", ["read:user", "user:email", "read:org"]]);
  assertEquals(parseConfig("oidc:", "hooklaunch.yaml").oidc, []);
});

Deno.test("a check warns of a client secret that is not there", async () => {
  const text = JSON.stringify({ oidc: [PROVIDER] });
  const surroundings = { path: "hooklaunch.yaml", folder: "/" };
  const missing = await checkConfig(text, { ...surroundings, env: {} });
  assertEquals(missing.warnings.map(({ pointer }) => pointer), ["/oidc/0/client_secret"]);
  const there = await checkConfig(text, { ...surroundings, env: { OIDC_SECRET: "x" } });
  assertEquals([there.warnings, there.errors], [[], []]);
});
