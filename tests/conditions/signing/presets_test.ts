/**
 * For every preset that signs: what its signer makes passes its verifier, and no change of it does.
 */
import { assert, assertEquals, assertNotEquals } from "@std/assert";
import fc from "fast-check";
import { pathOf } from "../../../src/conditions/field.ts";
import { decode, encode } from "../../../src/conditions/signing/encoding.ts";
import { coversBody, parseTemplate } from "../../../src/conditions/signing/template.ts";
import { signatureHeaders, signedContents } from "../../../src/conditions/signing/scheme.ts";
import { formatTimestamp } from "../../../src/conditions/freshness.ts";
import { childOf } from "../../../src/platform/schema/pointer.ts";
import { NOW_MS } from "../fixture.ts";
import { type Sender, senders, type Sent } from "./senders.ts";

/** Of each preset: they share their code. */
const RUNS = 3;

/** A way to change a request; undefined where it does not apply. */
type Mutation = (sent: Sent, sender: Sender, at: number) => Sent | undefined | Promise<Sent>;

const mutations: Record<string, Mutation> = {
  "one bit of the body": (sent, sender, at) => {
    if (!signsBody(sender)) return undefined;
    const body = Uint8Array.from(sent.body);
    flipBit(body, at);
    return { ...sent, body };
  },
  "a body that is cut off": (sent, sender) =>
    signsBody(sender) ? { ...sent, body: sent.body.subarray(0, -1) } : undefined,
  "a body with a byte more": (sent, sender) =>
    signsBody(sender) ? { ...sent, body: Uint8Array.from([...sent.body, 0x20]) } : undefined,
  "no body": (sent) => ({ ...sent, body: new Uint8Array() }),
  "one bit of the signature": (sent, sender, at) =>
    withSignature(sent, sender, (bytes) => {
      flipBit(bytes, at);
      return bytes;
    }),
  "a signature that is cut off": (sent, sender) =>
    withSignature(sent, sender, (bytes) => bytes.subarray(0, -1)),
  "a signature with a byte more": (sent, sender) =>
    withSignature(sent, sender, (bytes) => Uint8Array.from([...bytes, 0])),
  "an empty signature": (sent, sender) => withSignature(sent, sender, () => new Uint8Array()),
  "a signature of zeros": (sent, sender) =>
    withSignature(sent, sender, (bytes) => new Uint8Array(bytes.length)),
  "no signature": (sent, sender) => {
    const headers = { ...sent.headers };
    for (const name of signatureHeaders(sender.scheme)) delete headers[name.toLowerCase()];
    return sender.scheme.body_field === undefined
      ? { ...sent, headers }
      : withBodyField(sent, sender.scheme.body_field, undefined);
  },
  "the signature of another body": async (sent, sender) => {
    const other = await sender.send("another value");
    if (sender.scheme.body_field !== undefined) {
      return withBodyField(
        sent,
        sender.scheme.body_field,
        bodyField(other, sender.scheme.body_field),
      );
    }
    const headers = { ...sent.headers };
    for (const name of signatureHeaders(sender.scheme).map((name) => name.toLowerCase())) {
      const value = other.headers[name];
      if (value !== undefined) headers[name] = value;
    }
    return { ...sent, headers };
  },
  "another time": (sent, sender) => {
    const { timestamp } = sender.scheme;
    if (timestamp === undefined) return undefined;
    const text = formatTimestamp(NOW_MS + 1000, timestamp.format);
    if (timestamp.in === "header") return withHeader(sent, timestamp.name, () => text);
    if (timestamp.in === "body") return withBodyField(sent, timestamp.name, text);
    const [header = ""] = signatureHeaders(sender.scheme);
    const own = formatTimestamp(NOW_MS, timestamp.format);
    return withHeader(sent, header, (value) => value.replace(own, text));
  },
  "another id": (sent, { scheme }) => {
    const { id } = scheme;
    if (id === undefined) return undefined;
    return withHeader(sent, id.name, (value) => `${value}x`);
  },
  "another method": (sent, { scheme }) =>
    signs(scheme.signed_content, "{method}") ? { ...sent, method: "PUT" } : undefined,
  "another query": (sent, { scheme }) =>
    signs(scheme.signed_content, "url}") || signs(scheme.signed_content, ":path}")
      ? { ...sent, url: `${sent.url}&b=2` }
      : undefined,
};

