/**
 * `hooklaunch compact`: makes the database of a data folder, which no service uses, small and clean.
 *
 * @module
 */
import type { Command } from "commander";
import { formatBytes } from "../platform/text/display.ts";
import { compact } from "../store/file/compaction.ts";
import { Progress, untilStopped } from "./console/backup.ts";
import { printJson } from "./console/table.ts";
import { option } from "./input/options.ts";

/** Defines the command. */
export function defineCompact(command: Command): void {
  command
    .addOption(option("--data <folder>", "the data folder").default("./data"))
    .option("--json", "print the sizes as JSON")
    .action(run);
}

async function run({ data, json }: { data: string; json?: boolean }): Promise<void> {
  using progress = new Progress();
  const sizes = await untilStopped((signal) =>
    compact(data, { signal, onProgress: (rows) => progress.show(`Compacting: ${rows} records`) })
  );
  progress.end();
  if (json) return printJson({ data, ...sizes });
  const { before_bytes, after_bytes } = sizes;
  console.log(
    `Compacted the database of ${data}: ${formatBytes(before_bytes)} before, ` +
      `${formatBytes(after_bytes)} now`,
  );
}
