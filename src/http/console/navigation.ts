/**
 * The entries of the navigation, which the documentation shows, too.
 *
 * @module
 */

/** The entries of the navigation: the address and the label. */
export const NAVIGATION = [
  ["", "Overview"],
  ["deliveries", "Deliveries"],
  ["triggers", "Triggers"],
  ["executions", "Executions"],
  ["pipelines", "Pipelines"],
  ["projects", "Projects"],
  ["engines", "Engines"],
  ["instances", "Instances"],
  ["access", "Access"],
  ["settings", "Settings"],
] as const;

/** The label of an entry. */
export type NavigationEntry = typeof NAVIGATION[number][1];

/** Returns the entries of a service. Where one process has the database, there are no instances to look at. */
export function navigationOf({ isShared }: { isShared: boolean }) {
  return NAVIGATION.filter(([address]) => isShared || address !== "instances");
}
