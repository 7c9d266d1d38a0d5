/**
 * Lines of YAML for a configuration file.
 *
 * A command that only asks a service loads this when it prints some. It loads this file and not the package: a bundle
 * gives an `import()` of a CommonJS package its default export alone.
 *
 * @module
 */
import { stringify } from "yaml";

/** Returns the lines of a value. */
export function yamlLines(value: unknown): string[] {
  return stringify(value, { lineWidth: 0 }).trimEnd().split("\n");
}
