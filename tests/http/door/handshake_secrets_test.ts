/**
 * The secret of a handshake: what it signs for a stranger passes no condition, and what a sender shows of it is kept
 * nowhere.
 */
import { assert, assertEquals } from "@std/assert";
import { createHmac } from "node:crypto";
import { ADMIN_TOKEN, startService } from "../../data.ts";
import { play, REJECTED } from "../scenario.ts";

const SECRET = "secret-of-both-the-handshake-and-the-condition";

const signing = {
  method: "GET",
  secret: SECRET,
  response: { type: "text", text: "{hmac_sha256_hex(secret, query.x)}" },
};

function signedBy(signed_content: string): Record<string, unknown> {
  return {
    type: "hmac",
    algorithm: "sha256",
    header: "X-Sig",
    secrets: [SECRET],
    signed_content,
    ...(signed_content.includes("{timestamp}") && {
      timestamp: { in: "header", name: "X-Time", format: "unix_s" },
    }),
  };
}

interface Forgery {
  template: string;
  body: string;
  /** Default: the handshake signs it. */
  isGenuine?: true;
}

const forgeries: Forgery[] = [
  { template: "{body}", body: "123" },
  { template: "{body}", body: "dGV4dA==" },
  { template: "{timestamp}{body}", body: "" },
  { template: "{timestamp}{body}", body: "deploy" },
  { template: "{body}{timestamp}", body: "deploy" },
  { template: "hmacsha256={body}", body: "" },
  { template: "{body}", body: '{"a":1}', isGenuine: true },
  { template: "{timestamp}{body}", body: '{"a":1}', isGenuine: true },
  { template: "{timestamp}.{body}", body: "deploy", isGenuine: true },
  { template: "v0:{timestamp}:{body}", body: "", isGenuine: true },
];

Deno.test("what a handshake signs for a stranger passes no condition with the same secret", async () => {
  await using service = await startService();
  for (const { template, body, isGenuine } of forgeries) {
    const { id } = await service.trigger({
      conditions: [signedBy(template)],
      handshakes: [signing],
    });
    const path = `/api/v0/launch/${id}/`;
    const time = String(Math.floor(Date.now() / 1_000));
    const content = template.replace("{timestamp}", time).replace("{body}", body);
    const asked = await fetch(`${service.url}${path}?x=${encodeURIComponent(content)}`);
    const signed = await asked.text();
    const genuine = createHmac("sha256", SECRET).update(content).digest("hex");
    const name = `${template} of ${JSON.stringify(body)}`;
    assertEquals(signed, isGenuine ? REJECTED : genuine, name);
    const sent = { headers: { "x-sig": genuine, "x-time": time }, body };
    const expected = isGenuine
      ? { expectedStatus: 200 }
      : { expectedStatus: 400, expectedBody: REJECTED };
    await play(service.url, { name, path, ...sent, ...expected });
  }
});

Deno.test("a secret that the handshake of another trigger signs with is told when it is saved", async (t) => {
  await using service = await startService({ env: { SHARED: SECRET } });
  const { body: { token } } = await service.api("POST", "tokens/", {
    name: "limited",
    projects: ["files"],
  });
  const mac = (secret: string, fields: object = {}) => ({
    type: "hmac",
    algorithm: "sha256",
    header: "X-Sig",
    secrets: ["another-secret-of-its-own", secret],
    ...fields,
  });
  const zoom = (secret: string) => ({ type: "hmac", preset: "zoom", secrets: [secret] });
  const told = /signs words for anyone with this secret/;
  const table: [what: string, first: object, second: object, pointers: string[]][] = [
    ["handshake first", { handshakes: [signing] }, { conditions: [mac(SECRET)] }, [
      "/conditions/0/secrets/1",
    ]],
    ["condition first", { conditions: [mac(SECRET)] }, { handshakes: [signing] }, [
      "/handshakes/0/secret",
    ]],
    ["in a variable", { handshakes: [signing] }, { conditions: [mac("{env:SHARED}")] }, [
      "/conditions/0/secrets/1",
    ]],
    ["of a preset", { conditions: [zoom(SECRET)] }, { conditions: [mac(SECRET)] }, [
      "/conditions/0/secrets/1",
    ]],
    ["a preset's second", { conditions: [mac(SECRET)] }, { conditions: [zoom(SECRET)] }, [
      "/conditions/0/secrets/0",
    ]],
    ["two of one app", { conditions: [zoom(SECRET)] }, { conditions: [zoom(SECRET)] }, []],
    ["no handshake", { conditions: [mac(SECRET)] }, { conditions: [mac(SECRET)] }, []],
    ["another secret", { handshakes: [signing] }, {
      conditions: [mac("another-secret-of-the-other")],
    }, []],
    [
      "another secret, condition first",
      {
        conditions: [mac("another-secret-of-the-other")],
      },
      { handshakes: [signing] },
      [],
    ],
    [
      "signs nothing",
      {
        handshakes: [{
          ...signing,
          when: "query.x == secret",
          response: { type: "text", text: "" },
        }],
      },
      { conditions: [mac(SECRET)] },
      [],
    ],
  ];
  for (const [what, first, second, pointers] of table) {
    await t.step(what, async () => {
      const { id } = await service.trigger({ name: "the-first", ...first });
      const saves = async (settings: object, authorization?: string) => {
        const made = await service.trigger({ name: "the-second" });
        const answer = await fetch(`${service.url}/api/v0/triggers/${made.id}/`, {
          method: "PATCH",
          headers: { authorization: authorization ?? `Bearer ${ADMIN_TOKEN}` },
          body: JSON.stringify(settings),
        });
        const { warnings } = await answer.json();
        assertEquals(answer.status, 200, JSON.stringify(warnings));
        await service.api("DELETE", `triggers/${made.id}/`);
        return warnings.filter(({ detail }: { detail: string }) =>
          told.test(detail) && detail.includes('"the-first"')
        ).map(({ pointer }: { pointer: string }) => pointer);
      };
      assertEquals(await saves(second), pointers);
      // It would tell whoever may not see the first that a guess of its secret is right.
      if (!JSON.stringify(second).includes("{env:")) {
        assertEquals(await saves(second, `Bearer ${token}`), []);
      }
      await service.api("DELETE", `triggers/${id}/`);
      assertEquals(await saves(second), [], "the first is gone");
    });
  }
});

