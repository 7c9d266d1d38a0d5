/** A folder as a tar archive. */
import { assertEquals } from "@std/assert";
import { join } from "node:path";
import { tarOf } from "../../../src/projects/code/folder_tar.ts";

Deno.test("a folder comes back from its archive as it was: names, modes, links, empty folders", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const from = join(folder, "from");
    const long = "d".repeat(120);
    await Deno.mkdir(join(from, long, "empty"), { recursive: true });
    await Deno.writeTextFile(join(from, long, "größe b"), "text");
    await Deno.writeFile(join(from, "large"), crypto.getRandomValues(new Uint8Array(60_000)), {
      mode: 0o755,
    });
    await Deno.writeTextFile(join(from, "nothing"), "");
    await Deno.symlink(`${long}/größe b`, join(from, "link"));
    const archive = join(folder, "archive.tar");
    await Deno.writeFile(archive, await tarOf(from));
    const script = `mkdir "$0/to" && tar -xf "$0/archive.tar" -C "$0/to" && cd "$0" &&
      diff -r from to && cd to && find . | sort && stat -c %a large && readlink link`;
    const { stdout, stderr } = await new Deno.Command("sh", { args: ["-c", script, folder] })
      .output();
    const text = new TextDecoder();
    assertEquals(text.decode(stderr), "");
    assertEquals(text.decode(stdout).split("\n"), [
      ".",
      `./${long}`,
      `./${long}/empty`,
      `./${long}/größe b`,
      "./large",
      "./link",
      "./nothing",
      "755",
      `${long}/größe b`,
      "",
    ]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("an archive that nobody reads to its end leaves nothing open", async () => {
  const folder = await Deno.makeTempDir();
  await Deno.writeFile(join(folder, "large"), new Uint8Array(5_000_000));
  const reader = (await tarOf(folder)).getReader();
  await reader.read();
  await reader.cancel();
  await new Promise((resolve) => setTimeout(resolve, 100));
  await Deno.remove(folder, { recursive: true });
});
