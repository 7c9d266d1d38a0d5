/** The stored secrets of a notifier go to no other server than the one they were stored for. */
import { assertEquals, assertThrows } from "@std/assert";
import { NotifierSecrets } from "../../src/notifications/secrets.ts";
import { InvalidInputError } from "../../src/platform/errors.ts";
import type { NotifierTarget } from "../../src/store/records/notifiers.ts";
import { secretBox } from "../../src/triggers/secrets.ts";

const MASK = "********";
const secrets = new NotifierSecrets({ box: secretBox([new Uint8Array(32)]), env: () => undefined });
const save = (to: NotifierTarget, before?: NotifierTarget) =>
  secrets.sealed(
    { name: "ops", on: ["run_error"], to },
    before && { name: "ops", on: ["run_error"], to: before },
  ).to;

const ntfy = { type: "ntfy", url: "https://ntfy.example.com/", topic: "ops", token: "tk_secret" };
const status = { type: "github_status", url: "https://api.github.com", token: "ghp_secret" };
const email = { type: "email", host: "mail.example.com", user: "ops", password: "p4ssw0rd" };
const slack = { type: "slack", url: "https://hooks.slack.com/services/T/B/secret" };
const webhook = { type: "webhook", url: "https://a.example/x", sign: { secret: "whsec_c2VjcmV0" } };

const cases: [to: NotifierTarget, masked: object, same: object, others: object[]][] = [
  [ntfy, { token: MASK }, { topic: "other", url: "https://ntfy.example.com" }, [
    { url: "https://evil.example" },
    { url: "http://ntfy.example.com/" },
  ]],
  [status, { token: MASK }, { context: "ci" }, [{ url: "https://api.evil.example" }]],
  [email, { password: MASK }, { to: ["a@example.com"] }, [
    { host: "evil.example" },
    { port: 2525 },
  ]],
  [slack, { url: MASK }, {}, []],
  [webhook, { sign: { secret: MASK } }, { url: "https://a.example/y" }, [
    { url: "https://b.example/x" },
  ]],
];

for (const [to, masked, same, others] of cases) {
  Deno.test(`${to.type}: a masked secret stays with its server`, () => {
    const stored = save(to);
    const kept = save({ ...to, ...masked, ...same }, stored);
    assertEquals({ ...kept, ...same }, { ...stored, ...same });
    for (const other of others) {
      const error = assertThrows(
        () => save({ ...to, ...masked, ...other }, stored),
        InvalidInputError,
        "does not go to",
      );
      assertEquals(error.problems.length, 1);
      save({ ...to, ...other }, stored);
    }
  });
}
