/** Playing the provider: every preset's handshake is answered as its row says, and owners' own as they are written. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { handshakePresets } from "../../../src/conditions/signing/presets/mod.ts";
import { needsSecret } from "../../../src/conditions/handshake/settings.ts";
import { startService } from "../../data.ts";

const SECRET = "a-secret-of-the-owner";
const token = { type: "static_token", in: "header", name: "X-Token", secrets: [SECRET] };

Deno.test("every preset's handshake can be played", async () => {
  await using service = await startService();
  const presets = Object.entries(handshakePresets);
  assert(presets.length > 10);
  for (const [preset, { handshakes }] of presets) {
    // A row that signs takes the secret, too.
    const secret = needsSecret(preset) || JSON.stringify(handshakes).includes("secret");
    const { id } = await service.trigger({
      conditions: [token],
      handshakes: [{ preset, ...(secret && { secret: SECRET }) }],
    });
    const { status, body } = await service.api("POST", `triggers/${id}/handshakes/`);
    assertEquals([status, body.handshakes?.length], [200, handshakes.length], preset);
    for (const [place, played] of body.handshakes.entries()) {
      if (handshakes[place]?.confirm) continue;
      assertEquals(played.answered, true, `${preset}: ${JSON.stringify(played)}`);
    }
    assert(!JSON.stringify(body).includes(SECRET));
    const { body: log } = await service.api("GET", `triggers/${id}/log/`);
    assertEquals(log.results, []);
  }
});

Deno.test("the first requests of presets that sign are played, also those without events", async () => {
  await using service = await startService();
  for (const preset of ["ashby", "asana", "line", "terraform", "viber", "xero"]) {
    const { id } = await service.trigger({
      conditions: [{ type: "hmac", preset, secrets: [SECRET] }],
    });
    const { body } = await service.api("POST", `triggers/${id}/handshakes/`);
    assert(body.handshakes.length > 0, preset);
    for (const played of body.handshakes) {
      assertEquals(played.answered, true, `${preset}: ${JSON.stringify(played)}`);
    }
  }
});

Deno.test("a handshake that only the provider can make says what to do", async () => {
  await using service = await startService();
  const identity = "arn:aws:sns:us-east-1:123456789012:topic";
  const todo =
    /Set the URL at the provider, or let it check the URL again, and read the trigger log$/;
  const conditions = {
    sns: { type: "signature", preset: "sns", identity },
    ses: { type: "signature", preset: "ses", identity },
    discord: {
      type: "signature",
      preset: "discord",
      public_keys: ["8bd59f979cc36f385495f7e5055628bd7f3cea69204074f210e786b2e4f987a8"],
    },
  };
  for (const [preset, condition] of Object.entries(conditions)) {
    const { id } = await service.trigger({ name: preset, conditions: [condition] });
    const { body } = await service.api("POST", `triggers/${id}/handshakes/`);
    assert(body.handshakes.length > 0, preset);
    for (const { answered, reason } of body.handshakes) {
      assertEquals(answered, false, preset);
      assertMatch(reason, todo);
    }
  }
});

const own = {
  method: "GET",
  when: "query.mode == 'subscribe' && query['verify'] == secret && 'x-a' in headers",
  secret: SECRET,
  response: { type: "text", text: "{query.challenge} {headers['x-b']}" },
};

Deno.test("handshakes of owners are played as far as their expressions tell how", async () => {
  await using service = await startService();
  const post = {
    method: "POST",
    when: "has(body.a.b) && body.list[1].n == 7 && body.on == true",
    verified: true,
    response: { type: "json", json: { a: "{body.a.b}", c: "{body.c}" } },
  };
  const { id } = await service.trigger({
    conditions: [token],
    handshakes: [
      own,
      post,
      { ...own, secret: "{env:UNSET}" },
      { ...own, when: "query.a.startsWith('x')" },
    ],
  });
  const { body } = await service.api("POST", `triggers/${id}/handshakes/`);
  const [first, second, third, fourth] = body.handshakes;
  assertEquals([first.handshake, first.method, first.status], ["handshakes/0", "GET", 200]);
  assertMatch(first.body, /^(hooklaunch\w{8}) \1$/);
  assertMatch(second.body, /^\{"a":"(hooklaunch\w{8})","c":"\1"\}$/);
  assertEquals([third.answered, third.reason], [false, "its secret is not set"]);
  assertEquals(fourth.answered, false);
});

Deno.test("played handshakes and signed requests tell secrets to those alone who may know them", async () => {
  const secret = "a-variable-of-the-service";
  await using service = await startService({ env: { OWN: secret } });
  const check = { method: "GET", when: "query.verify == secret", response: { type: "text" } };
  const response = { type: "text", text: "{query.challenge} {query.verify}" };
  const own = await service.trigger({
    name: "own",
    conditions: [token],
    handshakes: [{ ...check, response, secret: SECRET }],
  });
  const service_secret = await service.trigger({
    name: "of-the-service",
    conditions: [{ ...token, secrets: ["{env:OWN}"] }],
    handshakes: [{ ...check, response, secret: "{env:OWN}" }],
  });
  const asked = async (settings: Record<string, unknown>, id: string, what: string) => {
    const { body: made } = await service.api("POST", "tokens/", { name: "t", ...settings });
    const answer = await fetch(`${service.url}/api/v0/triggers/${id}/${what}/`, {
      method: "POST",
      headers: { authorization: `Bearer ${made.token}` },
      ...(what === "sign" && { body: "{}" }),
    });
    const text = await answer.text();
    await service.api("DELETE", `tokens/${made.id}/`);
    assert(answer.ok || !text.includes(secret) && !text.includes(SECRET), text);
    return answer.status;
  };
  const limited = { scope: "admin", projects: ["files"] };
  for (const what of ["handshakes", "sign"]) {
    const statuses = await Promise.all([
      asked({ name: "a", scope: "operate" }, own.id, what),
      asked({ name: "b", ...limited }, own.id, what),
      asked({ name: "c", ...limited }, service_secret.id, what),
      asked({ name: "d", scope: "admin" }, service_secret.id, what),
    ]);
    assertEquals(statuses, [403, 200, 403, 200], what);
  }
  const { body } = await service.api("GET", "audit/?operation=playHandshakes");
  assertEquals(body.results.length, 2);
});
