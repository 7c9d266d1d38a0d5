/**
 * The variables that the templates of a notifier have.
 *
 * @module
 */

/** The variables, by name. */
export const messageVariables = {
  notifier: "string",
  title: "string",
  text: "string",
  causes: "dyn",
  cause: "dyn",
} as const;
