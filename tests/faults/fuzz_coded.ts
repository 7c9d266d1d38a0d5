/**
 * Bodies of every kind, coded and damaged, drawn by a seed.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import type { Random } from "./findings.ts";
import { someJunk, someText } from "./fuzz_values.ts";

/** A body, and the headers that say what it is. */
export interface CodedBody {
  body: Uint8Array<ArrayBuffer>;
  type: string;
  /** Its Content-Encoding. */
  coding?: string;
  /** A description of the drawn case, for a finding. */
  what: string;
}

interface Plain {
  body: Uint8Array;
  type: string;
}

const BOUNDARY = "--of-the-fuzz";
const QUALITY = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };
const CODERS: Readonly<Record<string, (body: Uint8Array) => Uint8Array>> = {
  gzip: (body) => gzipSync(body),
  "x-gzip": (body) => gzipSync(body),
  deflate: (body) => deflateSync(body),
  br: (body) => brotliCompressSync(body, QUALITY),
  identity: (body) => body,
  zstd: (body) => body,
  "deflate ": (body) => deflateRawSync(body),
};
const CODINGS = ["gzip", "br", "deflate", "deflate ", "x-gzip", "identity", "zstd"] as const;

/** Draws a body. */
export function someCodedBody(random: Random): CodedBody {
  const { body: plain, type } = somePlain(random);
  const codings = Array.from(
    { length: random.pick([0, 1, 1, 1, 2, 3, 5]) },
    () => random.pick(CODINGS),
  );
  const coded = codings.reduce((body, coding) => CODERS[coding]?.(body) ?? body, plain);
  const body = new Uint8Array(random.chance(0.4) ? damaged(random, coded) : coded);
  // Some are not what they say.
  const said = random.chance(0.1)
    ? random.pick([["gzip"], ["br, gzip"], [someText(random)]])
    : codings;
  const coding = said.join(random.pick([",", ", "])).replaceAll(/[^\x20-\x7e]/g, "");
  const what = `${type}, coded as ${JSON.stringify(coding)}: ${
    Buffer.from(body.subarray(0, 300)).toString("base64")
  } (${body.length} bytes)`;
  return { body, type, ...(coding === "" ? {} : { coding }), what };
}

function somePlain(random: Random): Plain {
  const text = (body: string, type: string): Plain => ({ body: Buffer.from(body), type });
  switch (random.int(7)) {
    case 0:
      return text(
        `token=a-secret-of-the-fuzz&a=${encodeURIComponent(someText(random).toWellFormed())}`,
        "application/x-www-form-urlencoded",
      );
    case 1:
    case 2:
      return someMultipart(random);
    case 3:
      return text(
        `<xml><ToUserName><![CDATA[${someText(random)}]]></ToUserName></xml>`,
        "text/xml",
      );
    case 4:
      return { body: random.bytes(random.int(2_000)), type: "application/octet-stream" };
    case 5:
      // What makes much of little.
      return { body: new Uint8Array(random.int(1 << random.int(22))), type: "text/plain" };
    default:
      return text(
        JSON.stringify({ token: "a-secret-of-the-fuzz", a: someJunk(random) }),
        "application/json",
      );
  }
}

function someMultipart(random: Random): Plain {
  const parts = Array.from({ length: random.int(6) }, () => {
    const name = random.pick(["token", "a", "payload", "", "é", 'a"b', "a;b"]);
    const file = random.chance(0.3) ? `; filename="${random.pick(["x", "", "a;b", "é"])}"` : "";
    const value = random.pick([
      "a-secret-of-the-fuzz",
      JSON.stringify(someJunk(random)) ?? "",
      someText(random),
      `--${BOUNDARY}`,
      `\r\n--${BOUNDARY}x`,
    ]);
    const end = random.chance(0.9) ? "\r\n\r\n" : "\r\n";
    return `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"${file}${end}${value}\r\n`;
  });
  const body = parts.join("") + (random.chance(0.9) ? `--${BOUNDARY}--\r\n` : "");
  const type = random.pick([
    `multipart/form-data; boundary=${BOUNDARY}`,
    `multipart/form-data; boundary=${BOUNDARY}`,
    `multipart/form-data; boundary="${BOUNDARY}"; charset=utf-8`,
    "multipart/form-data",
    "multipart/form-data; boundary=",
    `multipart/mixed; boundary=${BOUNDARY}`,
  ]);
  return { body: Buffer.from(body), type };
}

/** Cuts a body off, adds bytes to it, or changes some. */
function damaged(random: Random, body: Uint8Array): Uint8Array {
  const other = new Uint8Array(body);
  switch (random.int(4)) {
    case 0:
      return other.subarray(0, random.int(other.length + 1));
    case 1:
      return Buffer.concat([other, random.bytes(1 + random.int(20))]);
    case 2:
      return Buffer.concat([other, other]);
    default:
      for (let count = random.int(8); count >= 0 && other.length > 0; count--) {
        other[random.int(other.length)] = random.int(256);
      }
      return other;
  }
}
