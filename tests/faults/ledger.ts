/**
 * What senders were told, to be held against what the service did.
 *
 * @module
 */
import type { Findings } from "./findings.ts";
import type { Outcome } from "./senders.ts";

/** A launch that was answered 200. */
export interface KeptLaunch {
  trigger: string;
  runId: string;
  /** Of the body. */
  sha256: string;
  sent_ms: number;
  answered_ms: number;
  /** The number of its delivery, where its trigger recognises repeats. */
  delivery?: number;
}

/** What all senders were told. */
export interface Ledger {
  readonly kept: KeptLaunch[];
  readonly counts: { rejected: number; unavailable: number; unanswered: number };
  /** The bodies, by their hashes, of the requests to which not one byte was answered. */
  readonly unanswered: Set<string>;
  /** The answers that broke off. */
  cutOff: number;
  /** Notes the outcome of a launch, and a violation where it is none that may be. */
  note(findings: Findings, launch: Omit<KeptLaunch, "runId">, outcome: Outcome): void;
}

/**
 * Opens a ledger.
 *
 * A request may be refused, or meet the end of its connection before the first byte of an answer: on a
 * connection that is kept alive the service may close it at the very moment at which the request is on
 * its way (RFC 9112, section 9.5), and what waits to be accepted by a listener is dropped with it.
 * Whether that was fair is decided by what is stored: a launch must not be taken without an answer
 * unless the process was killed.
 */
export function newLedger(): Ledger {
  return {
    kept: [],
    counts: { rejected: 0, unavailable: 0, unanswered: 0 },
    unanswered: new Set(),
    cutOff: 0,
    note(findings, launch, outcome) {
      if (outcome === "refused") return;
      if (outcome === "unanswered") {
        this.counts.unanswered++;
        this.unanswered.add(launch.sha256);
      } else if (!outcome.isWhole) this.cutOff++;
      else if (outcome.status === 200) this.kept.push({ ...launch, runId: outcome.body });
      else if (outcome.status === 400) this.counts.rejected++;
      else if (outcome.status === 503) this.counts.unavailable++;
      else findings.check(false, `A launch was answered ${outcome.status}: ${outcome.body}`);
    },
  };
}