/** A request whose secret is right, and that is refused for another cause. */
const shown: { when: string; query?: string; headers?: Record<string, string>; body?: string }[] = [
  { when: "query.x == secret", query: `x=${SECRET}` },
  { when: "query['m n'] == secret", query: `m+n=${SECRET}` },
  { when: "secret == query['hub.verify_token']", query: `hub.verify_token=${SECRET}` },
  { when: "query.a == query.b || !(query.x != secret)", query: `x=${SECRET}&a=1` },
  { when: "query.x + query.z == secret", query: `x=${SECRET}&z=` },
  { when: "headers['x-check'] == secret", headers: { "x-check": SECRET } },
  { when: "headers['user-agent'] == secret", headers: { "user-agent": SECRET } },
  { when: "body.a.b == secret", body: JSON.stringify({ a: { b: SECRET } }) },
  { when: "body.list[0] == secret", body: JSON.stringify({ list: [SECRET] }) },
  {
    when: "hmac_sha256_hex(secret, query.x) == query.y",
    query: `x=1&y=${createHmac("sha256", SECRET).update("1").digest("hex")}`,
  },
];

Deno.test("a right secret of a handshake is kept nowhere, whether its request is refused or launches", async () => {
  await using service = await startService();
  const kept = [SECRET, createHmac("sha256", SECRET).update("1").digest("hex")];
  for (const { when, query = "", headers = {}, body = "" } of shown) {
    for (const method of ["POST", "GET"]) {
      if (method === "GET" && body !== "") continue;
      const { id } = await service.trigger({
        keep_refused: "1h",
        conditions: [{ type: "payload_filter", expression: "query.on == 'yes'" }],
        handshakes: [{
          method,
          when: `${when} && query.mode == 'on'`,
          secret: SECRET,
          response: { type: "text", text: "ok" },
        }],
      });
      const ask = async (more: string) => {
        const answer = await fetch(`${service.url}/api/v0/launch/${id}/?${query}${more}`, {
          method,
          headers: { "content-type": "application/json", ...headers },
          ...(method === "POST" && { body }),
        });
        await answer.body?.cancel();
        return answer.status;
      };
      const statuses = [
        await ask("&mode=off"),
        await ask("&mode=off&on=yes"),
        await ask("&mode=on"),
      ];
      assertEquals(statuses, [400, method === "POST" ? 200 : 400, 200], when);
      const { body: deliveries } = await service.api("GET", `deliveries/?trigger=${id}`);
      const texts = [JSON.stringify(deliveries)];
      for (const { id: delivery } of deliveries.results) {
        const { body: one } = await service.api("GET", `deliveries/${delivery}/`);
        texts.push(JSON.stringify(one), atob(one.body ?? ""));
      }
      const { body: log } = await service.api("GET", `triggers/${id}/log/`);
      texts.push(JSON.stringify(log));
      for (const each of kept) assert(!texts.join("\n").includes(each), `${method} ${when}`);
    }
  }
});

Deno.test("a secret is compared with named fields alone: no log could leave another value out", async () => {
  await using service = await startService();
  for (const other of ["raw", "body", "query[headers['x-name']]", "content_type"]) {
    const { status, body } = await service.api("POST", "triggers/?dry_run=true", {
      name: "unnamed",
      project: "files",
      actions: [{ type: "run_execution", step: "copy" }],
      handshakes: [{
        method: "POST",
        when: `${other} == secret`,
        secret: SECRET,
        response: { type: "text", text: "ok" },
      }],
    });
    assertEquals([status, body.errors?.[0].pointer], [422, "/handshakes/0/when"], other);
  }
});
