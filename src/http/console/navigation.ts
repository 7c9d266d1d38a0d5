/**
 * The entries of the navigation, which the documentation shows, too.
 *
 * @module
 */
import { type Access, isLimited } from "../api/access.ts";

/** The entries of the navigation: the address and the label. */
const NAVIGATION = [
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

/** The entries that a limited token may not open. */
const UNLIMITED: readonly string[] = ["instances", "access", "settings"];

/**
 * Returns the entries that an operator may open; all for one who is not known. Where one process has the
 * database, there are no instances to look at.
 */
export function navigationOf(
  { isShared, access }: { isShared: boolean; access?: Access | undefined },
) {
  return NAVIGATION.filter(([address]) => {
    if (address === "instances" && !isShared) return false;
    if (access === undefined) return true;
    if (address === "access" && access.scope !== "admin") return false;
    return !isLimited(access) || !UNLIMITED.includes(address);
  });
}
