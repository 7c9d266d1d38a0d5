/**
 * Writing Markdown, and the parts of pages that are made.
 *
 * @module
 */

/** Writes a table. `deno fmt` aligns its columns. */
export function table(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|").replaceAll("\n", " ")).join(" | ")} |`;
  return [line(headings), line(headings.map(() => "---")), ...rows.map(line)].join("\n");
}

/** Puts text between the comments `<!-- name -->` and `<!-- /name -->` of a page. */
export function withPart(page: string, name: string, text: string): string {
  const marked = new RegExp(`(<!-- ${name} -->)[^]*(<!-- /${name} -->)`);
  return page.replace(marked, (_, start, end) => `${start}\n\n${text}\n\n${end}`);
}

/** Formats Markdown as `deno fmt` does. */
export async function formatted(markdown: string): Promise<string> {
  const config = new URL("../../deno.json", import.meta.url).pathname;
  const child = new Deno.Command(Deno.execPath(), {
    args: ["fmt", "--quiet", "--config", config, "--ext", "md", "-"],
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const [{ code, stdout }] = await Promise.all([
    child.output(),
    ReadableStream.from([new TextEncoder().encode(markdown)]).pipeTo(child.stdin),
  ]);
  if (code !== 0) throw new Error(`deno fmt ended with ${code}`);
  return new TextDecoder().decode(stdout);
}
