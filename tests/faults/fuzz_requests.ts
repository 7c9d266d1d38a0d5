/**
 * Requests that a client might send, or somebody who means no good.
 *
 * @module
 */
import type { Random } from "./findings.ts";
import { type References, type Schema, someJunk, someText, valueOf } from "./fuzz_values.ts";
import { TOKEN } from "./served.ts";

const METHODS: readonly [string, ...string[]] = [
  "GET",
  "POST",
  "PUT",
  "PATCH",
  "DELETE",
  "HEAD",
  "OPTIONS",
  "TRACE",
  "PROPFIND",
];
const TYPES: readonly [string, ...string[]] = [
  "application/json",
  "application/x-www-form-urlencoded",
  "multipart/form-data; boundary=x",
  "text/plain; charset=utf-16",
  "application/merge-patch+json",
  'a/b; c="',
  "",
];
const ODD_PATHS: readonly [string, ...string[]] = [
  "/",
  "//",
  "/api/v0",
  "/api/v0/%",
  "/api/v0/%ff/",
  "/api/v0/launch",
  "/api/v0/launch/%00/",
  "/api/v0/../v0/launch/",
  "/healthz/",
  "/readyz",
  "/metrics",
  "/api/v0/docs/",
  "/api/v0/openapi.json",
  "/api/v0/triggers/..%2f..%2f/",
];

/** An operation of the API. */
export interface Operation {
  method: string;
  /** With its variables, such as `/triggers/{id}/`. */
  path: string;
  body?: Schema;
}

/** What requests are made of. */
export interface Vocabulary {
  operations: readonly [Operation, ...Operation[]];
  references: References;
  /** The names and ids of what there is, by the part of the API that it belongs to; they may grow. */
  ids: Map<string, string[]>;
  /** Triggers to launch. */
  triggers: readonly [string, ...string[]];
}

/** A request, as its bytes, and what tells how to read the answer. */
export interface FuzzedRequest {
  bytes: Uint8Array;
  /** The part of the API that it is for, such as `triggers`. */
  part: string;
  isHead: boolean;
}

/** Reads the vocabulary from an OpenAPI document. */
export function operationsOf(document: {
  paths: Record<string, Record<string, { requestBody?: { content?: Record<string, Schema> } }>>;
  components?: { schemas?: Record<string, Schema> };
}): { operations: Operation[]; references: References } {
  const operations: Operation[] = [];
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, { requestBody }] of Object.entries(methods)) {
      const schema = Object.values(requestBody?.content ?? {})[0]?.schema;
      operations.push({
        method: method.toUpperCase(),
        path,
        // What is not a schema is answered by junk.
        ...(schema === undefined ? {} : { body: schema as Schema }),
      });
    }
  }
  const references = new Map(
    Object.entries(document.components?.schemas ?? {}).map(([name, schema]) => [
      `#/components/schemas/${name}`,
      schema,
    ]),
  );
  return { operations, references };
}

/** Draws a request. */
export function someRequest(random: Random, vocabulary: Vocabulary): FuzzedRequest {
  const kind = random.float();
  if (kind < 0.35) return launch(random, vocabulary);
  if (kind < 0.5) return runInfo(random, vocabulary);
  if (kind < 0.92) return operator(random, vocabulary);
  return request(random, { method: random.pick(METHODS), path: random.pick(ODD_PATHS) });
}

function launch(random: Random, { triggers }: Vocabulary): FuzzedRequest {
  const id = random.chance(0.9) ? random.pick(triggers) : encoded(random);
  const path = `/api/v0/launch/${id}${random.chance(0.8) ? "/" : ""}`;
  const method = random.chance(0.95) ? "POST" : random.pick(METHODS);
  return request(random, { method, path, body: someBody(random) });
}

function runInfo(random: Random, { triggers, ids }: Vocabulary): FuzzedRequest {
  const runId = random.chance(0.7) ? known(random, ids, "runs") : encoded(random);
  const wait = random.chance(0.2) ? `&wait=${random.pick(["0", "-1", "0.01", "x", "31"])}` : "";
  const path = `/api/v0/launch/${random.pick(triggers)}/run/?run_id=${runId}${wait}`;
  const method = random.pick(["GET", "GET", "POST", random.pick(METHODS)]);
  const body = method === "POST" ? JSON.stringify({ run_id: someJunk(random) }) : undefined;
  return request(random, { method, path, ...(body === undefined ? {} : { body }) });
}