for (const sender of senders) {
  Deno.test(`preset ${sender.name}: what it signs passes, and no change of it`, async () => {
    await fc.assert(
      fc.asyncProperty(fc.string(), fc.nat(), async (value, at) => {
        const sent = await sender.send(value);
        assertEquals(await sender.check(sender.settings(0), sent), undefined);
        for (const [name, mutate] of Object.entries(mutations)) {
          const changed = await mutate(sent, sender, at);
          if (changed === undefined) continue;
          assertNotEquals(await sender.check(sender.settings(0), changed), undefined, name);
        }
        assertNotEquals(await sender.check(sender.settings(1), sent), undefined, "another key");
      }),
      { numRuns: RUNS, examples: [["another value, not", 0]] },
    );
  });

  Deno.test(`preset ${sender.name}: two keys are live while they are changed`, async () => {
    for (const list of ["secrets", "public_keys"] as const) {
      const [one, other] = [sender.settings(0), sender.settings(1)].map(keysOf(list));
      if (one === undefined || other === undefined) continue;
      const both = sender.settings(0, { [list]: [...other, ...one] });
      assertEquals(await sender.check(both, await sender.send("x")), undefined);
      const neither = sender.settings(0, { [list]: [...other, ...other] });
      assertNotEquals(await sender.check(neither, await sender.send("x")), undefined);
    }
    const hasRoom = sender.scheme.list_separator !== undefined ||
      signatureHeaders(sender.scheme).length > 1;
    if (!hasRoom) return;
    const twice = await sender.send("x", { keys: [2, 0] });
    assertEquals(await sender.check(sender.settings(0), twice), undefined);
    assertEquals(await sender.check(sender.settings(2), twice), undefined);
    assertNotEquals(await sender.check(sender.settings(1), twice), undefined);
  });

  const { timestamp, tolerance } = sender.scheme;
  if (timestamp !== undefined) {
    Deno.test(`preset ${sender.name}: ${tolerance} s old or ahead passes, a moment more does not`, async () => {
      const sent = await sender.send("x");
      for (
        const [seconds, settings] of [
          [tolerance, sender.settings(0)],
          [7, sender.settings(0, { tolerance: 7 })],
        ] as const
      ) {
        for (const direction of [1, -1]) {
          const at = (away_ms: number) => ({
            ...sent,
            receivedAt_ms: NOW_MS + direction * away_ms,
          });
          assertEquals(await sender.check(settings, at(seconds * 1000)), undefined);
          const refusal = await sender.check(settings, at(seconds * 1000 + 1));
          assert(refusal?.reason.includes("the time of receipt"), refusal?.reason);
          assertEquals(refusal?.expected, `at most ${seconds} s before or after`);
          assertNotEquals(await sender.check(settings, at((seconds + 1) * 1000)), undefined);
        }
      }
    });
  }

  Deno.test(`preset ${sender.name}: no refusal tells a signature or a key`, async () => {
    const sent = await sender.send("x");
    const settings = sender.settings(0);
    const changed = Object.values(mutations).map((mutate) => mutate(sent, sender, 3));
    for (const mutated of await Promise.all(changed)) {
      if (mutated === undefined) continue;
      const text = JSON.stringify(await sender.check(settings, mutated) ?? {});
      for (const secret of keysOf("secrets")(settings) ?? []) assert(!text.includes(secret));
      for (const name of signatureHeaders(sender.scheme)) {
        const value = sent.headers[name.toLowerCase()] ?? "";
        if (value !== "") assert(!text.includes(value.slice(-16)), text);
      }
    }
  });
}

function keysOf(list: "secrets" | "public_keys"): (settings: object) => string[] | undefined {
  // Of the two lists, the kind of the condition has one.
  return (settings) => (settings as Record<string, string[]>)[list];
}

function signs(content: string | readonly string[], placeholder: string): boolean {
  return (typeof content === "string" ? [content] : content).every((template) =>
    template.includes(placeholder)
  );
}

function signsBody({ scheme }: Sender): boolean {
  return signedContents(scheme).every((template) => parseTemplate(template).some(coversBody));
}

function flipBit(bytes: Uint8Array, at: number): void {
  const index = Math.floor(at / 8) % bytes.length;
  bytes[index] = (bytes[index] ?? 0) ^ (1 << (at % 8));
}

function withHeader(sent: Sent, name: string, change: (value: string) => string): Sent {
  const key = name.toLowerCase();
  return { ...sent, headers: { ...sent.headers, [key]: change(sent.headers[key] ?? "") } };
}

function bodyField({ body }: Sent, name: string): string {
  return String(pathOf(name).reduce(childOf, JSON.parse(new TextDecoder().decode(body))));
}

function withBodyField(sent: Sent, name: string, value: string | undefined): Sent {
  const body = JSON.parse(new TextDecoder().decode(sent.body));
  const path = name.replace(/^\//, "").split("/");
  const last = path.pop() ?? "";
  const parent = path.reduce((inner, key) => inner[key], body);
  parent[last] = typeof parent[last] === "number" ? Number(value) : value;
  return { ...sent, body: new TextEncoder().encode(JSON.stringify(body)) };
}

/** Changes the bytes of the one signature that a request carries. */
function withSignature(
  sent: Sent,
  { scheme }: Sender,
  change: (bytes: Uint8Array) => Uint8Array,
): Sent {
  const mark = (scheme.field === undefined ? "" : scheme.field + scheme.field_separator) +
    scheme.prefix;
  const { list_separator } = scheme;
  const rewrite = (value: string) => {
    const items = list_separator === undefined ? [value] : value.split(list_separator);
    const place = items.findLastIndex((item) => item.startsWith(mark));
    const bytes = decode(items[place]?.slice(mark.length) ?? "?", scheme.encoding);
    assert(bytes, value);
    items[place] = mark + encode(change(bytes), scheme.encoding);
    return items.join(list_separator);
  };
  if (scheme.body_field !== undefined) {
    return withBodyField(sent, scheme.body_field, rewrite(bodyField(sent, scheme.body_field)));
  }
  const [header = ""] = signatureHeaders(scheme);
  return withHeader(sent, header, rewrite);
}
