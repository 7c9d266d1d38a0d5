/** The signature doctor names every mistake that can be made with each preset. */
import { Buffer } from "node:buffer";
import type { Certainty } from "../../../src/conditions/doctor/finding.ts";
import { hmac } from "../../../src/conditions/hmac.ts";
import { hmacPresets } from "../../../src/conditions/signing/presets/mod.ts";
import type { Encoding } from "../../../src/conditions/signing/encoding.ts";
import { signatureHeaders, signedContents } from "../../../src/conditions/signing/scheme.ts";
import { coversBody, parseTemplate } from "../../../src/conditions/signing/template.ts";
import { eachOf } from "../../arbitraries.ts";
import { NOW_MS } from "../fixture.ts";
import { bodyOf, distinctSenders, type Sender, senders, type Sent } from "../signing/senders.ts";
import {
  assertFirst,
  diagnosed,
  type DiagnosedParts,
  followed,
  prepared,
  signed,
  withBody,
  withHeader,
  type Written,
} from "./fixture.ts";

/** A mistake, and the finding that must come first. */
interface Mistake {
  name: string;
  /** Makes the request and the conditions that it comes to; undefined where a scheme cannot have the mistake. */
  make(sender: Sender): Promise<Made | undefined> | Made | undefined;
  certainty: Certainty;
  words: string | RegExp | ((sender: Sender) => string);
}

interface Made extends DiagnosedParts {
  sent: Sent;
  conditions: Written[];
}

/** Some text, some base64 and some hex. */
const SECRET = "44782def547aaa06c910c43932b1eb0c";
const ELEVEN_MINUTES_MS = 11 * 60_000;

function own(sender: Sender, key = 0, overrides = {}): Written {
  return { ...sender.settings(key, overrides) };
}

/** The settings of a preset with a secret of the test's own. */
function withSecret(sender: Sender, secret: unknown, overrides: Written = {}): Written {
  return own(sender, 0, { secrets: [secret], ...overrides });
}

/** A request that is signed with a secret as the settings read it. */
async function signedWith(sender: Sender, secret: string, overrides: Written = {}): Promise<Sent> {
  const settings = hmac.schema.parse(withSecret(sender, secret, overrides));
  return await signed([settings], { body: bodyFor(sender) });
}

function bodyFor({ name }: Sender): string {
  const inside: Record<string, unknown> = {
    "hmac mailgun": { signature: { token: "t".repeat(50), timestamp: "" } },
    "hmac linear": { webhookTimestamp: 0 },
    "hmac adyen": bodyOf("adyen", "1"),
  };
  return JSON.stringify({ id: "evt_1", value: "ä/1", ...Object(inside[name]) });
}

function isMac({ name }: Sender): boolean {
  return name.startsWith("hmac ");
}

function coversWholeBody({ scheme }: Sender): boolean {
  return signedContents(scheme).every((template) => parseTemplate(template).some(coversBody));
}

