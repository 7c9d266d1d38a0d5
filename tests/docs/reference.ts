/**
 * The pages of which a part is made: the REST API, the command line and metrics. Run as a program
 * (`deno task docs`), this writes them.
 *
 * @module
 */
import { apiReference } from "./api_reference.ts";
import { cliReference } from "./cli_reference.ts";
import { formatted, withPart } from "./markdown.ts";
import { metricsReference } from "./metrics_reference.ts";

const PAGES = new URL("../../src/docs/", import.meta.url);

/** A page, as it is and as it should be. */
export interface Page {
  path: string;
  found: string;
  expected: string;
}

/** Reads the pages of which a part is made. */
export async function referencePages(): Promise<Page[]> {
  return await Promise.all([
    page("api.md", "reference", apiReference()),
    page("cli.md", "reference", await cliReference()),
    page("monitoring.md", "metrics", await metricsReference()),
  ]);
}

async function page(name: string, part: string, text: string): Promise<Page> {
  const { pathname: path } = new URL(name, PAGES);
  const found = await Deno.readTextFile(path);
  return { path, found, expected: await formatted(withPart(found, part, text)) };
}

if (import.meta.main) {
  for (const { path, expected } of await referencePages()) {
    await Deno.writeTextFile(path, expected);
  }
}
