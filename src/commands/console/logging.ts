/**
 * Logging to standard error, as text for people or as JSON for machines.
 *
 * @module
 */
import { configure, getConsoleSink, type LogRecord } from "@logtape/logtape";
import { messageOf } from "../../platform/errors.ts";
import { activeTraceId } from "../../telemetry/spans.ts";
import { harmless } from "./table.ts";

/** The format of log lines, and the least level. */
interface LogSettings {
  format: "text" | "json";
  level: "debug" | "info" | "warning" | "error";
}

/** Sets up logging for the process. */
export async function setUpLogging({ format, level }: LogSettings): Promise<void> {
  const formatter = format === "json" ? jsonLine : textLine;
  // These two methods write to standard error, the others to standard output. Deno sends the method to a
  // log collector as the severity: so errors are told from the rest there.
  const levelMap = {
    trace: "warn",
    debug: "warn",
    info: "warn",
    warning: "warn",
    error: "error",
    fatal: "error",
  } as const;
  await configure({
    reset: true,
    sinks: { stderr: getConsoleSink({ formatter, levelMap }) },
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
