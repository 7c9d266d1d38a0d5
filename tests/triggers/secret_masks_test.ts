/**
 * Masks of secrets: what is shown of a secret holds nothing of it, and written back it keeps the secret of its
 * name or its fingerprint, wherever that stands by then.
 */
import { assert, assertEquals, assertMatch, assertNotEquals, assertThrows } from "@std/assert";
import { SECRET_MASK } from "../../src/conditions/secret.ts";
import { InvalidInputError } from "../../src/platform/errors.ts";
import { receiversOf } from "../../src/triggers/secret_receivers.ts";
import { maskSecrets, normalSecrets, unmaskSecrets } from "../../src/triggers/secret_masks.ts";
import { openWhatOpens, sealSecrets } from "../../src/triggers/secrets.ts";
import { openSecretBox } from "../../src/triggers/secret_key.ts";

const KEY = "00112233445566778899aabbccddeeff".repeat(2);
const OTHER_KEY = "ff112233445566778899aabbccddeeff".repeat(2);
const OWNER = "0190fe82-c984-7f66-8302-69874914e1c9";
const UNTIL = "2027-01-31T00:00:00Z";

const box = await openSecretBox("/nowhere", KEY);
const mark = (secret: string) => box.mark(secret, OWNER);
const WHAT = { what: "the trigger", mark, receiversOf: () => [] };

function holding(...secrets: unknown[]) {
  return { name: "t", conditions: [{ type: "hmac", secrets }] };
}

function secretsOf(value: unknown): unknown[] {
  return Object(value).conditions[0].secrets;
}

/** Writes secrets over stored ones, and returns what is kept. */
function written(stored: readonly unknown[], secrets: readonly unknown[]): unknown[] {
  const before = { value: holding(...stored), locked: [] };
  return secretsOf(unmaskSecrets(holding(...secrets), before, WHAT));
}

Deno.test("a literal is shown as a mask with its fingerprint, a reference as it is", () => {
  const shown = secretsOf(maskSecrets(
    holding(
      "hunter2",
      "{env:TOKEN}",
      "{file:/run/secrets/x}",
      { name: "old", value: "hunter3", until: UNTIL },
      { name: "env", value: "{env:OLD}" },
      SECRET_MASK,
    ),
    mark,
  ));
  assertEquals(shown, [
    { fingerprint: mark("hunter2"), value: SECRET_MASK },
    "{env:TOKEN}",
    "{file:/run/secrets/x}",
    { name: "old", until: UNTIL, fingerprint: mark("hunter3"), value: SECRET_MASK },
    { name: "env", value: "{env:OLD}" },
    SECRET_MASK,
  ]);
  assertEquals(JSON.stringify(shown).includes("hunter"), false);
});

Deno.test("a fingerprint is short, the same for the same secret, and another with another key or owner", async () => {
  const other = await openSecretBox("/nowhere", OTHER_KEY);
  assertMatch(mark("hunter2"), /^[0-9a-f]{12}$/);
  assertEquals((await openSecretBox("/nowhere", KEY)).mark("hunter2", OWNER), mark("hunter2"));
  for (const another of [mark("hunter3"), box.mark("hunter2", "x"), other.mark("hunter2", OWNER)]) {
    assertNotEquals(another, mark("hunter2"));
  }
});

Deno.test("a field named secrets that is no condition's is shown as it is, and stays as it was written", () => {
  const trigger = {
    ...holding("hunter2"),
    actions: [{
      type: "run_execution",
      parameters: { secrets: ["a", "b"] },
      environment: { secrets: "x" },
    }],
    response: { type: "json", json: { secrets: ["y"] } },
    schedule: [{ payload: { secrets: [{ value: "z", fingerprint: "f" }, { value: "z" }] } }],
  };
  const { conditions: _conditions, ...plain } = trigger;
  const shown = maskSecrets(trigger, mark);
  assertEquals(shown, { ...plain, ...holding(marked("hunter2")) });
  assertEquals(normalSecrets(trigger), trigger);
  const stored = openWhatOpens(sealSecrets(trigger, box, OWNER), box, OWNER);
  assertEquals(stored, { value: trigger, locked: [] });
  assertEquals(unmaskSecrets(shown, stored, WHAT), trigger);
});

const named = (name: string) => ({ name, value: SECRET_MASK });
const marked = (secret: string) => ({ fingerprint: mark(secret), value: SECRET_MASK });

