/**
 * One word for one state, wherever people read it: the API has `completed` for runs and replays, and `complete` for
 * executions, pipelines and HTTP requests.
 *
 * @module
 */

/** Returns the word for a state. */
export function stateWord(state: string): string {
  return state === "completed" ? "complete" : state;
}
