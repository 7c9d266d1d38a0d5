/**
 * Requests drawn by a seed, to senders' and operators' endpoints. None may end in a failure of the
 * service's own, none may hang, and neither memory nor disk may grow beyond what was asked to be kept.
 *
 * @module
 */
import { isId } from "../../src/platform/ids.ts";
import { mib } from "./figures.ts";
import type { Findings, Random } from "./findings.ts";
import { type FuzzedRequest, operationsOf, someRequest, type Vocabulary } from "./fuzz_requests.ts";
import { Sender } from "./senders.ts";
import { serve, type Served, shell } from "./served.ts";
import { workshop } from "./workshop.ts";

const OPEN = "01900000-0000-7000-8000-000000000001";
const SIGNED = "01900000-0000-7000-8000-000000000002";
const FILTERED = "01900000-0000-7000-8000-000000000003";
const SENDERS = 16;
/** Longer than this is a hang. Generous, as the machine may be busy with other things. */
const PATIENCE_MS = 20_000;
const RSS_BYTES_MAX = 700 * 1024 * 1024;
/** What the data folder may hold beside what was asked to be kept. */
const DISK_BYTES_MAX = 256 * 1024 * 1024;
/** How many ids of a kind are remembered. */
const IDS_MAX = 100;
/** What an answer tells of something. */
const TOLD = /"(id|name|execution_id)":"([^"\\]+)"/g;

const TRIGGERS = [
  {
    id: OPEN,
    name: "open",
    conditions: [{ type: "rate_limit", period: 31_536_000, quota: 2_000 }],
    actions: [{ type: "fetch_repository" }],
  },
  {
    id: SIGNED,
    name: "signed",
    conditions: [
      {
        type: "hmac",
        algorithm: "sha256",
        header: "X-Signature",
        secrets: ["a-secret-of-the-fuzz"],
      },
      { type: "timestamp", in: "header", name: "X-Timestamp", format: "rfc3339", tolerance: 300 },
    ],
  },
  {
    id: FILTERED,
    name: "filtered",
    conditions: [
      { type: "deduplication", in: "body", name: "/a" },
      { type: "payload_filter", expression: "body.action == 'opened' || raw.size() > 3" },
      { type: "rate_limit", period: 31_536_000, quota: 500 },
    ],
    actions: [{ type: "fetch_repository" }],
  },
];

/** What must stay as it is. */
const CONFIGURED = new Set([OPEN, SIGNED, FILTERED, "p"]);

/** Sends so many requests. */
export async function fuzz(findings: Findings, random: Random, requests: number): Promise<void> {
  await using shop = await workshop(TRIGGERS);
  await using served = await serve(shop.folder);
  const vocabulary = await readVocabulary(served);
  const statuses = new Map<number | string, number>();
  let left = requests;
  let kept_bytes = 0;
  let rssHalfway_bytes = 0;
  const began_ms = performance.now();
  await Promise.all(Array.from({ length: SENDERS }, async () => {
    using sender = new Sender(() => served.port);
    const drawn = random.fork();
    while (left-- > 0 && !served.hasEnded) {
      if (left === Math.floor(requests / 2)) rssHalfway_bytes = await served.rss_bytes();
      const request = someRequest(drawn, vocabulary);
      const sent_ms = performance.now();
      const { bytes, isHead } = request;
      const outcome = await sender.exchange(bytes, { timeout_ms: PATIENCE_MS, isHead });
      const status = typeof outcome === "string" ? outcome : outcome.status;
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      const took_ms = performance.now() - sent_ms;
      findings.check(took_ms < PATIENCE_MS - 1, `No answer in time to ${shown(request)}`);
      if (typeof status !== "number") continue;
      // 502 says that a project's repository could not be fetched.
      const isFailure = status >= 500 && status !== 502 && status !== 503;
      findings.check(!isFailure, `Answered ${status} to ${shown(request)}`);
      if (status >= 200 && status < 300) kept_bytes += bytes.length;
      if (typeof outcome !== "string") learn(outcome.body, request.part, vocabulary);
    }
  }));
  const seconds = (performance.now() - began_ms) / 1_000;
  findings.check(!served.hasEnded, `The service has ended:\n${served.printed()}`);
  if (served.hasEnded) return;
  for (const [, reason] of served.printed().matchAll(/A request failed: (.{1,300})/g)) {
    findings.say(`failed: ${reason}`);
  }
  const all = [...statuses].toSorted().map(([status, count]) => `${status}: ${count}`).join(", ");
  findings.say(`${requests} requests in ${seconds.toFixed(0)} s (${all})`);
  await checkGrowth(findings, served, { rssHalfway_bytes, kept_bytes, folder: shop.folder });
}

async function readVocabulary(served: Served): Promise<Vocabulary> {
  const { operations, references } = operationsOf(await served.api("openapi.json"));
  const [first, ...others] = operations.filter(({ path }) => !/stream/.test(path));
  if (first === undefined) throw new Error("The OpenAPI document has no operations");
  return {
    operations: [first, ...others],
    references,
    ids: new Map(),
    triggers: [OPEN, OPEN, SIGNED, FILTERED],
  };
}

/** Remembers what an answer told of: the names and ids of its part, and those of what a run made. */
function learn(body: string, part: string, { ids }: Vocabulary): void {
  const note = (kind: string, id: string) => {
    const known = ids.get(kind) ?? [];
    ids.set(kind, known);
    if (known.includes(id) || CONFIGURED.has(id)) return;
    known.push(id);
    if (known.length > IDS_MAX) known.shift();
  };
  if (part === "launch" && isId(body)) note("runs", body);
  for (const [, field = "", id = ""] of body.matchAll(TOLD)) {
    if (field === "execution_id") note("executions", id);
    else if (field === (part === "projects" ? "name" : "id")) note(part, id);
  }
}

async function checkGrowth(
  findings: Findings,
  served: Served,
  { rssHalfway_bytes, kept_bytes, folder }: {
    rssHalfway_bytes: number;
    kept_bytes: number;
    folder: string;
  },
): Promise<void> {
  const rss_bytes = await served.rss_bytes();
  const disk_bytes = Number((await shell(`du -sk '${folder}/data'`)).split("\t")[0]) * 1024;
  findings.say(
    `memory ${mib(rssHalfway_bytes)} MiB halfway and ${mib(rss_bytes)} MiB at the end; ` +
      `data folder ${mib(disk_bytes)} MiB, of ${mib(kept_bytes)} MiB taken`,
  );
  findings.check(rss_bytes < RSS_BYTES_MAX, `It takes ${mib(rss_bytes)} MiB of memory`);
  findings.check(
    disk_bytes < DISK_BYTES_MAX + 4 * kept_bytes,
    `The data folder has ${mib(disk_bytes)} MiB`,
  );
  const health = await fetch(`${served.url}/healthz`);
  findings.check(await health.text() === "ok\n", `/healthz answers ${health.status}`);
}

function shown({ bytes }: FuzzedRequest): string {
  const text = new TextDecoder("latin1").decode(bytes.subarray(0, 1_500));
  return JSON.stringify(text) + (bytes.length > 1_500 ? `… (${bytes.length} bytes)` : "");
}
