/**
 * The load of the benchmark: a child process that sends one request again and again over so many
 * connections, and prints what it measured as JSON. HTTP/1.1 by hand, since a full client would cost
 * more than the service that is measured.
 *
 * Standard input: one JSON {@linkcode LoadSettings}. Standard output: one JSON {@linkcode LoadResult}.
 *
 * @module
 */

/** What to send. */
export interface LoadSettings {
  port: number;
  connections: number;
  duration_ms: number;
  /** Not measured before that. */
  warmup_ms: number;
  /** The requests, each as the text of its head and body; connection `n` sends the `n`th, and so on. */
  requests: string[];
  /** The status that every answer must have. */
  status: number;
}

/** What was measured. */
export interface LoadResult {
  requests: number;
  per_second: number;
  p50_ms: number;
  p99_ms: number;
  max_ms: number;
}

const HEAD_END = new TextEncoder().encode("\r\n\r\n");

if (import.meta.main) {
  const settings: LoadSettings = JSON.parse(await new Response(Deno.stdin.readable).text());
  console.log(JSON.stringify(await load(settings)));
}

async function load(settings: LoadSettings): Promise<LoadResult> {
  const latencies_ms: number[] = [];
  const begin_ms = performance.now() + settings.warmup_ms;
  const end_ms = begin_ms + settings.duration_ms;
  const encoder = new TextEncoder();
  const requests = settings.requests.map((text) => encoder.encode(text));
  await Promise.all(
    Array.from({ length: settings.connections }, async (_, index) => {
      using connection = await Deno.connect({ hostname: "127.0.0.1", port: settings.port });
      connection.setNoDelay(true);
      const buffer = new Uint8Array(64 * 1024);
      for (let turn = index; performance.now() < end_ms; turn += settings.connections) {
        const request = requests[turn % requests.length];
        if (request === undefined) throw new RangeError("Cannot send without a request");
        const started_ms = performance.now();
        await writeAll(connection, request);
        const status = await readAnswer(connection, buffer);
        const now_ms = performance.now();
        if (status !== settings.status) {
          throw new Error(`Answered ${status}, not ${settings.status}`);
        }
        if (started_ms >= begin_ms && now_ms <= end_ms) latencies_ms.push(now_ms - started_ms);
      }
    }),
  );
  latencies_ms.sort((a, b) => a - b);
  const at = (share: number) => latencies_ms[Math.floor((latencies_ms.length - 1) * share)] ?? NaN;
  return {
    requests: latencies_ms.length,
    per_second: latencies_ms.length / (settings.duration_ms / 1_000),
    p50_ms: at(0.5),
    p99_ms: at(0.99),
    max_ms: at(1),
  };
}

async function writeAll(connection: Deno.Conn, bytes: Uint8Array): Promise<void> {
  let written = 0;
  while (written < bytes.length) written += await connection.write(bytes.subarray(written));
}

/** Reads one answer that has a Content-Length. */
async function readAnswer(connection: Deno.Conn, buffer: Uint8Array): Promise<number> {
  let filled = 0;
  let total = Infinity;
  while (filled < total) {
    const count = await connection.read(buffer.subarray(filled));
    if (count === null) throw new Error("The connection was closed in the middle of an answer");
    filled += count;
    if (total !== Infinity) continue;
    const head = indexOf(buffer.subarray(0, filled), HEAD_END);
    if (head < 0) continue;
    const text = new TextDecoder().decode(buffer.subarray(0, head)).toLowerCase();
    const length = /\r\ncontent-length: *(\d+)/.exec(text)?.[1];
    if (length === undefined) throw new Error("The answer has no Content-Length");
    total = head + HEAD_END.length + Number(length);
  }
  return Number(new TextDecoder().decode(buffer.subarray(9, 12)));
}

function indexOf(bytes: Uint8Array, wanted: Uint8Array): number {
  for (let at = 0; at + wanted.length <= bytes.length; at++) {
    if (wanted.every((byte, offset) => bytes[at + offset] === byte)) return at;
  }
  return -1;
}
