/**
 * What the product's log says while a test runs. There is one log for all, and so a test has it for itself.
 *
 * @module
 */
import { configure, type LogLevel, type LogRecord, reset } from "@logtape/logtape";

/** The records of the log, until it is disposed of. */
export interface LogRecords extends AsyncDisposable {
  records: LogRecord[];
  /** Each as a line: its level and its message. */
  lines(): string[];
}

/** Begins to collect what is logged of this level or a more serious one. */
export async function collectLog(lowestLevel: LogLevel): Promise<LogRecords> {
  const records: LogRecord[] = [];
  await configure({
    sinks: { records: (record) => void records.push(record) },
    loggers: [{ category: "hooklaunch", sinks: ["records"], lowestLevel }],
    reset: true,
  });
  return {
    records,
    lines: () => records.map(({ level, message }) => `${level}: ${message.join("")}`),
    [Symbol.asyncDispose]: reset,
  };
}
