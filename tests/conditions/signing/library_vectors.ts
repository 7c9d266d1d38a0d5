/**
 * Requests that providers' own libraries have signed, or accepted where they only verify. The libraries
 * themselves are not needed to run the tests.
 *
 * @module
 */
import type { Vector } from "./vectors.ts";

const TIME_S = 1_700_000_000;

/** Requests with an HMAC. */
export const libraryMacs: Vector[] = [
  {
    preset: "elevenlabs",
    source: "@elevenlabs/elevenlabs-js 2.73.0, constructEvent",
    settings: { secrets: ["wsec_of_elevenlabs"] },
    parts: {
      headers: {
        "ElevenLabs-Signature":
          "t=1700000000,v0=d69aa10832799b619a427619e04d68e7e79bfa30e2b5d9cc1dacf3762ed2caad",
      },
      body:
        '{"type":"post_call_transcription","event_timestamp":1700000000,"data":{"agent_id":"a1"}}',
      receivedAt_ms: TIME_S * 1000,
    },
  },
];

/** Requests that a private key has signed. */
export const librarySignatures: Vector[] = [];
