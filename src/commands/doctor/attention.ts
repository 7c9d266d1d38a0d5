/**
 * Checks by what needs attention: failures, and weaknesses of triggers that nobody has dismissed.
 *
 * @module
 */
import type { Cause } from "../../attention/cause.ts";
import { GUESSABLE_SECRET, UNPROVEN_SENDER } from "../../triggers/weakness.ts";
import { counted } from "../console/findings.ts";
import type { Facts } from "./facts.ts";
import { firstNames } from "./first_names.ts";
import { failure, ok, type Result, warning } from "./result.ts";

const LIST = "hooklaunch attention list --group";

/** Checks that nothing fails. */
export async function checkFailures(facts: Facts): Promise<Result> {
  const failures = (await facts.causes()).filter(({ group }) => group === "failure");
  const [first] = failures;
  if (first === undefined) return ok("Nothing fails");
  const { subject: { kind, name }, text, advice } = first;
  const of = kind === "service" ? "" : `${kind} "${name}": `;
  if (failures.length === 1) return failure(of + text, advice);
  return failure(
    `${counted(failures.length, "failure")}, first ${of}${text}`,
    `See all of them with ${LIST} failure`,
  );
}

/** Checks that each trigger has a condition that proves the sender. */
export async function checkSenders(facts: Facts): Promise<Result> {
  const open = (await facts.causes()).filter(isUnproven);
  if (open.length === 0) {
    return ok("A condition of each trigger proves the sender, or that was dismissed");
  }
  return warning(
    `Everyone who knows the URL can launch ${firstNames("trigger", subjectsOf(open))}`,
    "Add a condition such as hmac with a preset, or dismiss the warning with a reason: hooklaunch attention dismiss",
  );
}

/** Checks the length of secrets in variables and files; literal ones were checked when they were saved. */
export async function checkSecrets(facts: Facts): Promise<Result> {
  const short = (await facts.causes()).filter(isGuessable);
  const [first] = short;
  if (first === undefined) return ok("No secret in a variable or a file can be guessed");
  return warning(
    `Secrets of ${firstNames("trigger", subjectsOf(short))} are short: ${first.text}`,
    "Make others with openssl rand -hex 32, and give them to the senders, too",
  );
}

/** Checks that triggers have no other weakness. */
export async function checkTriggers(facts: Facts): Promise<Result> {
  const rest = (await facts.causes()).filter((cause) =>
    cause.group === "setup" && !isUnproven(cause) && !isGuessable(cause)
  );
  const [first] = rest;
  if (first === undefined) return ok("No other warning of how triggers are set up");
  return warning(
    `${
      counted(rest.length, "warning")
    }, first ${first.subject.kind} "${first.subject.name}": ${first.text}`,
    `See all of them with ${LIST} setup`,
  );
}

function isUnproven({ group, text }: Cause): boolean {
  return group === "setup" && text.startsWith(UNPROVEN_SENDER);
}

function isGuessable({ group, text }: Cause): boolean {
  return group === "setup" && text.includes(GUESSABLE_SECRET);
}

function subjectsOf(causes: readonly Cause[]): Cause["subject"][] {
  return causes.map(({ subject }) => subject);
}