function operator(random: Random, vocabulary: Vocabulary): FuzzedRequest {
  const { operations, references, ids, triggers } = vocabulary;
  const operation = random.pick(operations);
  // What the configuration made is read and not changed: launches need it to the end.
  const isOfTrigger = operation.method === "GET" && operation.path.startsWith("/triggers");
  const path = operation.path.replace(
    /\{[^}]*\}/g,
    () => {
      if (random.chance(0.2)) return encoded(random);
      if (isOfTrigger && random.chance(0.5)) return random.pick(triggers);
      return known(random, ids, partOf(operation.path));
    },
  );
  const query = random.chance(0.3)
    ? `?${random.pick(["limit", "cursor", "after", "status", "name"])}=${encoded(random)}`
    : "";
  const body = operation.body === undefined
    ? random.chance(0.1) ? someBody(random) : undefined
    : JSON.stringify(valueOf(operation.body, references, random));
  return request(random, {
    method: random.chance(0.97) ? operation.method : random.pick(METHODS),
    path: `${path.startsWith("/api") ? "" : "/api/v0"}${path}${query}`,
    ...(body === undefined ? {} : { body }),
    ...(random.chance(0.95) ? { token: TOKEN } : {}),
  });
}

function known(random: Random, ids: Vocabulary["ids"], part: string): string {
  const [first = "none", ...others] = ids.get(part) ?? [];
  return encodeURIComponent(random.pick([first, ...others]));
}

/** `triggers`, of `/triggers/{id}/runs/` as of `/api/v0/triggers/1/runs/`. */
function partOf(path: string): string {
  return path.replace("/api/v0", "").split("/")[1] ?? "";
}

function someBody(random: Random): string | Uint8Array {
  const kind = random.int(5);
  if (kind === 0) return random.bytes(random.int(300));
  if (kind === 1) return new URLSearchParams({ a: someText(random), run_id: "x" }).toString();
  if (kind === 2) return JSON.stringify({ action: someJunk(random), a: someJunk(random) });
  if (kind === 3) return JSON.stringify(someJunk(random)).slice(0, random.int(50));
  return random.chance(0.05) ? "x".repeat(random.int(200_000)) : "";
}

function encoded(random: Random): string {
  const text = someText(random).slice(0, 2_000);
  if (random.chance(0.2)) return text.replace(/[^!-~]|[#?]/g, "_");
  return encodeURIComponent(text.toWellFormed());
}

function request(random: Random, parts: {
  method: string;
  path: string;
  body?: string | Uint8Array;
  token?: string;
}): FuzzedRequest {
  const { method, path, token } = parts;
  const encoder = new TextEncoder();
  const body = typeof parts.body === "string" ? encoder.encode(parts.body) : parts.body;
  const headers: [string, string][] = [["Host", "localhost"]];
  if (token !== undefined) headers.push(["Authorization", `Bearer ${token}`]);
  if (body || random.chance(0.1)) headers.push(["Content-Type", random.pick(TYPES)]);
  if (random.chance(0.1)) {
    headers.push([
      random.pick([
        "X-Signature",
        "X-Id",
        "Cookie",
        "Accept",
        "Content-Encoding",
        "If-None-Match",
        "Range",
        "X-Forwarded-For",
        "Authorization",
        "Origin",
        "traceparent",
      ]),
      someText(random).slice(0, 3_000).replace(/[^\t -~\x80-\xff]/g, "?"),
    ]);
  }
  if (random.chance(0.01)) headers.push(["X-Long", "a".repeat(random.int(80_000))]);
  const isChunked = body !== undefined && random.chance(0.2);
  if (isChunked) headers.push(["Transfer-Encoding", "chunked"]);
  else if (body || random.chance(0.5)) headers.push(["Content-Length", String(body?.length ?? 0)]);
  const head = `${method} ${path} HTTP/1.1\r\n${
    headers.map(([name, value]) => `${name}: ${value}\r\n`).join("")
  }\r\n`;
  const latin = Uint8Array.from(head, (character) => character.charCodeAt(0) & 0xff);
  const sent = body === undefined ? new Uint8Array() : isChunked ? chunked(body, random) : body;
  const bytes = new Uint8Array(latin.length + sent.length);
  bytes.set(latin);
  bytes.set(sent, latin.length);
  return { bytes, part: partOf(path), isHead: method === "HEAD" };
}

function chunked(body: Uint8Array, random: Random): Uint8Array {
  const parts: Uint8Array[] = [];
  const encoder = new TextEncoder();
  for (let at = 0; at < body.length;) {
    const part = body.subarray(at, at + 1 + random.int(5_000));
    parts.push(encoder.encode(`${part.length.toString(16)}\r\n`), part, encoder.encode("\r\n"));
    at += part.length;
  }
  parts.push(encoder.encode("0\r\n\r\n"));
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
