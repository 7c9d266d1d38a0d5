/**
 * What is signed by a scheme passes by that scheme, whatever the scheme is; and with any bit of what was
 * sent turned around it does not.
 */
import { assert, assertEquals, assertNotEquals } from "@std/assert";
import fc from "fast-check";
import { generateKeyPairSync } from "node:crypto";
import type { CheckedKind } from "../../../src/conditions/condition.ts";
import { decode, encode, type Encoding } from "../../../src/conditions/signing/encoding.ts";
import { hmac } from "../../../src/conditions/hmac.ts";
import { signRequest } from "../../../src/conditions/sign_request.ts";
import { signature } from "../../../src/conditions/signature.ts";
import { candidatesReader, writeSignatures } from "../../../src/conditions/signing/candidates.ts";
import { resolveScheme } from "../../../src/conditions/signing/scheme.ts";
import { formatTimestamp } from "../../../src/conditions/freshness.ts";
import { anyText, mutated, pieces, withFlippedBit } from "../../arbitraries.ts";
import { rsaPairs } from "../../rsa_keys.ts";
import { checkOnce, NOW_MS } from "../fixture.ts";

const keys = {
  ed25519: generateKeyPairSync("ed25519"),
  ecdsa_p256: generateKeyPairSync("ec", { namedCurve: "P-256" }),
  rsa_sha256: rsaPairs[0],
};

/** How signatures are written. What stands between them stands in none of them. */
const form = fc.record({
  encoding: fc.constantFrom<Encoding>("hex", "base64", "base64url"),
  prefix: fc.constantFrom("", "sha256=", "v1:", "a=b:"),
  list: fc.constantFrom<Record<string, string>>(
    {},
    { list_separator: "," },
    { list_separator: " " },
    { list_separator: ";", field: "v1", field_separator: "=" },
    { list_separator: ", ", field: "sig", field_separator: "::" },
  ),
}, { noNullPrototype: true });

const source = fc.record({
  in: fc.constantFrom("header", "query", "signature"),
  name: fc.constant("t"),
  format: fc.constantFrom("unix_s", "unix_ms", "rfc3339"),
}, { noNullPrototype: true });

const schemes = fc.tuple(
  form,
  fc.option(source, { nil: undefined }),
  fc.constantFrom(
    "{body}",
    "{body}{body}",
    "ä{method}\n{path}\n{body}",
    "{url}|{header:X-Other}|{body}",
    "{id}.{body}",
  ),
).map(([{ encoding, prefix, list }, timestamp, content]) => {
  const isInSignature = timestamp?.in === "signature";
  const fields = isInSignature ? { list_separator: ",", field: "v1", field_separator: "=" } : list;
  return {
    encoding,
    prefix,
    ...fields,
    header: "X-Signature",
    signed_content: timestamp ? `{timestamp}.${content}` : content,
    ...(content.includes("{id}") ? { id: { in: "header", name: "X-Id" } } : {}),
    ...(timestamp ? { timestamp } : {}),
  };
});

/** Signs a body, checks what was made, and then each change of one thing in it. */
async function signedAndChanged(
  kind: CheckedKind,
  settings: Record<string, unknown> & { encoding: Encoding; prefix: string },
  privateKey: string | undefined,
  body: Uint8Array,
  at: number,
): Promise<void> {
  const complete = kind.schema.parse({ type: kind.type, ...settings });
  const signed = await signRequest([complete], {
    url: "https://hooks.example/x?a=1",
    headers: { "content-type": "application/octet-stream" },
    body,
    now_ms: NOW_MS,
    env: () => undefined,
    ...(privateKey === undefined ? {} : { privateKeys: [privateKey] }),
  });
  assertEquals(signed.problems, []);
  const { headers, url } = signed;
  const check = (parts: { headers?: Record<string, string>; body?: Uint8Array; url?: string }) => {
    const address = parts.url ?? url;
    return checkOnce(kind, settings, {
      headers: parts.headers ?? headers,
      body: parts.body ?? body,
      url: address,
      query: new URL(address).search.slice(1),
    });
  };
  assertEquals(await check({}), undefined);

  const value = headers["x-signature"] ?? "";
  const changes: Record<string, Parameters<typeof check>[0]> = {
    "a byte more": { body: Uint8Array.from([...body, 0]) },
    ...(body.length > 0 && {
      "a bit of the body": { body: withFlippedBit(body, at) },
      "a byte less": { body: body.subarray(1) },
    }),
    ...(headers["x-id"] !== undefined && {
      "another id": { headers: { ...headers, "x-id": `${headers["x-id"]}0` } },
    }),
    ...(headers["x-other"] !== undefined && {
      "another header": { headers: { ...headers, "x-other": "x" } },
    }),
  };
  // The signature is the last thing of the header's value.
  const text = /[0-9A-Za-z+/_-]+={0,2}$/.exec(value)?.[0] ?? "";
  const bytes = decode(text, settings.encoding);
  assert(bytes, value);
  const start = value.slice(0, value.length - text.length);
  const forged = start + encode(withFlippedBit(bytes, at), settings.encoding);
  changes["a bit of the signature"] = { headers: { ...headers, "x-signature": forged } };
  if (settings.prefix !== "") {
    const other = `${settings.prefix.slice(0, -1)}~${text}`;
    const sent = start.slice(0, -settings.prefix.length) + other;
    changes["another prefix"] = { headers: { ...headers, "x-signature": sent } };
  }
  const { timestamp } = settings as { timestamp?: { in: string; format: "unix_s" } };
  if (timestamp) {
    const [own, later] = [0, 1000].map((more) => formatTimestamp(NOW_MS + more, timestamp.format));
    const moved = (text: string) => text.replace(own ?? "", later ?? "");
    changes["another time"] = timestamp.in === "query"
      ? { url: url.replace(/t=[^&]*/, `t=${encodeURIComponent(later ?? "")}`) }
      : timestamp.in === "header"
      ? { headers: { ...headers, t: moved(headers.t ?? "") } }
      : { headers: { ...headers, "x-signature": moved(value) } };
  }
  for (const [name, change] of Object.entries(changes)) {
    assertNotEquals(await check(change), undefined, name);
  }
}

