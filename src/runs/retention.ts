/**
 * The retention of records: a trigger's own, else that of its project, else that of the service. A change of it applies
 * to what is stored already.
 *
 * @module
 */
import { timeSpan_ms } from "../platform/text/time_span.ts";
import { listProjects } from "../store/records/projects.ts";
import { getFormerTrigger, type StoredTrigger } from "../store/records/triggers.ts";
import type { Store } from "../store/store.ts";

/** Another retention, to learn what it would remove before it is set. */
export interface TrialRetention {
  /** The trigger or project that it would be set for; the service when both are absent. */
  triggerId?: string | undefined;
  project?: string | undefined;
  records_ms: number;
}

interface CutoffOptions {
  now_ms: number;
  /** The span of the service. */
  default_ms: number;
  trial?: TrialRetention | undefined;
  /** Aborted when the service stops: nothing is read then. */
  signal: AbortSignal;
}

/** The times before which the records of each trigger are past their retention. */
export class Cutoffs {
  readonly #store: Store;
  readonly #now_ms: number;
  readonly #default_ms: number;
  readonly #trial: TrialRetention | undefined;
  readonly #projects = new Map<string, number>();
  /** The spans of the triggers that have another one than the service's. */
  readonly #triggers = new Map<string, number>();
  readonly #present = new Set<string>();
  readonly #absent = new Map<string, number>();

  private constructor(
    store: Store,
    { now_ms, default_ms, trial }: CutoffOptions,
  ) {
    const isOfService = trial && trial.triggerId === undefined && trial.project === undefined;
    this.#store = store;
    this.#now_ms = now_ms;
    this.#default_ms = isOfService ? trial.records_ms : default_ms;
    this.#trial = trial;
  }

  /** Begins with the retention of the service and of all projects: triggers are added. */
  static async begin(store: Store, options: CutoffOptions): Promise<Cutoffs> {
    const cutoffs = new Cutoffs(store, options);
    if (options.signal.aborted) return cutoffs;
    for (const project of await listProjects(store)) {
      const { trial } = options;
      const own_ms = trial?.project === project.name ? trial.records_ms : spanOf(project);
      if (own_ms !== undefined) cutoffs.#projects.set(project.name, own_ms);
    }
    return cutoffs;
  }

  /** Adds a trigger. All are added before the first question. */
  add({ id, settings }: Pick<StoredTrigger, "id" | "settings">): void {
    this.#present.add(id);
    const own_ms = this.#trial?.triggerId === id
      ? this.#trial.records_ms
      : spanOf(settings) ?? this.#projects.get(String(Object(settings).project));
    if (own_ms !== undefined) this.#triggers.set(id, own_ms);
  }

  /** Returns the latest of all: what is younger is kept, whosever it is. */
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
function spanOf(settings: unknown): number | undefined {
  const { records } = Object(Object(settings).retention);
  // A later version may have stored what this one does not know.
  const span_ms = typeof records === "string" ? timeSpan_ms(records) : NaN;
  return span_ms > 0 ? span_ms : undefined;
}
