/**
 * `deno task surface`: records what others build on in the version that is released next. A test compares every later
 * commit with it.
 *
 * @module
 */
import { ADMIN_TOKEN, startService } from "../data.ts";
import { type Surface, surfaceOf } from "./surface.ts";

const FOLDER = new URL("last_release/", import.meta.url);

/** Reads the surface of this version, its metrics from a service that runs. */
export async function surfaceNow(): Promise<Surface> {
  await using service = await startService();
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
  return await surfaceOf(await (await fetch(`${service.url}/metrics`, { headers })).text());
}

/** Reads the surface of the last release. */
export async function surfaceOfRelease(part: keyof Surface): Promise<string[]> {
  return (await Deno.readTextFile(new URL(`${part}.txt`, FOLDER))).trimEnd().split("\n");
}

if (import.meta.main) {
  await Deno.mkdir(FOLDER, { recursive: true });
  for (const [part, lines] of Object.entries(await surfaceNow())) {
    await Deno.writeTextFile(new URL(`${part}.txt`, FOLDER), `${lines.join("\n")}\n`);
  }
}