const algorithms = fc.constantFrom("sha1", "sha256", "sha384", "sha512");
const bodies = fc.uint8Array({ maxLength: 100, size: "max" });

Deno.test("an HMAC of any scheme passes, and with one bit turned around it does not", async () => {
  await fc.assert(
    fc.asyncProperty(
      schemes,
      algorithms,
      bodies,
      fc.nat(),
      (scheme, algorithm, body, at) =>
        signedAndChanged(
          hmac,
          { ...scheme, algorithm, secrets: ["a secret"] },
          undefined,
          body,
          at,
        ),
    ),
    { numRuns: 120 },
  );
});

for (const [algorithm, { publicKey, privateKey }] of Object.entries(keys)) {
  const pem = String(publicKey.export({ format: "pem", type: "spki" }));
  const secret = String(privateKey.export({ format: "pem", type: "pkcs8" }));
  const formats = algorithm === "ecdsa_p256" ? ["der", "raw"] : [undefined];
  for (const signature_format of formats) {
    const title = [algorithm, signature_format].filter(Boolean).join(" as ");
    Deno.test(`a signature of any scheme with ${title} passes, and with one bit turned around it does not`, async () => {
      await fc.assert(
        fc.asyncProperty(schemes, bodies, fc.nat(), (scheme, body, at) =>
          signedAndChanged(
            signature,
            {
              ...scheme,
              algorithm,
              ...(signature_format === undefined ? {} : { signature_format }),
              public_keys: [pem],
            },
            secret,
            body,
            at,
          )),
        { numRuns: 15 },
      );
    });
  }
}

Deno.test("signatures that are written are read, each and in their order", () => {
  const signatures = fc.array(fc.uint8Array({ minLength: 32, maxLength: 32 }), {
    minLength: 1,
    maxLength: 4,
  });
  fc.assert(fc.property(form, signatures, ({ list, ...rest }, all) => {
    const scheme = resolveScheme(undefined, {
      algorithm: "sha256",
      header: "X-S",
      ...rest,
      ...list,
    });
    const text = writeSignatures(all, scheme, "");
    const read = candidatesReader(scheme)([text]);
    const expected = scheme.list_separator === undefined ? all.slice(0, 1) : all;
    assertEquals(
      "signatures" in read && read.signatures.map((bytes) => bytes.toHex()),
      expected.map((bytes) => bytes.toHex()),
    );
  }));
});

Deno.test("any text where a signature should be is read or refused, and tells no more than its length", () => {
  const header = (text: string) => text.replace(/[^\x20-\x7e\x80-\xff]/g, "");
  const valid = `t=1700000000,v1=${"ab".repeat(32)},v1=${"cd".repeat(32)}`;
  const text = fc.oneof(anyText, mutated(valid), pieces("v1=", "t=", ",", "ab", "=", " ")).map(
    header,
  );
  fc.assert(
    fc.property(form, text, ({ list, ...rest }, value) => {
      const scheme = resolveScheme(undefined, {
        algorithm: "sha256",
        header: "X-S",
        ...rest,
        ...list,
      });
      const read = candidatesReader(scheme)([value]);
      if ("reason" in read) return;
      assert(read.signatures.length > 0 && read.signatures.length <= 16);
      assert(read.signatures.every(({ length }) => length === 32));
    }),
    { numRuns: 300 },
  );
});
