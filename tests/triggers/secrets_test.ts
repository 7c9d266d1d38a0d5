/**
 * Secrets at rest: nothing that is stored or shown holds one, and who has the stored form alone, or the
 * stored form of something else, cannot get at it.
 */
import {
  assert,
  assertEquals,
  assertNotEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { join } from "node:path";
import { SECRET_MASK } from "../../src/conditions/secret.ts";
import { InvalidInputError } from "../../src/platform/errors.ts";
import {
  LockedSecretError,
  openSecrets,
  openWhatOpens,
  sealSecrets,
  type SecretBox,
} from "../../src/triggers/secrets.ts";
import { openSecretBox } from "../../src/triggers/secret_key.ts";
import { temporaryFolder } from "../surroundings.ts";

const KEY = "00112233445566778899aabbccddeeff".repeat(2);
const OTHER_KEY = "ff112233445566778899aabbccddeeff".repeat(2);
const OWNER = "0190fe82-c984-7f66-8302-69874914e1c9";

function boxOf(key = KEY): Promise<SecretBox> {
  return openSecretBox("/nowhere", key);
}

/** A trigger with secrets at several places, and with texts that look like secrets. */
const TRIGGER = {
  name: "hunter2",
  conditions: [
    { type: "static_token", name: "secrets", secrets: ["hunter2", "{env:TOKEN}", "pässwörd 🔑"] },
    { type: "payload_filter", expression: "secrets" },
    { type: "hmac", secrets: ["hunter2"] },
  ],
  count: 3,
  enabled: true,
  nothing: null,
};

function secretsOf(trigger: typeof TRIGGER): (string[] | undefined)[] {
  return trigger.conditions.map(({ secrets }) => secrets);
}

for (const secret of ["hunter2", "", "ü", "x".repeat(4_096), "\0\n", "{env:", SECRET_MASK]) {
  Deno.test(`a secret of ${secret.length} characters (${secret.slice(0, 9)}) opens as what was sealed`, async () => {
    const box = await boxOf();
    const sealed = box.seal(secret, OWNER);
    assertEquals(box.open(sealed, OWNER), secret);
    assertEquals((await boxOf()).open(sealed, OWNER), secret);
  });
}

Deno.test("a secret is sealed as AES-256-GCM does, the nonce before it and the tag behind", async () => {
  const encode = (text: string) => new TextEncoder().encode(text);
  const key = await crypto.subtle.importKey("raw", Uint8Array.fromHex(KEY), "AES-GCM", false, [
    "encrypt",
    "decrypt",
  ]);
  const iv = new Uint8Array(12).fill(7);
  const parameters = { name: "AES-GCM", iv, additionalData: encode(OWNER) };
  const sealed = new Uint8Array(await crypto.subtle.encrypt(parameters, key, encode("pässwörd")));
  const box = await boxOf();
  assertEquals(
    box.open(`aes-256-gcm:${new Uint8Array([...iv, ...sealed]).toBase64()}`, OWNER),
    "pässwörd",
  );

  const ours = Uint8Array.fromBase64(box.seal("pässwörd", OWNER).slice("aes-256-gcm:".length));
  const opened = await crypto.subtle.decrypt(
    { ...parameters, iv: ours.subarray(0, 12) },
    key,
    ours.subarray(12),
  );
  assertEquals(new TextDecoder().decode(opened), "pässwörd");
});

Deno.test("what is sealed holds nothing of the secret, and is another text each time", async () => {
  const box = await boxOf();
  const secret = "hunter2-hunter2-hunter2";
  const sealed = box.seal(secret, OWNER);
  assert(/^aes-256-gcm:[A-Za-z0-9+/]+=*$/.test(sealed), sealed);
  const bytes = Uint8Array.fromBase64(sealed.slice("aes-256-gcm:".length));
  assert(!String.fromCharCode(...bytes).includes("hunter2"));
  for (const form of ["hunter2", btoa(secret), new TextEncoder().encode(secret).toHex()]) {
    assert(!sealed.includes(form), form);
  }
  assertNotEquals(box.seal(secret, OWNER), sealed);
});

const misuses: { name: string; open: (sealed: string) => Promise<string> }[] = [
  { name: "of another owner", open: async (sealed) => (await boxOf()).open(sealed, `${OWNER}0`) },
  { name: "by another key", open: async (sealed) => (await boxOf(OTHER_KEY)).open(sealed, OWNER) },
  {
    name: "that was changed",
    open: async (sealed) => {
      const [prefix = "", text = ""] = sealed.split(":");
      const bytes = Uint8Array.fromBase64(text);
      bytes[20] = (bytes[20] ?? 0) ^ 1;
      return (await boxOf()).open(`${prefix}:${bytes.toBase64()}`, OWNER);
    },
  },
  {
    name: "that was cut short",
    open: async (sealed) => (await boxOf()).open(sealed.slice(0, -8), OWNER),
  },
  { name: "that was never sealed", open: async () => (await boxOf()).open("hunter2", OWNER) },
  {
    name: "that is no base64",
    open: async (sealed) => (await boxOf()).open(sealed.replace(":", ":!"), OWNER),
  },
];

for (const { name, open } of misuses) {
  Deno.test(`a secret ${name} does not open`, async () => {
    const sealed = (await boxOf()).seal("hunter2-hunter2", OWNER);
    const error = await assertRejects(() => open(sealed), LockedSecretError);
    assert(!error.message.includes("hunter2"));
    assertStringIncludes(error.message, "Cannot decrypt a secret");
  });
}

Deno.test("a key may be written in hex or in base64", async () => {
  const sealed = (await boxOf()).seal("hunter2", OWNER);
  for (const key of [KEY.toUpperCase(), ` ${KEY}\n`, Uint8Array.fromHex(KEY).toBase64()]) {
    assertEquals((await boxOf(key)).open(sealed, OWNER), "hunter2");
  }
});

for (
  const key of ["", "hunter2", KEY.slice(2), `${KEY}00`, btoa("sixteen bytes 16"), "ä".repeat(32)]
) {
  Deno.test(`the key ${JSON.stringify(key.slice(0, 20))}… is refused, and not shown`, async () => {
    const error = await assertRejects(() => boxOf(key), InvalidInputError);
    assertStringIncludes(error.message, "HOOKLAUNCH_SECRET_KEY");
    assertStringIncludes(error.message, "32 bytes");
    if (key !== "") assert(!error.message.includes(key));
  });
}

Deno.test("without a key in the environment one is made, for its owner's eyes alone, and used again", async () => {
  await using folder = await temporaryFolder();
  const first = await openSecretBox(folder.path, undefined);
  const sealed = first.seal("hunter2", OWNER);
  const path = join(folder.path, "secret.key");
  assertEquals(((await Deno.stat(path)).mode ?? 0) & 0o777, 0o600);
  const text = await Deno.readTextFile(path);
  assertEquals(Uint8Array.fromBase64(text.trim()).length, 32);

  const second = await openSecretBox(folder.path, undefined);
  assertEquals(second.open(sealed, OWNER), "hunter2");
  assertEquals(await Deno.readTextFile(path), text);
  assertEquals((await openSecretBox(folder.path, text)).open(sealed, OWNER), "hunter2");

  await using other = await temporaryFolder();
  const stranger = await openSecretBox(other.path, undefined);
  assertThrows(() => stranger.open(sealed, OWNER), LockedSecretError);
});

Deno.test("a key file that holds no key is an error that names it, and stays as it is", async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, "secret.key");
  for (const text of ["", "not a key"]) {
    await Deno.writeTextFile(path, text);
    const error = await assertRejects(
      () => openSecretBox(folder.path, undefined),
      InvalidInputError,
    );
    assertStringIncludes(error.message, path);
    assertEquals(await Deno.readTextFile(path), text);
  }
});

