/**
 * Logging to standard error, as text for people or as JSON for machines.
 *
 * @module
 */
import { configure, getConsoleSink, type LogRecord } from "@logtape/logtape";
import { messageOf } from "../../platform/errors.ts";
import { collectorConsole } from "../../telemetry/collector_console.ts";
import { activeTraceId } from "../../telemetry/spans.ts";
import { harmless } from "./table.ts";

/** The format of log lines, and the least level. */
interface LogSettings {
  format: "text" | "json";
  level: "debug" | "info" | "warning" | "error";
}

/** The method of the console for each level. Deno sends it to a log collector as the severity. */
const METHODS = {
  trace: "debug",
  debug: "debug",
  info: "info",
  warning: "warn",
  error: "error",
  fatal: "error",
} as const;

/** Sets up logging for the process. */
export async function setUpLogging({ format, level }: LogSettings): Promise<void> {
  const formatter = format === "json" ? jsonLine : textLine;
  const collector = collectorConsole();
  // Only `warn` and `error` print to standard error. So where what is printed is sent, too, other levels are sent
  // as warnings.
  const levelMap = { ...METHODS, trace: "warn", debug: "warn", info: "warn" } as const;
  const stderr = collector === undefined
    ? getConsoleSink({ formatter, levelMap })
    : (record: LogRecord) => {
      const line = formatter(record);
      console.error(line);
      collector[METHODS[record.level]](line);
    };
  await configure({
    reset: true,
    sinks: { stderr },
    loggers: [
      { category: "hooklaunch", lowestLevel: level, sinks: ["stderr"] },
      { category: ["logtape", "meta"], lowestLevel: "warning", sinks: ["stderr"] },
    ],
  });
}

function textLine(record: LogRecord): string {
  const time = new Date(record.timestamp).toISOString();
  const message = harmless(messageLine(record));
  return `${time} ${record.level.padEnd(7)} ${record.category.join(".")}: ${message}`;
}

function jsonLine(record: LogRecord): string {
  return JSON.stringify({
    time: new Date(record.timestamp).toISOString(),
    level: record.level,
    logger: record.category.join("."),
    message: messageLine(record),
    trace_id: activeTraceId(),
    ...record.properties,
  }, (_key, value) => value instanceof Error ? plain(value) : value);
}

/** Returns the message with its values, on one line: no value may look like another line. */
function messageLine({ message }: LogRecord): string {
  return message.map(plain).join("").replace(/[\r\n]+/g, " ");
}

function plain(value: unknown): string {
  return value instanceof Error ? value.stack ?? messageOf(value) : String(value);
}
