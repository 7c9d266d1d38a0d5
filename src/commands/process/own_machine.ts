/**
 * Requests to this machine itself. A proxy cannot send them on, and would read an operator's token in
 * them; but the variables that name one, such as `HTTP_PROXY`, hold for all that is not named in
 * `NO_PROXY`.
 *
 * @module
 */
import process from "node:process";

const OWN = ["localhost", "127.0.0.0/8", "::1"];

/** Keeps requests to this machine from proxies. Must come before the first request: Deno looks once. */
export function reachOwnMachineDirectly(): void {
  const { NO_PROXY = process.env.no_proxy ?? "" } = process.env;
  // It means every host when it stands alone, and nothing beside others to git.
  if (NO_PROXY.trim() === "*") return;
  process.env.NO_PROXY = [...NO_PROXY.split(",").filter((part) => part.trim()), ...OWN].join(",");
}
