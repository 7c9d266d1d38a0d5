/**
 * The stored work that actions take: pipelines that they copy, and outputs that are their inputs.
 *
 * @module
 */
import { type Execution, findDatum } from "../../store/records/executions.ts";
import { getPipeline, type Pipeline } from "../../store/records/pipelines.ts";
import type { ActionSettings } from "../../store/records/runs.ts";
import type { Store } from "../../store/store.ts";

/** Reads the work of an id, by what actions take of it. */
const READERS = {
  pipeline: getPipeline,
  datum: async (store: Store, id: string) => (await findDatum(store, id))?.execution,
} satisfies Record<string, (store: Store, id: string) => Promise<Pipeline | Execution | undefined>>;

/** Stored work that an action takes. */
interface Source {
  /** The kind and the id, as errors say them. */
  name: string;
  /** Returns undefined when it does not exist. */
  read(store: Store): Promise<Pipeline | Execution | undefined>;
}

/** Returns the stored work that actions take. */
export function sourcesOf(actions: readonly ActionSettings[]): Source[] {
  return actions.flatMap((action) => {
    const { source_pipeline, inputs }: Record<string, unknown> = { ...action };
    const datums = Object.values(Object(inputs)).flat().flatMap((file) => {
      const url = URL.parse(String(file));
      return url?.protocol === "datum:" ? [sourceOf("datum", url.host.toLowerCase())] : [];
    });
    return typeof source_pipeline === "string"
      ? [sourceOf("pipeline", source_pipeline), ...datums]
      : datums;
  });
}

function sourceOf(kind: keyof typeof READERS, id: string): Source {
  return { name: `${kind} ${id}`, read: (store) => READERS[kind](store, id) };
}
