/**
 * Decoding of brotli (RFC 7932). That of node:zlib in Deno 2.9 takes a stream that is cut off for a whole one.
 *
 * @module
 */
import { BrotliDecStream, BrotliStreamResultCode, initSync } from "brotli-dec-wasm/web";
import { DecodingError } from "./decoding_error.ts";

// The package would fetch its file, which works for no file within the one binary; reading does.
initSync({
  module: Deno.readFileSync(new URL(import.meta.resolve("brotli-dec-wasm/web/bg.wasm"))),
});

/** Each step copies its input and makes its output anew. */
const INPUT_BYTES = 64 * 1024;
const OUTPUT_BYTES = 256 * 1024;

/**
 * Decodes a whole stream.
 *
 * @throws {DecodingError} when it is no stream, ends too early or too late, or makes more bytes than the limit
 */
export function decodeBrotli(bytes: Uint8Array, limit_bytes: number): Uint8Array[] {
  using stream = new BrotliDecStream();
  const parts: Uint8Array[] = [];
  let size = 0;
  for (let at = 0;;) {
    using step = decodeStep(stream, bytes.subarray(at, at + INPUT_BYTES));
    const { buf: part, code, input_offset: taken } = step;
    at += taken;
    size += part.length;
    if (size > limit_bytes) throw new DecodingError("too_large");
    parts.push(part);
    if (code === BrotliStreamResultCode.ResultSuccess) {
      if (at < bytes.length) throw new DecodingError("too_long");
      return parts;
    }
    if (code === BrotliStreamResultCode.NeedsMoreInput && at >= bytes.length) {
      throw new DecodingError("cut_off");
    }
  }
}

function decodeStep(stream: InstanceType<typeof BrotliDecStream>, input: Uint8Array) {
  try {
    return stream.dec(input, OUTPUT_BYTES);
  } catch {
    throw new DecodingError("malformed");
  }
}
