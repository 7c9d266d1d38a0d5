/** Contents of artifacts, and their descriptions. */
import { hash } from "node:crypto";
import type { ArtifactInfo, OpenArtifact } from "../../src/artifacts/store.ts";

export function content(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

export function infoOf(bytes: Uint8Array): ArtifactInfo {
  return { size: bytes.length, sha256: hash("sha256", bytes) };
}

export async function textOf(found: OpenArtifact | undefined): Promise<string | undefined> {
  return found && await new Response(found.stream).text();
}
