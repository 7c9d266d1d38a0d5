/**
 * Bodies and codings drawn by a seed: JSON, forms, forms with files, XML and bytes, coded, damaged and cut off,
 * and bombs. None may end in a failure of the service's own or hang, the launches of another trigger go on, and
 * the memory stays within its bounds.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { mib } from "./figures.ts";
import type { Findings, Random } from "./findings.ts";
import { type CodedBody, someCodedBody } from "./fuzz_coded.ts";
import { Sender } from "./senders.ts";
import { serve, type Served } from "./served.ts";
import { workshop } from "./workshop.ts";
import { gzipSync } from "node:zlib";

const FILTERED = "01900000-0000-7000-8000-000000000011";
const TOKEN = "01900000-0000-7000-8000-000000000012";
const OTHER = "01900000-0000-7000-8000-000000000013";
const SENDERS = 8;
/** The number of attempts to send a bomb while the answer is 503. */
const TRIES_MAX = 20;
/** Longer than this is a hang. Generous, as the machine may be busy with other things. */
const PATIENCE_MS = 30_000;
const RSS_BYTES_MAX = 900 * 1024 * 1024;
/** The statuses of answers to bodies of any kind. */
const STATUSES = [200, 400, 413, 415, 503];
const PAYLOAD_BYTES_MAX = 16 * 1024 * 1024;

const skipped = (condition: string) => [{ type: "fetch_repository", if: condition }];
const TRIGGERS = [
  {
    id: FILTERED,
    name: "filtered",
    conditions: [{
      type: "payload_filter",
      expression: "body == null || size(raw) >= 0 && !('none' in headers)",
    }],
    actions: skipped("has(body.none)"),
    response: { type: "text", text: "{body.?a.?b.orValue('')}" },
  },
  {
    id: TOKEN,
    name: "token",
    conditions: [
      { type: "static_token", in: "body", name: "token", secrets: ["a-secret-of-the-fuzz"] },
      { type: "deduplication", in: "body_hash" },
    ],
    actions: skipped("false"),
  },
  {
    id: OTHER,
    name: "other",
    conditions: [{ type: "payload_filter", expression: "body.a == 1" }],
    actions: skipped("false"),
  },
];

/** The form of a run. */
interface Form {
  requests: number;
  /** The time in which 99 of 100 launches of the other trigger must be answered; not looked at when absent. */
  otherP99_ms?: number;
}

