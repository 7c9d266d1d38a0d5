/** The artifact store in a folder. */
import { assertEquals, assertRejects } from "@std/assert";
import { artifactKeys } from "../../src/artifacts/keys.ts";
import { FolderStore } from "../../src/artifacts/folder.ts";
import { ArtifactMismatchError } from "../../src/artifacts/store.ts";
import { InvalidInputError } from "../../src/platform/errors.ts";
import { addsMeasured, content, infoOf, textOf } from "./fixture.ts";

async function withFolder(test: (store: FolderStore, folder: string) => Promise<void>) {
  const folder = await Deno.makeTempDir();
  try {
    await test(new FolderStore(`${folder}/artifacts`), `${folder}/artifacts`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function namesIn(folder: string): Promise<string[]> {
  const names = await Array.fromAsync(Deno.readDir(folder), ({ name }) => name);
  return names.sort();
}

Deno.test("an artifact is read back from the start and from an offset, and is removed", () =>
  withFolder(async (store, folder) => {
    const key = artifactKeys.output("a1", "models/größe.bin");
    const bytes = content("hello artifact");
    await store.put(key, bytes, infoOf(bytes));
    assertEquals(await textOf(await store.open(key)), "hello artifact");
    assertEquals(await textOf(await store.open(key, { offset: 6 })), "artifact");
    assertEquals(await store.verify(key, infoOf(bytes)), true);
    assertEquals(await store.verify(key, infoOf(content("hello another!"))), false);
    await store.remove(artifactKeys.execution("a1"));
    assertEquals(await store.open(key), undefined);
    assertEquals(await namesIn(`${folder}/executions`), []);
  }));

Deno.test("a content that is not as it is described leaves nothing", () =>
  withFolder(async (store, folder) => {
    const bytes = content("the bytes that come");
    const key = artifactKeys.payload("r1");
    for (
      const info of [
        { ...infoOf(bytes), size: bytes.length - 1 },
        { ...infoOf(bytes), size: bytes.length + 1 },
        infoOf(content("other bytes, same #")),
      ]
    ) {
      const stream = new Blob([bytes]).stream();
      await assertRejects(() => store.put(key, stream, info), ArtifactMismatchError, "payloads/r1");
      assertEquals(await store.open(key), undefined);
    }
    assertEquals(await namesIn(`${folder}/.tmp`), []);
  }));

Deno.test("a sender that breaks off leaves nothing", () =>
  withFolder(async (store, folder) => {
    const stream = new ReadableStream<Uint8Array<ArrayBuffer>>({
      start(controller) {
        controller.enqueue(content("half"));
        controller.error(new TypeError("the sender has gone"));
      },
    });
    const info = infoOf(content("half of it"));
    await assertRejects(() => store.put("payloads/r2", stream, info), TypeError, "has gone");
    assertEquals(await namesIn(folder), [".tmp"]);
    assertEquals(await namesIn(`${folder}/.tmp`), []);
  }));

Deno.test("what was begun to be written long ago is removed, and nothing else", () =>
  withFolder(async (store, folder) => {
    await Deno.mkdir(`${folder}/.tmp`, { recursive: true });
    await Deno.writeTextFile(`${folder}/.tmp/half`, "half");
    await Deno.writeTextFile(`${folder}/.tmp/now`, "by another process");
    const old = new Date(Date.now() - 2 * 24 * 60 * 60_000);
    await Deno.utime(`${folder}/.tmp/half`, old, old);
    const bytes = content("x");
    await store.put("payloads/r3", bytes, infoOf(bytes));
    assertEquals(await namesIn(`${folder}/.tmp`), ["now"]);
  }));

Deno.test("of two first artifacts in a new folder, neither is stored before the folder's name is on disk", () =>
  withFolder(async (store, folder) => {
    const bytes = content("x");
    await store.put("a/first", bytes, infoOf(bytes));
    const synced: string[] = [];
    const open = Deno.open.bind(Deno);
    const held = Promise.withResolvers<void>();
    const { promise: isHeld, resolve: hold } = Promise.withResolvers<void>();
    using _real = { [Symbol.dispose]: () => void Object.assign(Deno, { open }) };
    const spied: typeof Deno.open = async (path, options) => {
      const file = await open(path, options);
      const name = String(path).slice(folder.length);
      const sync = file.sync.bind(file);
      file.sync = async () => {
        const isFirst = !synced.includes(name) && name === "/new/deep";
        synced.push(name);
        if (isFirst) {
          hold();
          await held.promise;
        }
        await sync();
      };
      return file;
    };
    Object.assign(Deno, { open: spied });
    const first = store.put("new/deep/one", bytes, infoOf(bytes));
    await isHeld;
    await store.put("new/deep/two", bytes, infoOf(bytes));
    const names = synced.filter((name) => !name.startsWith("/.tmp"));
    held.resolve();
    await first;
    assertEquals(names.slice(1), ["/new/deep", "/new", ""]);
  }));

Deno.test("a key leads nowhere else", () =>
  withFolder(async (store, folder) => {
    const bytes = content("x");
    for (const path of ["../x", "a/../../x", "", "a//b", "./a", "a\0b", "x".repeat(1_024)]) {
      const key = artifactKeys.output("a1", path);
      await assertRejects(() => store.put(key, bytes, infoOf(bytes)), InvalidInputError);
      await assertRejects(() => store.open(key), InvalidInputError);
    }
    await Deno.mkdir(folder, { recursive: true });
    await Deno.symlink("/etc/passwd", `${folder}/link`);
    assertEquals(await store.open("link"), undefined);
  }));

Deno.test("what is described only behind its last byte is stored whole, or not at all", () =>
  withFolder(async (store, folder) => {
    await addsMeasured(store, [0, 100_000]);
    assertEquals(await namesIn(`${folder}/.tmp`), []);
  }));
