/**
 * Long bodies are verified off the event loop and one request of a trigger at a time, with the same result
 * as short ones.
 */
import { assert, assertEquals, assertNotEquals, assertRejects } from "@std/assert";
import { generateKeyPairSync, sign, verify } from "node:crypto";
import { prepareConditions, type PreparedConditions } from "../../../src/conditions/prepare.ts";
import { signature } from "../../../src/conditions/signature.ts";
import { rawOfDer } from "../../../src/conditions/signing/webcrypto.ts";
import { UnavailableError } from "../../../src/platform/errors.ts";
import { context, request } from "../fixture.ts";
import { eachOf } from "../../arbitraries.ts";
import { distinctSenders } from "./senders.ts";

/** Longer than what is verified at once. */
const LONG = "x".repeat(300 * 1024);

const isTried = eachOf(4);
// Where the signature is in the body, it comes with another body.
const tried = distinctSenders.filter(({ scheme }) => scheme.body_field === undefined)
  .filter((_, place) => isTried(place));
for (const sender of tried) {
  Deno.test(`preset ${sender.name}: a long body passes, and no change of it`, async () => {
    const sent = await sender.send(LONG);
    assertEquals(await sender.check(sender.settings(0), sent), undefined);
    const other = await sender.send(`${LONG}y`);
    const swapped = { ...sent, body: other.body };
    assertNotEquals(await sender.check(sender.settings(0), swapped), undefined);
    assertNotEquals(await sender.check(sender.settings(1), sent), undefined);
  });
}

/** The tag of ASN.1. */
const INTEGER = 2;

Deno.test("signatures in DER are read as WebCrypto takes them, whatever their length", () => {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const lengths = new Set<number>();
  // One in a hundred has a number that is short.
  for (let index = 0; index < 100 || lengths.size < 4; index++) {
    const content = new TextEncoder().encode(String(index));
    const der = sign("sha256", content, { key: privateKey, dsaEncoding: "der" });
    lengths.add(der.length);
    const raw = rawOfDer(der);
    assert(raw && verify("sha256", content, { key: publicKey, dsaEncoding: "ieee-p1363" }, raw));
    const [sequence = 0, length = 0, , ...rest] = der;
    for (
      const wrong of [
        der.subarray(0, -1),
        der.subarray(1),
        Uint8Array.from([...der, 0]),
        Uint8Array.of(sequence + 1, length, INTEGER, ...rest),
        Uint8Array.of(sequence, length, INTEGER + 1, ...rest),
        Uint8Array.of(sequence, 4, INTEGER, 0, INTEGER, 0),
      ]
    ) assertEquals(rawOfDer(wrong), undefined);
  }
});

const keys = Array.from({ length: 8 }, () => generateKeyPairSync("ed25519"));

function prepared(): Promise<PreparedConditions> {
  const settings = signature.schema.parse({
    type: "signature",
    algorithm: "ed25519",
    header: "X-Sig",
    list_separator: " ",
    public_keys: keys.map(({ publicKey }) => publicKey.export({ format: "pem", type: "spki" })),
  });
  return prepareConditions([settings], context(), "t");
}

Deno.test("the event loop goes on while a body of 16 MiB is tried with 8 keys and 4 signatures", async () => {
  const { checks: [condition] } = await prepared();
  const body = new Uint8Array(16 * 1024 * 1024);
  const forged = keys.slice(0, 4).map(({ privateKey }) => sign(null, body.subarray(1), privateKey));
  const headers = { "x-sig": forged.map((bytes) => bytes.toString("base64")).join(" ") };
  let turns = 0;
  const timer = setInterval(() => turns++, 5);
  const refusal = await condition?.check(request({ headers, body }));
  clearInterval(timer);
  assertEquals(refusal?.reason, "Header X-Sig holds a wrong signature");
  // Each of the 32 signatures lets others have their turn.
  assert(turns >= 16, `${turns} turns`);
});

Deno.test("of long bodies that come at once, one after the other is checked and too many are turned away", async () => {
  const { checks: [condition] } = await prepared();
  const body = new Uint8Array(300 * 1024);
  const headers = { "x-sig": sign(null, body, keys[7]?.privateKey ?? "").toString("base64") };
  const checked = Array.from({ length: 18 }, () => condition?.check(request({ headers, body })));
  const [last, ...others] = checked.toReversed();
  await assertRejects(async () => await last, UnavailableError, "Cannot check a long body");
  assertEquals(await Promise.all(others), others.map(() => undefined));
  assertEquals(await condition?.check(request({ headers, body })), undefined);
});
