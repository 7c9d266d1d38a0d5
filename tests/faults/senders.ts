/**
 * Senders of launches, each on a connection of its own, that keep what they were told.
 *
 * HTTP/1.1 by hand: a full client tries again by itself, and does not tell an answer that was cut off
 * from one that never began.
 *
 * @module
 */

/** An answer; `isWhole` is false when the connection ended in the middle of it. */
export interface Answer {
  status: number;
  headers: ReadonlyMap<string, string>;
  body: string;
  isWhole: boolean;
}

/** What became of a request: an answer, or none, and whether there was a connection to send it on. */
export type Outcome = Answer | "refused" | "unanswered";

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/** A connection that is opened when it is needed. */
export class Sender implements Disposable {
  #connection: Deno.Conn | undefined;
  constructor(private readonly port: () => number) {}

  /** Opens the connection now, so that this takes no time of a request. */
  async open(): Promise<void> {
    this.#connection ??= await this.#connect();
  }

  /** Posts a body. */
  async post(path: string, body: Uint8Array, headers: Record<string, string> = {}) {
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`).join("");
    const head = `POST ${path} HTTP/1.1\r\nHost: localhost\r\n${lines}` +
      `Content-Length: ${body.length}\r\n\r\n`;
    return await this.exchange(joined(encoder.encode(head), body));
  }

  /**
   * Sends a request as it is, and reads the answer to it.
   *
   * @param options.timeout_ms after so long the connection is closed
   * @param options.isHead whether the answer has no body, whatever its head says
   */
  async exchange(
    request: Uint8Array,
    { timeout_ms = 60_000, isHead = false }: { timeout_ms?: number; isHead?: boolean } = {},
  ): Promise<Outcome> {
    const timer = setTimeout(() => this.close(), timeout_ms);
    try {
      return await this.#exchange(request, isHead);
    } finally {
      clearTimeout(timer);
    }
  }

  async #exchange(request: Uint8Array, isHead: boolean): Promise<Outcome> {
    try {
      this.#connection ??= await this.#connect();
    } catch {
      return "refused";
    }
    const connection = this.#connection;
    // A refusal may come, and the connection be closed, before all of a body is written.
    let isWritten = false;
    writeAll(connection, request).then(() => isWritten = true, () => {});
    const answer = await readAnswer(connection, isHead);
    if (!answer?.isWhole || !isWritten || answer.headers.get("connection") === "close") {
      this.close();
    }
    return answer ?? "unanswered";
  }

  /** Closes the connection. The next request opens another. */
  close(): void {
    try {
      this.#connection?.close();
    } catch {
      // It is closed already.
    }
    this.#connection = undefined;
  }

  [Symbol.dispose](): void {
    this.close();
  }

  async #connect(): Promise<Deno.Conn> {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port: this.port() });
    connection.setNoDelay(true);
    return connection;
  }
}

async function writeAll(connection: Deno.Conn, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
}

/** Reads one answer; undefined when the connection ends before its first byte. */
async function readAnswer(
  connection: Deno.Conn,
  isHead: boolean,
): Promise<Answer | undefined> {
  const buffer = new Uint8Array(64 * 1024);
  let bytes = new Uint8Array();
  for (;;) {
    const answer = parsed(bytes, isHead);
    if (answer?.isWhole) return answer;
    const count = await connection.read(buffer).catch(() => null);
    if (count === null) {
      if (bytes.length === 0) return undefined;
      return answer ?? { status: 0, headers: new Map(), body: "", isWhole: false };
    }
    bytes = joined(bytes, buffer.subarray(0, count));
  }
}

function parsed(bytes: Uint8Array, isHead: boolean): Answer | undefined {
  const text = decoder.decode(bytes).replace(/^HTTP\/1\.1 100 [^]*?\r\n\r\n/, "");
  const end = text.indexOf("\r\n\r\n");
  if (end < 0) return undefined;
  const [first = "", ...lines] = text.slice(0, end).split("\r\n");
  const headers = new Map(lines.map((line): [string, string] => {
    const at = line.indexOf(":");
    return [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()];
  }));
  const body = text.slice(end + 4);
  const length = headers.get("content-length");
  const isWhole = isHead ||
    (length === undefined
      ? headers.get("transfer-encoding") !== "chunked" || body.endsWith("0\r\n\r\n")
      : encoder.encode(body).length >= Number(length));
  return { status: Number(first.split(" ")[1]), headers, body, isWhole };
}

function joined(one: Uint8Array, other: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(one.length + other.length);
  both.set(one);
  both.set(other, one.length);
  return both;
}
