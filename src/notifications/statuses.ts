/**
 * Statuses on the commits that runs are about. One notification sets a status: the newest run with this commit and
 * context decides which state it tells, whatever ends first.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import type { EvaluateValues } from "../conditions/values/evaluate.ts";
import type { Clock } from "../platform/clock.ts";
import { derivedId, newId } from "../platform/ids.ts";
import { InTurn } from "../platform/waiting/in_turn.ts";
import { AfterWork } from "../runs/after_work.ts";
import type { RunWork } from "../runs/work_state.ts";
import {
  type CommitState,
  type CommitStatus,
  dueStatuses,
  statusDueWrite,
  statusMadeWrite,
  statusNotificationId,
  toldState,
} from "../store/records/commit_statuses.ts";
import {
  getNotification,
  type Notification,
  notificationWrites,
} from "../store/records/notifications.ts";
import type { StoredNotifier } from "../store/records/notifiers.ts";
import { getRun, type Run } from "../store/records/runs.ts";
import type { Store } from "../store/store.ts";
import { commitOf } from "./commit_of_run.ts";
import { concerns } from "./matching.ts";
import type { Sender } from "./sender.ts";
import { STATE_TEXTS, STATUS_TYPES, type StatusSettings } from "./targets/commit_statuses.ts";

/** The statuses of a notifier that wait for their code host. */
const OPEN_MAX = 1_000;
const SHA_SHOWN = 10;

const log = getLogger(["hooklaunch", "notifications"]);

/** The parts of the service that statuses use. */
export interface StatusParts {
  store: Store;
  clock: Clock;
  runWork: Pick<RunWork, "stateOf">;
  /** Returns the address of the service, without a slash at the end. */
  baseUrl(): string;
  /** Returns the name and the project of a trigger. */
  labelsOf(id: string): Promise<{ name: string; project: string } | undefined>;
  /** Returns what evaluates expressions over the request that launched a run. */
  valuesOf(of: { run: Run }): EvaluateValues;
}

/** The part of the teller that statuses use. */
interface StatusTeller {
  sender: Sender;
  notifiers(): StoredNotifier[];
}

/** Sets statuses on commits. */
export class Statuses {
  readonly #parts: StatusParts;
  readonly #teller: StatusTeller;
  readonly #turns = new InTurn();
  readonly after: AfterWork;

  constructor(parts: StatusParts, teller: StatusTeller) {
    this.#parts = parts;
    this.#teller = teller;
    this.after = new AfterWork({
      what: "the status of the commit",
      due: () => dueStatuses(parts.store),
      make: (runId) => this.#make(runId),
    });
  }

  /** Tells how far a run is. Returns false while its work goes on. */
  async #make(runId: string): Promise<boolean> {
    const { store, runWork } = this.#parts;
    const run = await getRun(store, runId);
    if (run?.status === "pending") return false;
    if (run !== undefined && !isIdle(run)) {
      const work = await runWork.stateOf(run);
      if (work === "running" && await toldState(store, runId) === "pending") return false;
      const state = work === "running" ? "pending" : work === "complete" ? "success" : "failure";
      for (const notifier of await this.#notifiersOf(run)) {
        await this.#tell(notifier, run, state);
      }
      if (state === "pending") {
        await store.committer.write([statusDueWrite(runId, state)]);
        return false;
      }
    }
    await store.committer.write([statusMadeWrite(runId)]);
    return true;
  }

  async #notifiersOf({ trigger_id: id, project }: Run): Promise<StoredNotifier[]> {
    const labels = await this.#parts.labelsOf(id);
    const subject = { kind: "trigger", name: id, id, project, ...labels };
    return this.#teller.notifiers().filter((notifier) =>
      STATUS_TYPES.includes(notifier.to.type) && concerns(notifier, subject)
    );
  }

  async #tell(notifier: StoredNotifier, run: Run, state: CommitState): Promise<void> {
    const { clock, labelsOf, valuesOf, baseUrl } = this.#parts;
    const trigger = (await labelsOf(run.trigger_id))?.name ?? run.trigger_id;
    // The schema of its kind has these fields.
    const settings = notifier.to as StatusSettings;
    const commit = await commitOf(settings, { trigger, state }, valuesOf({ run }));
    if (commit === undefined) {
      log.info("Run {run_id} names no commit: {notifier} sets no status", {
        run_id: run.id,
        notifier: notifier.name,
      });
      return;
    }
    const url = `${baseUrl()}/deliveries/${run.id}`;
    if (typeof commit === "string") return await this.#refuse(notifier.name, run, commit, url);
    const since = new Date(clock.now()).toISOString();
    const status: CommitStatus = { ...commit, state, run_id: run.id, since, url };
    await this.#turns.run(notifier.name, () => this.#set(notifier.name, status));
  }

  /** Stores a state in the notification of its status, unless that tells of a newer run, and sends it. */
  async #set(notifier: string, status: CommitStatus): Promise<void> {
    const { store, clock } = this.#parts;
    const { sender } = this.#teller;
    const known = await statusNotificationId(store, notifier, status);
    const found = known === undefined ? undefined : await sender.change(known, (current) => {
      if (current.commit !== undefined && !isNewer(status, current.commit)) return undefined;
      const { next_at: _next, ended_at: _end, reason: _reason, ...rest } = current;
      return { notification: { ...rest, ...wordsOf(status), attempts: 0, status: "pending" } };
    });
    if (found !== undefined) return sender.begin(found.id, notifier);
    const now_ms = clock.now();
    const made: Notification = {
      id: newId(now_ms),
      notifier,
      status: "pending",
      created_at: new Date(now_ms).toISOString(),
      attempts: 0,
      ...wordsOf(status),
      causes: [],
    };
    if (sender.openOf(notifier) >= OPEN_MAX) {
      return await sender.refuse(made, `${OPEN_MAX} statuses of this notifier wait already`);
    }
    await store.committer.write(notificationWrites(made));
    sender.begin(made.id, notifier);
  }

  /** Stores that a run gets no status, and why. */
  async #refuse(notifier: string, run: Run, why: string, url: string): Promise<void> {
    const { store, clock } = this.#parts;
    const id = derivedId(run.id, "status", notifier);
    if (await getNotification(store, id) !== undefined) return;
    await this.#teller.sender.refuse({
      id,
      notifier,
      status: "pending",
      created_at: new Date(clock.now()).toISOString(),
      attempts: 0,
      title: "No status is set on a commit",
      text: `The commit of run ${run.id} is not known: ${why}\n  ${url}`,
      causes: [],
    }, `The commit is not known: ${why}`);
  }
}

/** Tells whether a run has done nothing. */
function isIdle({ actions }: Run): boolean {
  return actions.every(({ skipped }) => skipped !== undefined);
}

/** Tells whether a state comes behind another: that of a newer run, or the end of the same one. */
function isNewer(next: CommitStatus, before: CommitStatus): boolean {
  if (next.run_id !== before.run_id) return next.run_id > before.run_id;
  return before.state === "pending" && next.state !== "pending";
}

function wordsOf(
  commit: CommitStatus,
): Required<Pick<Notification, "title" | "text" | "commit">> {
  const { repository, sha, context, state, url, description = STATE_TEXTS[state] } = commit;
  return {
    title: `${state}: ${context} of ${repository} at ${sha.slice(0, SHA_SHOWN)}`,
    text: `${description}\n  ${url}`,
    commit,
  };
}
