/**
 * More launches than one process of Deno could send: h2load sends them, and logs each answer.
 *
 * @module
 */
import { temporaryFolder } from "../surroundings.ts";

/** What h2load says when it sends nothing more. */
const STOPPED = "Stopped all clients";
/** How long it may take then. */
const END_WITHIN_MS = 5_000;

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
  const printed = await printedBy(
    new Deno.Command("sh", {
      args: [
        "-c",
        'exec h2load "$@" 2>&1',
        "h2load",
        "--h1",
        "--threads=1",
        `--clients=${connections}`,
        `--duration=${duration_s}`,
        `--data=${data}`,
        `--log-file=${log}`,
        url,
      ],
      stdout: "piped",
    }).spawn(),
  );
  const loaded: Loaded = { taken: [], refused: [], others: new Map() };
  await readLog(log, loaded);
  for (const kind of ["errored", "timeout"]) {
    const count = Number(new RegExp(`(\\d+) ${kind}`).exec(printed)?.[1] ?? 0);
    if (count > 0) loaded.others.set(kind, count);
  }
  return loaded;
}

/**
 * What h2load prints. A connection that comes about after its time is never ended by it, and it waits for
 * that one for ever: then it is ended. What was answered is in its log already.
 *
 * @throws {Error} when it fails
 */
async function printedBy(child: Deno.ChildProcess): Promise<string> {
  let printed = "";
  let timer: ReturnType<typeof setTimeout> | undefined;
  for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
    printed += text;
    if (printed.includes(STOPPED)) timer ??= setTimeout(() => child.kill("SIGKILL"), END_WITHIN_MS);
  }
  const { success } = await child.status;
  clearTimeout(timer);
  if (!success && !printed.includes(STOPPED)) throw new Error(`h2load failed:\n${printed}`);
  return printed;
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