const mistakes: Mistake[] = [
  {
    name: "none",
    make: async (sender) => ({ sent: await sender.send("x"), conditions: [own(sender)] }),
    certainty: "matches",
    words: "Everything passes",
  },
  {
    name: "another secret, or another public key",
    make: async (sender) => ({ sent: await sender.send("x"), conditions: [own(sender, 1)] }),
    certainty: "likely",
    words: /^This is .*'s scheme, and the (secret|public key) is another endpoint's/,
  },
  {
    name: "a body that was pretty-printed on its way",
    make: async (sender) => {
      if (!coversWholeBody(sender)) return undefined;
      const sent = await sender.send("x");
      const pretty = (body: string) => JSON.stringify(JSON.parse(body), undefined, 2);
      return { sent: withBody(sent, pretty), conditions: [own(sender)] };
    },
    certainty: "matches",
    words: "The body was changed on its way, or after it was signed: compact JSON would match",
  },
  {
    name: "a line break that was added to the body",
    make: async (sender) => {
      if (!coversWholeBody(sender)) return undefined;
      const sent = await sender.send("x");
      return { sent: withBody(sent, (body) => `${body}\n`), conditions: [own(sender)] };
    },
    certainty: "matches",
    words: "the body without the line break at its end would match",
  },
  {
    name: "a clock that is slow",
    make: async (sender) => {
      const { timestamp, tolerance } = sender.scheme;
      if (timestamp === undefined) return undefined;
      const sent = await sender.send("x");
      const receivedAt_ms = NOW_MS + tolerance * 1000 + ELEVEN_MINUTES_MS;
      return { sent: { ...sent, receivedAt_ms }, conditions: [own(sender)] };
    },
    certainty: "matches",
    words: ({ scheme: { tolerance } }) =>
      `Right signature, ${Math.floor(11 + tolerance / 60)} minutes old: look at the clock`,
  },
  {
    name: "a clock that is fast",
    make: async (sender) => {
      const { timestamp, tolerance } = sender.scheme;
      if (timestamp === undefined) return undefined;
      const sent = await sender.send("x");
      const receivedAt_ms = NOW_MS - tolerance * 1000 - ELEVEN_MINUTES_MS;
      return { sent: { ...sent, receivedAt_ms }, conditions: [own(sender)] };
    },
    certainty: "matches",
    words: /^Right signature, \d+ minutes in the future: look at the clock/,
  },
  {
    name: "a signature in a header of a wrong name",
    make: async (sender) => {
      const [header] = signatureHeaders(sender.scheme);
      if (header === undefined) return undefined;
      const sent = await sender.send("x");
      return { sent: withHeader(sent, header, (name) => `${name}x`), conditions: [own(sender)] };
    },
    certainty: "matches",
    words: /^The signature is in header [\w-]+x: set `header: [\w-]+x`/,
  },
  {
    name: "a wrong signature in a header of a wrong name",
    make: async (sender) => {
      const [header] = signatureHeaders(sender.scheme);
      if (header === undefined || header === "Authorization") return undefined;
      const sent = await sender.send("x", { keys: [1] });
      return { sent: withHeader(sent, header, (name) => `${name}x`), conditions: [own(sender)] };
    },
    certainty: "likely",
    words: /is missing, and the request has [\w-]+x: is the name misspelled/,
  },
  {
    name: "no signature",
    make: async (sender) => {
      const sent = await sender.send("x");
      const headers = { "content-type": "application/json" };
      if (signatureHeaders(sender.scheme).length === 0) return undefined;
      return { sent: { ...sent, headers }, conditions: [own(sender)] };
    },
    certainty: "likely",
    words: /is missing: the sender signs nothing, or a proxy removes it/,
  },
  ...(["hex", "base64"] as const).map((encoding: Encoding): Mistake => ({
    name: `a signature in ${encoding}`,
    make: async (sender) => {
      const { scheme } = sender;
      // A signature in base64url can be the same text in base64.
      const isSame = scheme.encoding.slice(0, 6) === encoding;
      if (isSame || scheme.header === undefined) return undefined;
      const sent = await sender.send("x", { overrides: { encoding } });
      return { sent, conditions: [own(sender)] };
    },
    certainty: "matches",
    words: `\`encoding: "${encoding}"\``,
  })),
  {
    name: "a secret that is read as text",
    make: async (sender) => {
      if (!isMac(sender) || sender.scheme.key_encoding === "utf8") return undefined;
      const sent = await signedWith(sender, SECRET, { key_encoding: "utf8" });
      return { sent, conditions: [withSecret(sender, SECRET)] };
    },
    certainty: "matches",
    words: ({ scheme: { key_encoding } }) =>
      `Signed with the ${key_encoding} text of the secret instead of its bytes: let the sender decode it`,
  },
  {
    name: "a secret that is read as text with its prefix",
    make: async (sender) => {
      const { key_prefix, key_encoding } = sender.scheme;
      if (!isMac(sender) || key_prefix === "" || key_encoding === "utf8") return undefined;
      const overrides = { key_encoding: "utf8", key_prefix: "" };
      const sent = await signedWith(sender, key_prefix + SECRET, overrides);
      return { sent, conditions: [withSecret(sender, key_prefix + SECRET)] };
    },
    certainty: "matches",
    words: ({ scheme: { key_prefix } }) =>
      `Signed with the base64 text of the secret, \`${key_prefix}\` included, instead of its bytes`,
  },
  ...(["base64", "hex"] as const).map((key_encoding): Mistake => ({
    name: `a secret that is read as ${key_encoding}`,
    make: async (sender) => {
      if (!isMac(sender) || sender.scheme.key_encoding !== "utf8") return undefined;
      const secret = Buffer.from("a secret of thirty-two bytes, no").toString(key_encoding);
      const sent = await signedWith(sender, secret, { key_encoding });
      return { sent, conditions: [withSecret(sender, secret)] };
    },
    certainty: "matches",
    words:
      `Signed with the bytes that the secret writes in ${key_encoding} instead of its text: set \`key_encoding: ${key_encoding}\``,
  })),
  {
    name: "a secret without the prefix that the sender keeps",
    make: async (sender) => {
      if (!isMac(sender) || sender.scheme.key_encoding !== "utf8") return undefined;
      const sent = await signedWith(sender, `whsec_${SECRET}`);
      return { sent, conditions: [withSecret(sender, SECRET)] };
    },
    certainty: "matches",
    words: "Signed with the secret with `whsec_` before it",
  },
  {
    name: "a secret with a prefix that the sender removes",
    make: async (sender) => {
      if (!isMac(sender) || sender.scheme.key_encoding !== "utf8") return undefined;
      const sent = await signedWith(sender, SECRET);
      return { sent, conditions: [withSecret(sender, `whsec_${SECRET}`)] };
    },
    certainty: "matches",
    words: "Signed with the secret without `whsec_`: remove `whsec_` from the trigger's secret",
  },
  {
    name: "a line break at the end of the trigger's secret",
    make: async (sender) => {
      if (!isMac(sender)) return undefined;
      const sent = await signedWith(sender, SECRET);
      const variables = { SECRET: `${SECRET}\n` };
      return { sent, conditions: [withSecret(sender, "{env:SECRET}")], variables };
    },
    certainty: "matches",
    words: "without the white space around it: remove the white space, such as a line's end",
  },
  {
    name: "a line break at the end of the sender's secret",
    make: async (sender) => {
      if (!isMac(sender) || sender.scheme.key_encoding !== "utf8") return undefined;
      const sent = await signedWith(sender, `${SECRET}\n`);
      return { sent, conditions: [withSecret(sender, SECRET)] };
    },
    certainty: "matches",
    words: "Signed with the secret with a line break at its end",
  },
  {
    name: "a secret that was encoded once more",
    make: async (sender) => {
      if (!isMac(sender) || sender.scheme.key_encoding !== "utf8") return undefined;
      const sent = await signedWith(sender, Buffer.from(SECRET).toString("base64"));
      return { sent, conditions: [withSecret(sender, SECRET)] };
    },
    certainty: "matches",
    words: "Signed with the secret, encoded in base64 once more",
  },
  {
    name: "a secret that has ended",
    make: async (sender) => {
      if (!isMac(sender)) return undefined;
      const until = new Date(NOW_MS - 1_000).toISOString();
      const secrets = [{ secret: SECRET, until }, Buffer.from("another one, too").toString("hex")];
      const sent = await signedWith(sender, SECRET);
      return { sent, conditions: [own(sender, 0, { secrets })] };
    },
    certainty: "matches",
    words: "The secret is one that ended at 2023-11-14T22:13:19.000Z",
  },
  {
    name: "another provider with the same secret",
    make: async (sender) => {
      if (!isMac(sender)) return undefined;
      const other = nextScheme(sender);
      return { sent: await signedWith(other, SECRET), conditions: [withSecret(sender, SECRET)] };
    },
    certainty: "matches",
    words: /This is the scheme of [^:]+: set `preset: \w+`/,
  },
  {
    name: "another provider with another secret",
    make: async (sender) => {
      const other = nextScheme(sender);
      return { sent: await other.send("x", { keys: [1] }), conditions: [own(sender)] };
    },
    certainty: "likely",
    words: /^The request is signed as by [^:]+, .* condition `\w+` with `preset: \w+`/,
  },
  {
    name: "the secret of another trigger",
    make: async (sender) => {
      if (!isMac(sender)) return undefined;
      const others = [await prepared([withSecret(sender, SECRET)], { name: "staging" })];
      return { sent: await signedWith(sender, SECRET), conditions: [own(sender, 1)], others };
    },
    certainty: "matches",
    words: 'The secret is that of trigger "staging"',
  },
];

