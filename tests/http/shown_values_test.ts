/** Values and conditions of actions that read a credential of the body: the owner is told, and reasons hide it. */
import { assert, assertEquals } from "@std/assert";
import { endOfRun, startService } from "../data.ts";

const SECRET = "the-t0ken-of-the-body";
const token = (settings: object = {}) => ({
  type: "static_token",
  in: "body",
  name: "token",
  secrets: [SECRET],
  ...settings,
});
const check = {
  method: "POST",
  when: "body.hello == secret",
  secret: SECRET,
  response: { type: "text", text: "ok" },
};

interface Case {
  value: string;
  conditions?: object[];
  handshakes?: object[];
  told?: "Shows" | "Reads";
}

const cases: Case[] = [
  { value: "{body.token}", told: "Shows" },
  { value: "a {body['token']} b", told: "Shows" },
  { value: "{body.?token.orValue('')}", told: "Shows" },
  { value: "{body.token.lowerAscii()}", told: "Shows" },
  { value: "{body}", told: "Shows" },
  { value: "{body.map(k, body[k])}", told: "Shows" },
  { value: "{body.token}", conditions: [token({ redact: true })], told: "Reads" },
  { value: "{body.a[0].b}", conditions: [token({ name: "/a/0/b" })], told: "Shows" },
  { value: "{body.a}", conditions: [token({ name: "/a/0/b" })], told: "Shows" },
  { value: "{body.a[1].b}", conditions: [token({ each: "/a", name: "b" })], told: "Shows" },
  { value: "{body.hello}", conditions: [], handshakes: [check], told: "Shows" },
  { value: "{body.a[1].b}", conditions: [token({ name: "/a/0/b" })] },
  { value: "{body.tokens}" },
  { value: "body.token {{body.token}" },
  { value: "{headers['x-a']}" },
  { value: "{body.token}", conditions: [token({ in: "header" })] },
];

Deno.test("a value that shows a credential of the body is told when it is saved", async () => {
  await using service = await startService();
  for (const { value, conditions = [token()], handshakes = [], told } of cases) {
    const { status, body } = await service.api("POST", "triggers/?dry_run", {
      name: "shown",
      project: "files",
      conditions,
      handshakes,
      actions: [{ type: "run_execution", step: "echo", environment: { SAID: value } }],
    });
    assertEquals(status, 200, JSON.stringify(body));
    const found = body.warnings
      .filter(({ detail }: { detail: string }) => / the credential in /.test(detail))
      .map(({ pointer, detail }: { pointer: string; detail: string }) =>
        `${pointer} ${detail.split(" ")[0]}`
      );
    const expected = told === undefined ? [] : [`/actions/0/environment/SAID ${told}`];
    assertEquals(found, expected, `${value} ${JSON.stringify(conditions)}`);
  }
});

Deno.test("the reason why an action is skipped or fails shows no credential of the body", async () => {
  await using service = await startService();
  for (const condition of ["body.token == 'other'", "body.token", "body.token.startsWith('x')"]) {
    const { url } = await service.trigger({
      conditions: [token()],
      actions: [{ type: "run_execution", step: "echo", if: condition }],
      response: { type: "text", text: "{run_id}" },
    });
    const body = JSON.stringify({ token: SECRET });
    const run = await (await fetch(url, { method: "POST", body })).text();
    const { actions } = await endOfRun(service, run);
    const text = JSON.stringify(actions);
    assert(/skipped|error/.test(text) && !text.includes(SECRET), text);
  }
});
