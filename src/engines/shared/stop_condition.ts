/**
 * The condition on which an execution has done enough: it is looked at whenever there is new metadata.
 *
 * @module
 */
import { truncate } from "../../platform/text/display.ts";
import { evaluate, type Expression, parseExpression } from "../../projects/format/expression.ts";
import type { Execution } from "../../store/records/executions.ts";
import type { Metadata } from "./metadata.ts";

/** Characters of a condition that a reason shows. */
const SHOWN_CHARACTERS_MAX = 200;

/** Watches whether an execution's stop condition holds. */
export class StopCondition {
  readonly #execution: Execution;
  readonly #metadata: Metadata;
  readonly #expression: Expression | undefined;
  /** Number of metadata changes at the last check. */
  #seen = 0;

  constructor(execution: Execution, metadata: Metadata) {
    this.#execution = execution;
    this.#metadata = metadata;
    this.#expression = read(execution.stop_condition);
  }

  /** The condition, when it holds for metadata that is new, as the reason for stopping. */
  reached(): string | undefined {
    const { changes } = this.#metadata;
    if (this.#expression === undefined || changes === this.#seen) return undefined;
    this.#seen = changes;
    const { stop_condition: text = "", parameters } = this.#execution;
    if (!evaluate(this.#expression, { metadata: this.#metadata.latest, parameter: parameters })) {
      return undefined;
    }
    return `Stopped: its stop condition "${truncate(text, SHOWN_CHARACTERS_MAX)}" holds`;
  }
}

/** Parses a condition. One that this version cannot parse, though its step's schema once could, is ignored. */
function read(condition: string | undefined): Expression | undefined {
  if (condition === undefined) return undefined;
  try {
    return parseExpression(condition);
  } catch {
    return undefined;
  }
}
