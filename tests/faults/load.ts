/**
 * More launches than one process of Deno could send: h2load sends them, and logs each answer.
 *
 * @module
 */
import { temporaryFolder } from "../surroundings.ts";

/** What is sent, and for how long. */
export interface LoadSettings {
  /** Each sends the next launch as soon as it has the answer to the one before. */
  connections: number;
  duration_s: number;
  body: Uint8Array;
}

/** The answers. */
export interface Loaded {
  /** How long those took that were answered 200, in milliseconds. */
  taken: number[];
  /** How long those took that were answered 503. */
  refused: number[];
  /** How often there were other answers, or none. */
  others: Map<string, number>;
}

/** Sends launches to a URL. */
export async function load(
  url: string,
  { connections, duration_s, body }: LoadSettings,
): Promise<Loaded> {
  await using folder = await temporaryFolder();
  const data = `${folder.path}/body`;
  const log = `${folder.path}/log`;
  await Deno.writeFile(data, body);
  const { success, stdout, stderr } = await new Deno.Command("sh", {
    args: [
      "-c",
      'exec h2load "$@"',
      "h2load",
      "--h1",
      "--threads=1",
      `--clients=${connections}`,
      `--duration=${duration_s}`,
      `--data=${data}`,
      `--log-file=${log}`,
      url,
    ],
  }).output();
  const decoder = new TextDecoder();
  const printed = decoder.decode(stdout);
  if (!success) throw new Error(`h2load failed:\n${printed}${decoder.decode(stderr)}`);
  const loaded: Loaded = { taken: [], refused: [], others: new Map() };
  await readLog(log, loaded);
  for (const kind of ["errored", "timeout"]) {
    const count = Number(new RegExp(`(\\d+) ${kind}`).exec(printed)?.[1] ?? 0);
    if (count > 0) loaded.others.set(kind, count);
  }
  return loaded;
}

/** Reads lines of three fields: the moment of the request, the status, microseconds to the answer. */
async function readLog(path: string, { taken, refused, others }: Loaded): Promise<void> {
  using file = await Deno.open(path);
  let rest = "";
  for await (const text of file.readable.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const [, status = "", took_us] = line.split("\t");
      const took_ms = Number(took_us) / 1_000;
      if (status === "200") taken.push(took_ms);
      else if (status === "503") refused.push(took_ms);
      else others.set(status, (others.get(status) ?? 0) + 1);
    }
  }
}