const CASES: {
  name: string;
  stored: unknown[];
  sent: unknown[];
  /** What is stored then; undefined where it is refused. */
  kept?: unknown[];
}[] = [
  { name: "the only one, as a plain mask", stored: ["a"], sent: [SECRET_MASK], kept: ["a"] },
  {
    name: "the only literal, beside a reference",
    stored: ["{env:OLD}", "a"],
    sent: [SECRET_MASK],
    kept: ["a"],
  },
  {
    name: "the only one, with a new one before it",
    stored: ["a"],
    sent: ["new", SECRET_MASK],
    kept: ["new", "a"],
  },
  { name: "one of two as plain masks", stored: ["a", "b"], sent: [SECRET_MASK, SECRET_MASK] },
  { name: "one of two as a plain mask", stored: ["a", "b"], sent: [SECRET_MASK] },
  {
    name: "one of two, by its fingerprint",
    stored: ["a", "b"],
    sent: [marked("b")],
    kept: ["b"],
  },
  {
    name: "two in another order, by their fingerprints",
    stored: ["a", "b"],
    sent: [marked("b"), "c", marked("a")],
    kept: ["b", "c", "a"],
  },
  {
    name: "by its name, in another place",
    stored: [{ name: "old", value: "a" }, { name: "new", value: "b" }],
    sent: [named("new"), named("old")],
    kept: [{ name: "new", value: "b" }, { name: "old", value: "a" }],
  },
  {
    name: "by its name, with an end date",
    stored: [{ name: "old", value: "a" }, "b"],
    sent: [{ ...named("old"), until: UNTIL }, marked("b")],
    kept: [{ name: "old", until: UNTIL, value: "a" }, "b"],
  },
  {
    name: "with an end date that is removed",
    stored: [{ value: "a", until: UNTIL }],
    sent: [SECRET_MASK],
    kept: ["a"],
  },
  {
    name: "a name for what had none",
    stored: ["a", "b"],
    sent: [{ ...marked("a"), name: "first" }, marked("b")],
    kept: [{ name: "first", value: "a" }, "b"],
  },
  {
    name: "a name that stands for a new secret",
    stored: [{ name: "one", value: "a" }],
    sent: [{ name: "one", value: "b" }],
    kept: [{ name: "one", value: "b" }],
  },
  { name: "a name that is not stored", stored: ["a"], sent: [named("other")] },
  { name: "a fingerprint that is not stored", stored: ["a"], sent: [marked("b")] },
  { name: "a mask where nothing is stored", stored: ["{env:X}"], sent: [SECRET_MASK] },
  {
    name: "by the earlier name of the field",
    stored: [{ name: "old", secret: "a" }],
    sent: [{ name: "old", secret: SECRET_MASK, until: UNTIL }],
    kept: [{ name: "old", until: UNTIL, value: "a" }],
  },
];
for (const { name, stored, sent, kept } of CASES) {
  Deno.test(`a mask for ${name} is ${kept ? "that secret" : "refused"}`, () => {
    if (kept) assertEquals(written(stored, sent), kept);
    else assertThrows(() => written(stored, sent), InvalidInputError, "/conditions/0/secrets/0");
  });
}

Deno.test("what is shown can be written back, also as it was shown in part", () => {
  const all = holding("a", "{env:B}", { name: "c", value: "c" }, { value: "d", until: UNTIL });
  const stored = { value: all, locked: [] };
  assertEquals(unmaskSecrets(maskSecrets(all, mark), stored, WHAT), all);
  const shown = secretsOf(maskSecrets(all, mark));
  for (let index = 0; index < shown.length; index++) {
    assertEquals(
      secretsOf(unmaskSecrets(holding(...shown.slice(index)), stored, WHAT)),
      secretsOf(all).slice(index),
    );
  }
});

Deno.test("two masks of a list do not stand for one secret", () => {
  const one = [{ name: "x", value: "a" }];
  const doubled: [stored: unknown[], sent: unknown[]][] = [
    [["a"], [SECRET_MASK, SECRET_MASK]],
    [["a"], [marked("a"), SECRET_MASK]],
    [["a", "b"], [marked("a"), marked("b"), marked("a")]],
    [one, [named("x"), named("x")]],
  ];
  for (const [stored, sent] of doubled) {
    const error = assertThrows(() => written(stored, sent), InvalidInputError);
    const [{ pointer, detail } = { pointer: "", detail: "" }, ...others] = error.problems;
    assertEquals([pointer, others], [`/conditions/0/secrets/${sent.length - 1}`, []]);
    assertMatch(detail, /another one in this list stands for it already$/);
  }
  // What is stored twice already can be written back.
  assertEquals(written(["a", "a"], [marked("a"), marked("a")]), ["a", "a"]);
});

Deno.test("an error says what is stored, and what to send", () => {
  const says: [sent: unknown, detail: RegExp][] = [
    [SECRET_MASK, /2 are stored\. Send its name or its fingerprint with it, or the secret itself$/],
    [named("x"), /none is named "x"\. Send the secret itself$/],
    [marked("x"), /none has the fingerprint "[0-9a-f]{12}"\. Send the secret itself$/],
  ];
  for (const [sent, detail] of says) {
    const error = assertThrows(() => written(["a", "b"], [sent]), InvalidInputError);
    assertMatch(error.problems[0]?.detail ?? "", detail);
  }
  const none = () => unmaskSecrets(holding(SECRET_MASK), undefined, WHAT);
  assertThrows(none, InvalidInputError, "none is stored here");
});

