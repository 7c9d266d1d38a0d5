/**
 * The retention of records, and of the payloads, logs and outputs that are kept shorter: a trigger's own, else that of
 * its project, else that of the service. A change of it applies to what is stored already.
 *
 * @module
 */
import { timeSpan_ms } from "../platform/text/time_span.ts";
import { listProjects, type Project } from "../store/records/projects.ts";
import { getFormerTrigger, type StoredTrigger } from "../store/records/triggers.ts";
import type { Store } from "../store/store.ts";

/** The kinds that a retention has a time for: all that is kept of a run, and parts of it. */
const RETENTION_KINDS = ["records", "payloads", "logs", "outputs"] as const;

/** A kind that a retention has a time for. */
type RetentionKind = typeof RETENTION_KINDS[number];

/** Another retention, to learn what it would remove before it is set. */
export interface TrialRetention {
  /** The trigger or project that it would be set for; the service when both are absent. */
  triggerId?: string | undefined;
  project?: string | undefined;
  /** The spans of some kinds; the others stay as they are. */
  spans_ms: Partial<Record<RetentionKind, number>>;
}

/** The cutoffs of all kinds. */
export class RetentionCutoffs implements Record<RetentionKind, Cutoffs> {
  readonly records: Cutoffs;
  readonly payloads: Cutoffs;
  readonly logs: Cutoffs;
  readonly outputs: Cutoffs;

  private constructor(ofKind: (kind: RetentionKind) => Cutoffs) {
    this.records = ofKind("records");
    this.payloads = ofKind("payloads");
    this.logs = ofKind("logs");
    this.outputs = ofKind("outputs");
  }

  /** Begins with the retention of the service and of all projects: triggers are added. */
  static async begin(store: Store, options: CutoffOptions): Promise<RetentionCutoffs> {
    const projects = options.signal.aborted ? [] : await listProjects(store);
    return new RetentionCutoffs((kind) => new Cutoffs(store, { ...options, kind, projects }));
  }

  /** Adds a trigger. All are added before the first question. */
  add(trigger: Pick<StoredTrigger, "id" | "settings">): void {
    for (const kind of RETENTION_KINDS) this[kind].add(trigger);
  }
}

interface CutoffOptions {
  now_ms: number;
  /** The service's span of records. It has none for the other kinds. */
  default_ms: number;
  trial?: TrialRetention | undefined;
  /** Aborted when the service stops: nothing is read then. */
  signal: AbortSignal;
}

/** The parts of the cutoffs of one kind. */
interface KindOptions extends CutoffOptions {
  kind: RetentionKind;
  projects: readonly Project[];
}

/** The times before which what is kept of each trigger is past its retention, for one kind. */
export class Cutoffs {
  readonly #store: Store;
  readonly #kind: RetentionKind;
  readonly #now_ms: number;
  readonly #default_ms: number;
  readonly #trial: { triggerId: string | undefined; project: string | undefined; span_ms: number };
  readonly #projects = new Map<string, number>();
  /** The spans of the triggers that have another one than the service's. */
  readonly #triggers = new Map<string, number>();
  readonly #present = new Set<string>();
  readonly #absent = new Map<string, number>();

  constructor(
    store: Store,
    { now_ms, default_ms, trial = { spans_ms: {} }, kind, projects }: KindOptions,
  ) {
    const { triggerId, project, spans_ms: { [kind]: span_ms = NaN } } = trial;
    const ofService_ms = kind === "records" ? default_ms : Infinity;
    const isForService = span_ms > 0 && triggerId === undefined && project === undefined;
    this.#store = store;
    this.#kind = kind;
    this.#now_ms = now_ms;
    this.#default_ms = isForService ? span_ms : ofService_ms;
    this.#trial = { triggerId, project, span_ms };
    for (const each of projects) {
      const own_ms = project === each.name && span_ms > 0 ? span_ms : spanOf(each, kind);
      if (own_ms !== undefined) this.#projects.set(each.name, own_ms);
    }
  }

  /** Adds a trigger. All are added before the first question. */
  add({ id, settings }: Pick<StoredTrigger, "id" | "settings">): void {
    this.#present.add(id);
    const { triggerId, span_ms } = this.#trial;
    const own_ms = triggerId === id && span_ms > 0
      ? span_ms
      : spanOf(settings, this.#kind) ?? this.#projects.get(String(Object(settings).project));
    if (own_ms !== undefined) this.#triggers.set(id, own_ms);
  }

  /** Returns the latest of all: what is younger is kept, whosever it is; -Infinity when nothing goes. */
  get newest_ms(): number {
    return this.#now_ms - this.#extreme(Math.min);
  }

  /** Returns the earliest of all: what is older goes, whosever it is. */
  get oldest_ms(): number {
    return this.#now_ms - this.#extreme(Math.max);
  }

  /** Returns the cutoff of a trigger. A deleted one has that of the project that it was in at last. */
  async of(triggerId: string): Promise<number> {
    const own_ms = this.#triggers.get(triggerId) ?? await this.#ofOther(triggerId);
    return this.#now_ms - own_ms;
  }

  async #ofOther(triggerId: string): Promise<number> {
    const isUniform = this.#projects.size + this.#triggers.size === 0;
    if (isUniform || this.#present.has(triggerId)) return this.#default_ms;
    const known = this.#absent.get(triggerId);
    if (known !== undefined) return known;
    const former = await getFormerTrigger(this.#store, triggerId);
    // Its record may be damaged: nobody knows how long it was to be kept.
    const own_ms = former === undefined
      ? this.#extreme(Math.max)
      : this.#projects.get(former.project) ?? this.#default_ms;
    this.#absent.set(triggerId, own_ms);
    return own_ms;
  }

  #extreme(pick: (...spans_ms: number[]) => number): number {
    const spans = [this.#default_ms, ...this.#triggers.values(), ...this.#projects.values()];
    return spans.reduce((one, other) => pick(one, other));
  }
}

/** Returns the span of a trigger's or project's settings; undefined where they have none. */
function spanOf(settings: unknown, kind: RetentionKind): number | undefined {
  const { [kind]: span } = Object(Object(settings).retention);
  // A later version may have stored what this one does not know.
  const span_ms = typeof span === "string" ? timeSpan_ms(span) : NaN;
  return span_ms > 0 ? span_ms : undefined;
}
