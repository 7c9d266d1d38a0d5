/**
 * Requests to this machine itself, past any proxy. A proxy cannot forward them, and would read an operator's
 * token in them. Variables such as `HTTP_PROXY` apply to every host that `NO_PROXY` does not name.
 *
 * @module
 */
import process from "node:process";

const OWN = ["localhost", "127.0.0.0/8", "::1"];

/** Keeps requests to this machine from proxies. Call it before the first request: Deno reads the variable once. */
export function reachOwnMachineDirectly(): void {
  const { NO_PROXY = process.env.no_proxy ?? "" } = process.env;
  // Alone it means every host. Beside other names it means nothing to git.
  if (NO_PROXY.trim() === "*") return;
  process.env.NO_PROXY = [...NO_PROXY.split(",").filter((part) => part.trim()), ...OWN].join(",");
}
