/**
 * Histograms by trigger. Some triggers are named, and the others are observed together, since each name costs
 * Prometheus a series for each bucket.
 *
 * @module
 */
import { Histogram, openRegistry, type Registry } from "./prometheus.ts";
import { parseTraceparent } from "./traceparent.ts";
import { type LabelsOf, OTHER } from "./trigger_counts.ts";

/** The number of triggers that are named: the first that have something to observe. */
const NAMED_MAX = 100;
/** The labels of series and exemplars. */
type SeriesLabel = "trigger" | "project" | "trace_id";

/** The labels of a series. */
interface SeriesLabels {
  trigger: string;
  project: string;
}

/** A histogram of seconds by trigger and project. Its exemplars have the id of the trace. */
export class TriggerTimes {
  readonly #histogram: InstanceType<typeof Histogram<SeriesLabel>>;
  readonly #named = new Map<string, SeriesLabels>();
  readonly #labelsOf: LabelsOf;

  constructor(
    { name, help, buckets, labelsOf, registers }: {
      name: string;
      help: string;
      buckets: number[];
      labelsOf: LabelsOf;
      registers: InstanceType<typeof Registry>[];
    },
  ) {
    this.#labelsOf = labelsOf;
    const forgetOld = () => Promise.all([...this.#named.keys()].map((id) => this.#labels(id)));
    this.#histogram = new Histogram<SeriesLabel>({
      name,
      help: `${help}, of ${NAMED_MAX} triggers by name`,
      labelNames: ["trigger", "project"],
      buckets,
      enableExemplars: true,
      registers: [openRegistry()],
      async collect() {
        await forgetOld();
      },
    });
    for (const registry of registers) registry.registerMetric(this.#histogram);
  }

  /** Observes a time of a trigger. Resolves once it is observed; never rejects. */
  async observe(triggerId: string, seconds: number, traceparent?: string): Promise<void> {
    const labels = await this.#labels(triggerId);
    const trace = traceparent === undefined ? undefined : parseTraceparent(traceparent);
    const isRecorded = trace !== undefined && trace.traceFlags !== 0;
    const exemplarLabels = isRecorded ? { trace_id: trace.traceId } : {};
    this.#histogram.observe({ labels: { ...labels }, value: seconds, exemplarLabels });
  }

  /** Returns the labels of a trigger's series. That of a trigger that was deleted or renamed is removed. */
  async #labels(id: string): Promise<SeriesLabels> {
    // The database may be closed meanwhile: the observation counts in any case.
    const found = await this.#labelsOf(id).catch(() => undefined);
    const known = this.#named.get(id);
    if (known && (found?.name !== known.trigger || found.project !== known.project)) {
      this.#histogram.remove({ ...known });
      this.#named.delete(id);
    }
    const isNamed = this.#named.has(id) || this.#named.size < NAMED_MAX;
    if (found === undefined || !isNamed) return { trigger: OTHER, project: OTHER };
    const labels = { trigger: found.name, project: found.project };
    this.#named.set(id, labels);
    return labels;
  }
}
