/** A secret that can be guessed is not saved, wherever it is; what is stored already goes on working. */
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { join } from "node:path";
import { InvalidInputError } from "../../src/platform/errors.ts";
import { checkSecrets, secretWarnings } from "../../src/triggers/secret_strength.ts";
import { triggerSchema } from "../../src/triggers/trigger.ts";
import { startService, temporaryFolder } from "../data.ts";

type Outcome = "refused" | "warned" | "silent";

const text = (length: number) => "x".repeat(length);
const token = { type: "static_token", in: "header", name: "X-Token" };
const jwt = (...algorithms: string[]) => ({ type: "jwt", algorithms });
const whsec = (bytes: number) => `whsec_${new Uint8Array(bytes).fill(7).toBase64()}`;
const cases: [condition: object, secret: string, outcome: Outcome][] = [
  [token, text(1), "refused"],
  [token, text(7), "refused"],
  [token, text(8), "warned"],
  [token, text(15), "warned"],
  [token, text(16), "silent"],
  [{ type: "hmac", preset: "github" }, text(7), "refused"],
  [{ type: "hmac", preset: "github" }, text(8), "warned"],
  [{ type: "hmac", preset: "standard_webhooks" }, whsec(7), "refused"],
  [{ type: "hmac", preset: "standard_webhooks" }, whsec(15), "warned"],
  [{ type: "hmac", preset: "standard_webhooks" }, whsec(24), "silent"],
  [jwt("HS256"), "short", "refused"],
  [jwt("HS256"), text(31), "refused"],
  [jwt("HS256"), text(32), "silent"],
  [jwt("HS256"), "ä".repeat(16), "silent"],
  [jwt("HS384"), text(47), "refused"],
  [jwt("HS384"), text(48), "silent"],
  [jwt("HS256", "HS512"), text(63), "refused"],
  [jwt("HS512", "HS256"), text(64), "silent"],
];

Deno.test("literals, variables and files with secrets are judged by one rule when they are saved", async () => {
  await using folder = await temporaryFolder();
  const env: Record<string, string> = {};
  await using service = await startService({ env });
  for (const [index, [condition, secret, outcome]] of cases.entries()) {
    env.SECRET = secret;
    const file = join(folder.path, String(index));
    await Deno.writeTextFile(file, `${secret}\n`);
    const places = [secret, { name: "n", value: secret }, "{env:SECRET}", `{file:${file}}`];
    for (const written of places) {
      const { status, body } = await service.api("POST", "triggers/?dry_run=true", {
        name: "judged",
        project: "files",
        actions: [{ type: "run_execution", step: "copy", payload_input_name: "labels" }],
        conditions: [{ ...condition, secrets: [written] }],
      });
      const what = `${JSON.stringify(condition)} ${JSON.stringify(written)}`;
      assertEquals(status, outcome === "refused" ? 422 : 200, what);
      const found = (outcome === "refused" ? body.errors : body.warnings).filter((
        { pointer }: { pointer: string },
      ) => pointer.startsWith("/conditions/0/secrets/0"));
      const told = found.map(({ detail }: { detail: string }) => detail).join();
      assertEquals(
        /can be guessed: expected .* or more, found \d+$/.test(told),
        outcome !== "silent",
        what,
      );
    }
  }
  const { status, body } = await service.api("POST", "triggers/?dry_run=true", {
    name: "asked",
    project: "files",
    actions: [{ type: "run_execution", step: "copy", payload_input_name: "labels" }],
    handshakes: [{ preset: "meta", secret: "feeble" }],
  });
  assertEquals([status, body.errors[0].pointer], [422, "/handshakes/0/secret"]);
});

Deno.test("a secret with white space around it gets a warning, wherever it is", async () => {
  const padded = `${text(20)}\n`;
  await using service = await startService({ env: { PADDED: padded } });
  for (const written of [padded, { name: "n", value: padded }, "{env:PADDED}"]) {
    const { body } = await service.api("POST", "triggers/?dry_run=true", {
      name: "padded",
      project: "files",
      actions: [{ type: "run_execution", step: "copy", payload_input_name: "labels" }],
      conditions: [{ ...token, secrets: [written] }],
    });
    const found = body.warnings.find(({ pointer }: { pointer: string }) =>
      pointer.startsWith("/conditions/0/secrets/0")
    );
    assertStringIncludes(found?.detail ?? "", "begins or ends with white space");
  }
});

Deno.test("a weak secret that is stored may stay beside others, but not come anew or into another use", () => {
  const triggerOf = (...conditions: object[]) =>
    triggerSchema.parse({
      name: "n",
      project: "p",
      actions: [{ type: "run_execution", step: "s" }],
      conditions,
    });
  const env = () => "weak";
  const weak = { name: "old", value: "weak" };
  const stored = triggerOf({ ...token, secrets: [weak, "{env:WEAK}"] });
  const renewed = triggerOf({ ...token, secrets: [weak, "{env:WEAK}", text(16)] });
  const warned = checkSecrets(renewed, stored, env).map(({ pointer }) => pointer);
  assertEquals(warned, ["/conditions/0/secrets/0/value"]);
  assertEquals(secretWarnings(stored, env).map(({ pointer }) => pointer), [
    "/conditions/0/secrets/1",
  ]);
  for (const other of [{ ...token, secrets: ["feeble"] }, { ...jwt("HS256"), secrets: [weak] }]) {
    assertThrows(() => checkSecrets(triggerOf(other), stored, env), InvalidInputError);
  }
  assertThrows(
    () => checkSecrets(stored, undefined, env),
    InvalidInputError,
    "/conditions/0/secrets/1",
  );
});