Deno.test("a key file that cannot be read is an error that names it", async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, "secret.key");
  await Deno.mkdir(path);
  await assertRejects(
    () => openSecretBox(folder.path, undefined),
    InvalidInputError,
    `Cannot accept ${path}: Expected a file that this user can read: Is a directory`,
  );
});

Deno.test("a key in the environment makes no file", async () => {
  await using folder = await temporaryFolder();
  await openSecretBox(folder.path, KEY);
  assertEquals(await Array.fromAsync(Deno.readDir(folder.path)), []);
});

Deno.test("sealing changes the secrets of a value and nothing else, opening brings them back", async () => {
  const box = await boxOf();
  const sealed = sealSecrets(TRIGGER, box, OWNER);
  assertEquals(openSecrets(sealed, box, OWNER), TRIGGER);
  const [token, filter, hmac] = secretsOf(sealed);
  assert(token?.[0]?.startsWith("aes-256-gcm:"));
  assertEquals(token?.[1], "{env:TOKEN}");
  assert(token?.[2]?.startsWith("aes-256-gcm:"));
  assertEquals(filter, undefined);
  assertNotEquals(hmac?.[0], token?.[0]);
  assertEquals(sealed.name, "hunter2");
  assertEquals(secretsOf(TRIGGER)[0]?.[0], "hunter2", "the value itself is left alone");
});

Deno.test("a header and a field of a body that are named secrets are none", async () => {
  const action = {
    type: "http_request",
    headers: { secrets: "plain", secret: "plain", x: { secret: "hunter2" } },
    body: { secrets: ["plain"] },
  };
  const sealed = sealSecrets({ actions: [action] }, await boxOf(), OWNER);
  const { headers: { x, ...headers }, body } = sealed.actions[0] ?? action;
  assertEquals({ headers, body }, {
    headers: { secrets: "plain", secret: "plain" },
    body: action.body,
  });
  assert(x.secret.startsWith("aes-256-gcm:"));
});

Deno.test("of secrets that another key sealed none is opened, and each is told", async () => {
  const [box, other] = [await boxOf(), await boxOf(OTHER_KEY)];
  const sealed = sealSecrets(TRIGGER, other, OWNER);
  sealed.conditions[2]?.secrets?.push(box.seal("new", OWNER));
  assertThrows(() => openSecrets(sealed, box, OWNER), LockedSecretError);
  const { value, locked } = openWhatOpens(sealed, box, OWNER);
  assertEquals(secretsOf(value), [["", "{env:TOKEN}", ""], undefined, ["", "new"]]);
  assertEquals([...locked].sort(), [
    "/conditions/0/secrets/0",
    "/conditions/0/secrets/2",
    "/conditions/2/secrets/0",
  ]);
});
