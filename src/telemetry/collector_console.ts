/**
 * The console of a process whose console Deno sends to an OpenTelemetry collector, and prints nowhere
 * (`OTEL_DENO_CONSOLE=replace`). What is for people is printed all the same, and is not sent: the log alone is, each line
 * with its own severity.
 *
 * @module
 */

/** The methods that say how severe a line is. */
type Collector = Pick<Console, "debug" | "info" | "warn" | "error">;

let collector: Collector | undefined;

/** Returns the console that Deno sends to a collector alone; undefined where it prints. */
export function collectorConsole(): Collector | undefined {
  return collector;
}

/** Keeps the console for the log alone, and prints what is for people. Call it before anything is printed. */
export function keepPrinting(env: (name: string) => string | undefined): void {
  // A compiled program has read these variables when it was compiled.
  if (Deno.build.standalone || env("OTEL_DENO") !== "true") return;
  if (env("OTEL_DENO_CONSOLE") !== "replace") return;
  const { debug, info, warn, error } = console;
  collector = { debug, info, warn, error };
  const [out, err] = [printsTo(Deno.stdout), printsTo(Deno.stderr)];
  Object.assign(console, { debug: out, log: out, info: out, warn: err, error: err });
}

/** All that is printed are texts. As with a console, nobody may read them any more. */
function printsTo(stream: { writeSync(bytes: Uint8Array): number }) {
  return (...texts: readonly unknown[]) => {
    const bytes = new TextEncoder().encode(`${texts.join(" ")}\n`);
    try {
      for (let at = 0; at < bytes.length;) at += stream.writeSync(bytes.subarray(at));
    } catch (error) {
      if (!(error instanceof Deno.errors.BrokenPipe)) throw error;
    }
  };
}
