/**
 * The pages whose reference is made: the REST API and the command line. Run as a program
 * (`deno task docs`), this writes them.
 *
 * @module
 */
import { apiReference } from "./api_reference.ts";
import { cliReference } from "./cli_reference.ts";
import { formatted, withPart } from "./markdown.ts";

const PAGES = new URL("../../src/docs/", import.meta.url);

/** A page, as it is and as it should be. */
export interface Page {
  path: string;
  found: string;
  expected: string;
}

/** Reads the pages that have a reference. */
export async function referencePages(): Promise<Page[]> {
  return await Promise.all([
    page("api.md", apiReference()),
    page("cli.md", await cliReference()),
  ]);
}

async function page(name: string, reference: string): Promise<Page> {
  const { pathname: path } = new URL(name, PAGES);
  const found = await Deno.readTextFile(path);
  return { path, found, expected: await formatted(withPart(found, "reference", reference)) };
}

if (import.meta.main) {
  for (const { path, expected } of await referencePages()) {
    await Deno.writeTextFile(path, expected);
  }
}
