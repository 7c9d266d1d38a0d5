/**
 * Executions made by hand.
 *
 * @module
 */
import { newId } from "../../src/platform/ids.ts";
import type { Execution } from "../../src/store/records/executions.ts";

const NOW_MS = Date.UTC(2026, 0, 1);

/** An execution that nothing is special about but what a test says. */
export function executionOf(parts: Partial<Execution> = {}): Execution {
  return {
    id: newId(NOW_MS),
    run_id: newId(NOW_MS),
    trigger_id: newId(NOW_MS),
    project: "files",
    engine: { type: "local" },
    commit: "c0ffee",
    step: "train",
    title: "train",
    image: "debian",
    command: "true",
    inputs: {},
    parameters: {},
    environment_variables: {},
    status: "queued",
    created_at: new Date(NOW_MS).toISOString(),
    metadata: {},
    outputs: [],
    ...parts,
  };
}
