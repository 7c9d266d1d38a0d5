/**
 * `hooklaunch doctor`: checks a running service from outside and inside.
 *
 * @module
 */
import type { Command } from "commander";
import { systemNetwork } from "../platform/network/connection.ts";
import { type ApiOptions, apiOptions, clientOf } from "./api/options.ts";
import { counted } from "./console/findings.ts";
import { harmless, printJson } from "./console/table.ts";
import { type NamedResult, runChecks } from "./doctor/checks.ts";
import type { State } from "./doctor/result.ts";
import { option } from "./input/options.ts";

interface DoctorOptions extends ApiOptions {
  data?: string;
}

/** The time that a connection, a handshake or an answer may take. */
const TIMEOUT_MS = 10_000;
/** The widths of the columns: the longest words. */
const STATE_WIDTH = "not checked".length;
const CHECK_WIDTH = "certificate".length;

/** Defines the command. */
export function defineDoctor(command: Command): void {
  apiOptions(
    command.summary("Check a running service from outside and inside, and say what to do")
      .description(
        "Check a running service: its name, port and certificate as senders meet them, its clock, disk and user, its " +
          "tokens and triggers. One line a check: ok, warning, failure or not checked, and what to do. " +
          "To find out why a signature does not match: hooklaunch diagnose.",
      ),
  )
    .addOption(
      option("--data <folder>", "the data folder, on the service's machine: checks its disk"),
    )
    .option("--json", "print JSON")
    .addHelpText("after", "\nExit code: 1 when a check fails; 0 without, also with warnings.")
    .action(doctor);
}

async function doctor({ url, data, json = false }: DoctorOptions): Promise<void> {
  const results = await runChecks({
    url,
    data,
    client: () => clientOf(url),
    network: systemNetwork,
    now: () => Date.now(),
    timeout_ms: TIMEOUT_MS,
  });
  const countOf = (wanted: State) => results.filter(({ state }) => state === wanted).length;
  if (countOf("failure") > 0) Deno.exitCode = 1;
  if (json) return printJson(results);
  for (const result of results) console.log(harmless(lineOf(result)));
  console.log(
    `${counted(countOf("failure"), "failure")}, ${counted(countOf("warning"), "warning")}`,
  );
}

function lineOf({ state, check, text, advice }: NamedResult): string {
  const begin = `${state.replace("_", " ").padEnd(STATE_WIDTH)}  ${
    check.padEnd(CHECK_WIDTH)
  }  ${text}`;
  return advice === undefined ? begin : `${begin} → ${advice}`;
}
