/**
 * Reading environment variables.
 *
 * @module
 */
import process from "node:process";

/** Reads an environment variable; empty counts as not set. */
export function environment(name: string): string | undefined {
  return process.env[name] || undefined;
}