/** The scheme of the next preset that signs in another way, which this one does not accept. */
function nextScheme(sender: Sender): Sender {
  const place = senders.indexOf(sender);
  const accepted = signatureHeaders(sender.scheme);
  const next = [...senders.slice(place + 1), ...senders].find(({ name, scheme }) =>
    isMac(sender) === name.startsWith("hmac ") && scheme.prefix + scheme.header !== "" &&
    (!signatureHeaders(scheme).every((header) => accepted.includes(header)) ||
      scheme.prefix !== sender.scheme.prefix)
  );
  return next ?? sender;
}

const isTried = eachOf(8);
for (const [place, sender] of distinctSenders.entries()) {
  Deno.test(`doctor: ${sender.name}`, async () => {
    for (
      const { name, make, certainty, words } of mistakes.filter((_, at) => isTried(place + at))
    ) {
      const made = await make(sender);
      if (made === undefined) continue;
      const { sent, conditions, ...parts } = made;
      const findings = await diagnosed(conditions, sent, parts);
      const expected = typeof words === "function" ? words(sender) : words;
      assertFirst(findings, certainty, expected, `${sender.name}: ${name}`);
    }
  });
}

Deno.test("doctor: the settings that a finding names beside a preset with a list let the request pass", async () => {
  const lists = Object.keys(hmacPresets).filter((preset) =>
    hmacPresets[preset]?.scheme.field !== undefined
  );
  for (const preset of lists) {
    for (const other of [{ encoding: "hex" }, { encoding: "base64" }, { algorithm: "sha512" }]) {
      const own = { type: "hmac", preset, secrets: [SECRET] };
      const sent = await signed([hmac.schema.parse({ ...own, ...other })]);
      const [first] = await diagnosed([own], sent);
      if (first?.condition === "request" || first?.certainty !== "matches") continue;
      const again = await diagnosed([followed(own, first.sentence)], sent);
      assertFirst(again, "matches", "Everything passes", `${preset}: ${first.sentence}`);
    }
  }
});
