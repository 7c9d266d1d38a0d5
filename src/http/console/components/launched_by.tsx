/** The delivery that something comes from, and the operator who launched it. */
import type { Origin } from "../../api/origins.ts";
import type { Html } from "../route.ts";

export function LaunchedBy(
  { run_id, launched_by }: { run_id: string } & Pick<Origin, "launched_by">,
): Html {
  const delivery = <a href={`deliveries/${run_id}`}>this delivery</a>;
  const { kind, name = "an operator" } = launched_by;
  if (kind === "sender") return delivery;
  if (kind === "schedule") return <>the schedule, by {delivery}</>;
  return kind === "replay" ? <>{name}, who launched {delivery}</> : <>{name}, from {delivery}</>;
}
