/**
 * Counts by trigger, for metrics. The busiest triggers are named, and the others are counted together, since each
 * name costs Prometheus memory.
 *
 * @module
 */
import { Counter, type Registry } from "./prometheus.ts";

/** The number of triggers that are named. */
const NAMED_MAX = 200;
/** Stands for the names of all others. */
export const OTHER = "other";

/** The name and the project of a trigger. */
interface Labels {
  name: string;
  project: string;
}

/** Returns the labels of a trigger, or undefined for an unknown id. */
export type LabelsOf = (triggerId: string) => Promise<Labels | undefined>;

/** The events of one trigger. */
interface Counted {
  project: string;
  total: number;
  /** The number of events by their value, such as a run's status. */
  byValue: Map<string, number>;
  /** The part of them that the count of the others has. */
  amongOthers: Map<string, number>;
}

/** A counter of events by trigger, project and one more label. */
export class TriggerCounts {
  readonly #counted = new Map<string, Counted>();
  readonly #others = new Map<string, number>();
  readonly #labelsOf: LabelsOf;

  /**
   * @param label the name of the label beside `trigger` and `project`
   * @param labelsOf finds the names, when the metrics are asked for
   */
  constructor(
    { name, help, label, labelsOf, registers }: {
      name: string;
      help: string;
      label: string;
      labelsOf: LabelsOf;
      registers: InstanceType<typeof Registry>[];
    },
  ) {
    this.#labelsOf = labelsOf;
    const collect = async (counter: InstanceType<typeof Counter>) => {
      const named = await this.#named();
      counter.reset();
      for (const [labels, byValue] of named) {
        for (const [value, count] of byValue) counter.inc({ ...labels, [label]: value }, count);
      }
    };
    new Counter({
      name,
      help: `${help}, of the ${NAMED_MAX} busiest triggers by name`,
      labelNames: ["trigger", "project", label],
      registers,
      async collect() {
        await collect(this);
      },
    });
  }

  /** Counts an event of a trigger. */
  inc({ id, project }: { id: string; project: string }, value: string): void {
    let counted = this.#counted.get(id);
    if (counted === undefined) {
      counted = { project, total: 0, byValue: new Map(), amongOthers: new Map() };
      this.#counted.set(id, counted);
    }
    counted.total++;
    counted.byValue.set(value, (counted.byValue.get(value) ?? 0) + 1);
  }

  /** Returns the counts with their labels. The others' never fall when one of them becomes busy. */
  async #named(): Promise<
    (readonly [{ trigger: string; project: string }, Map<string, number>])[]
  > {
    const byTotal = [...this.#counted].sort(([, a], [, b]) => b.total - a.total);
    for (const [, { byValue, amongOthers }] of byTotal.slice(NAMED_MAX)) {
      for (const [value, count] of byValue) {
        const rise = count - (amongOthers.get(value) ?? 0);
        this.#others.set(value, (this.#others.get(value) ?? 0) + rise);
        amongOthers.set(value, count);
      }
    }
    const named = byTotal.slice(0, NAMED_MAX).map(async ([id, { project, byValue }]) => {
      // A trigger that was deleted is known by its id.
      const labels = await this.#labelsOf(id) ?? { name: id, project };
      return [{ trigger: labels.name, project: labels.project }, byValue] as const;
    });
    return [...await Promise.all(named), [{ trigger: OTHER, project: OTHER }, this.#others]];
  }
}