Deno.test("a secret that cannot be opened has no fingerprint, and its mask keeps nothing", async () => {
  const other = await openSecretBox("/nowhere", OTHER_KEY);
  const sealed = sealSecrets(holding({ name: "one", value: "a" }), other, OWNER);
  const stored = openWhatOpens(sealed, box, OWNER);
  const shown = maskSecrets(stored.value, mark, stored.locked);
  assertEquals(secretsOf(shown), [named("one")]);
  const error = assertThrows(() => unmaskSecrets(shown, stored, WHAT), InvalidInputError);
  assertMatch(error.problems[0]?.detail ?? "", /cannot be decrypted with this key/);
});

Deno.test("masks follow their conditions when these are moved, and keep none of another type", () => {
  const [a, b] = [
    { type: "token", name: "X-A", in: "header", secrets: ["a"] },
    { type: "token", name: "X-B", in: "header", secrets: ["b"] },
  ];
  const stored = { value: { conditions: [a, b] }, locked: [] };
  const masked = (value: unknown) => JSON.parse(JSON.stringify(maskSecrets(value, mark)));
  const moved = { conditions: [b, a] };
  assertEquals(unmaskSecrets(masked(moved), stored, WHAT), moved);
  const { in: place, ...others } = a;
  const turned = { conditions: [b, { in: place, ...others }] };
  assertEquals(unmaskSecrets(masked(turned), stored, WHAT), moved);
  const renamed = { conditions: [{ ...a, name: "X-C", secrets: [SECRET_MASK] }, b] };
  assertEquals(unmaskSecrets(renamed, stored, WHAT), {
    conditions: [{ ...a, name: "X-C" }, b],
  });
  const another = { conditions: [{ type: "hmac", secrets: [SECRET_MASK] }] };
  assertThrows(() => unmaskSecrets(another, stored, WHAT), InvalidInputError);
});

Deno.test("fields named secrets that hold none stay as they are", () => {
  const value = {
    response: {
      json: { schema: "y", secrets: { a: "x" }, other: { secrets: 3, "x/y": { secrets: ["f"] } } },
    },
  };
  const stored = { value, locked: [] };
  assertEquals(unmaskSecrets(maskSecrets(value, mark), stored, WHAT), value);
  assert(JSON.stringify(maskSecrets(value, mark)).includes('"schema":"y","secrets":{"a":"x"}'));
});

Deno.test("secrets of earlier versions have the form of today", () => {
  assertEquals(secretsOf(normalSecrets(holding("a", { secret: "b", until: UNTIL }))), [
    "a",
    { until: UNTIL, value: "b" },
  ]);
});

/** Writes an action with masks over the stored one, which has the other fields; returns its secrets. */
function sendingTo(changes: Record<string, unknown>): unknown[] {
  const action = (secret: string) => ({
    type: "http_request",
    url: "https://api.test/jobs",
    headers: { authorization: { secret, prefix: "Bearer " } },
    sign: { preset: "github", secret },
  });
  const stored = { value: { actions: [action("hunter2")] }, locked: [] };
  const sent = { actions: [{ ...action(SECRET_MASK), ...changes }] };
  const [{ headers, sign }] = Object(unmaskSecrets(sent, stored, { ...WHAT, receiversOf })).actions;
  return [headers.authorization.secret, sign.secret];
}

const polls = (url: string) => ({ wait: { poll: { url, until: "true" } } });

const KEPT: Record<string, Record<string, unknown>> = {
  "another path": { url: "https://api.test/{body.name}" },
  "another body": { body: { a: 1 } },
  "a poll of the same server": polls("https://api.test/jobs/{answer.body.id}"),
  "a poll of what the answer names, without secrets": polls("{answer.body.next}"),
};

const GONE: Record<string, Record<string, unknown>> = {
  "another server": { url: "https://other.test/jobs" },
  "another port": { url: "https://api.test:8443/jobs" },
  "without TLS": { url: "http://api.test/jobs" },
  "a server of the sender's": { url: "https://{body.host}/jobs" },
  "a poll of another server": polls("https://other.test/{answer.body.id}"),
  "a URL that cannot be read": { url: "https://api.test/{body.name" },
};

Deno.test("a mask stands for the secret of a request to the same server alone", async (t) => {
  for (const [what, changes] of Object.entries(KEPT)) {
    await t.step(what, () => assertEquals(sendingTo(changes), ["hunter2", "hunter2"]));
  }
  for (const [what, changes] of Object.entries(GONE)) {
    await t.step(what, () => {
      const error = assertThrows(() => sendingTo(changes), InvalidInputError, "does not go to");
      assertEquals(error.problems.map(({ pointer }) => pointer), [
        "/actions/0/headers/authorization/secret",
        "/actions/0/sign/secret",
      ]);
    });
  }
});