/** Sends so many bodies, and bombs. */
export async function fuzzBodies(
  findings: Findings,
  random: Random,
  { requests, otherP99_ms }: Form,
): Promise<void> {
  await using shop = await workshop(TRIGGERS);
  await using served = await serve(shop.folder);
  const under = { findings, served };
  const over = new AbortController();
  const others = launchOthers(under, over.signal, otherP99_ms === undefined);
  const statuses = new Map<number | string, number>();
  let left = requests;
  let rss_bytes = 0;
  await Promise.all(Array.from({ length: SENDERS }, async () => {
    using sender = new Sender(() => served.port);
    const drawn = random.fork();
    while (left-- > 0 && !served.hasEnded) {
      if (left % 100 === 0) rss_bytes = Math.max(rss_bytes, await served.rss_bytes());
      const coded = someCodedBody(drawn);
      const status = await post(under, sender, drawn.pick([FILTERED, TOKEN]), coded);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  }));
  await sendBombs(under);
  rss_bytes = Math.max(rss_bytes, await served.rss_bytes());
  over.abort();
  const times_ms = (await others).toSorted((a, b) => a - b);
  findings.check(!served.hasEnded, `The service has ended:\n${served.printed()}`);
  findings.check(
    !served.printed().includes("A request failed"),
    `A request failed:\n${served.printed()}`,
  );
  const all = [...statuses].toSorted().map(([status, count]) => `${status}: ${count}`).join(", ");
  findings.say(`${requests} bodies (${all}), at most ${mib(rss_bytes)} MiB of memory`);
  findings.check(rss_bytes < RSS_BYTES_MAX, `It takes ${mib(rss_bytes)} MiB of memory`);
  const p99_ms = times_ms[Math.floor(times_ms.length * 0.99)] ?? Infinity;
  findings.say(`${times_ms.length} launches of another trigger, p99 ${p99_ms.toFixed(0)} ms`);
  findings.check(p99_ms <= (otherP99_ms ?? Infinity), `p99 of another trigger: ${p99_ms} ms`);
}

/** A service, and what is found about it. */
interface Under {
  findings: Findings;
  served: Served;
}

async function post(
  { findings }: Under,
  sender: Sender,
  trigger: string,
  { body, type, coding, what }: CodedBody,
): Promise<number | string> {
  const sent_ms = performance.now();
  const headers = { "Content-Type": type, ...(coding && { "Content-Encoding": coding }) };
  const outcome = await sender.post(`/api/v0/launch/${trigger}/`, body, headers);
  const took_ms = performance.now() - sent_ms;
  const status = typeof outcome === "string" ? outcome : outcome.status;
  const isKnown = typeof status === "number" && STATUSES.includes(status);
  // A body that is refused by its declared length is not read, and the connection ends.
  const isExpected = isKnown || body.length > PAYLOAD_BYTES_MAX;
  findings.check(isExpected, `Answered ${status} to ${what}`);
  findings.check(took_ms < PATIENCE_MS, `No answer in ${took_ms.toFixed(0)} ms to ${what}`);
  return status;
}

/** Bodies that make much more than they are, or take long. */
async function sendBombs(under: Under): Promise<void> {
  const zeros = gzipSync(new Uint8Array(PAYLOAD_BYTES_MAX));
  const nothing = gzipSync(new Uint8Array(0));
  const filled = (member: Uint8Array) =>
    new Uint8Array(
      Buffer.concat(
        new Array<Uint8Array>(Math.floor(PAYLOAD_BYTES_MAX / member.length)).fill(member),
      ),
    );
  const bombs = [
    { what: "16 MiB that make 16 GiB", body: filled(zeros), status: 413 },
    { what: "16 MiB that make nothing", body: filled(nothing), status: 200 },
    {
      what: "one byte too much",
      body: new Uint8Array(gzipSync(new Uint8Array(PAYLOAD_BYTES_MAX + 1))),
      status: 413,
    },
  ];
  using sender = new Sender(() => under.served.port);
  for (const { what, body, status: expected } of bombs) {
    const bomb = { body, type: "application/octet-stream", coding: "gzip", what };
    let status = await post(under, sender, FILTERED, bomb);
    // A busy machine may have no time for it now.
    for (let tries = 1; status === 503 && tries < TRIES_MAX; tries++) {
      status = await post(under, sender, FILTERED, bomb);
    }
    under.findings.check(status === expected, `Answered ${status} to ${what}`);
  }
}

/**
 * Launches another trigger until the end, now plainly, now with a coded body. Returns how long each took.
 *
 * @param mayBeBusy the machine may do other things, too
 */
async function launchOthers(
  { findings, served }: Under,
  signal: AbortSignal,
  mayBeBusy: boolean,
): Promise<number[]> {
  using sender = new Sender(() => served.port);
  const times_ms: number[] = [];
  const plain = new TextEncoder().encode('{"a": 1}');
  const coded = new Uint8Array(gzipSync(plain));
  while (!signal.aborted && !served.hasEnded) {
    const isCoded = times_ms.length % 2 === 1;
    const sent_ms = performance.now();
    const outcome = await sender.post(
      `/api/v0/launch/${OTHER}/`,
      isCoded ? coded : plain,
      isCoded ? { "Content-Encoding": "gzip" } : {},
    );
    times_ms.push(performance.now() - sent_ms);
    const status = typeof outcome === "string" ? outcome : outcome.status;
    findings.check(
      status === 200 || status === 503 && mayBeBusy,
      `Another trigger answered ${status}`,
    );
  }
  return times_ms;
}
