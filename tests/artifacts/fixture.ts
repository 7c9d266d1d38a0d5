/** Contents of artifacts, and their descriptions. */
import { assertEquals, assertRejects } from "@std/assert";
import { hash } from "node:crypto";
import { artifactKeys } from "../../src/artifacts/keys.ts";
import type { ArtifactInfo, ArtifactStore, OpenArtifact } from "../../src/artifacts/store.ts";

export function content(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

export function infoOf(bytes: Uint8Array): ArtifactInfo {
  return { size: bytes.length, sha256: hash("sha256", bytes) };
}

export async function textOf(found: OpenArtifact | undefined): Promise<string | undefined> {
  return found && await new Response(found.stream).text();
}

/** Adds artifacts that nothing describes before their last byte: of some sizes, and one that breaks off. */
export async function addsMeasured(store: ArtifactStore, sizes: readonly number[]): Promise<void> {
  for (const size of sizes) {
    const key = artifactKeys.staged("a1", String(size));
    const bytes = new Uint8Array(size).map((_, index) => index % 251);
    const info = await store.add(key, new Blob([bytes]).stream());
    assertEquals(info, infoOf(bytes));
    assertEquals(await store.verify(key, info), true);
    const half = bytes.subarray(0, size / 2);
    const broken = new ReadableStream<Uint8Array<ArrayBuffer>>({
      start: (controller) => controller.enqueue(half),
      pull: (controller) => controller.error(new TypeError("the sender has gone")),
    });
    const other = artifactKeys.staged("a2", String(size));
    await assertRejects(() => store.add(other, broken), TypeError, "the sender has gone");
    assertEquals(await store.open(other), undefined);
  }
}
