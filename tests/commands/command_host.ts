/**
 * A process that runs commands one after the other: a request over HTTP has arguments and variables, and is
 * answered with the exit code and all that was printed. Its argument is a port of the process that wants it,
 * which is told the port of the requests there. It ends with that process.
 *
 * @module
 */
import process from "node:process";
import { format } from "node:util";
import { main } from "../../src/commands/program.ts";

/** A command, as it is asked for. */
export interface HostedCommand {
  args: string[];
  env: Record<string, string>;
  /** The folder that it runs in, with no other variables than those above; else that of the tests, with theirs. */
  folder?: string;
}

/** The result of a command. */
export interface HostedEnd {
  code: number;
  /** Both streams. */
  printed: string;
  stdout: string;
  stderr: string;
}

/** Ends a command where it would end its process. */
class Exit extends Error {
  constructor(readonly exitCode: number) {
    super(`exit ${exitCode}`);
  }
}

let printed = "";
let stdout = "";
let stderr = "";

function printOut(text: string): void {
  printed += text;
  stdout += text;
}

function printError(text: string): void {
  printed += text;
  stderr += text;
}

function exit(code = Number(Deno.exitCode)): never {
  throw new Exit(code);
}

/** Keeps what is written to a stream of the process. */
function keep(
  stream: typeof Deno.stdout | typeof Deno.stderr,
  print: (text: string) => void,
): void {
  const decoder = new TextDecoder();
  stream.writeSync = (bytes) => {
    print(decoder.decode(bytes, { stream: true }));
    return bytes.length;
  };
  stream.write = (bytes) => Promise.resolve(stream.writeSync(bytes));
}

/** Keeps what commands print, and their process when they exit. */
function takeOver(): void {
  const lineOf = (print: (text: string) => void) => (...values: unknown[]) =>
    print(`${format(...values)}\n`);
  const [log, error] = [lineOf(printOut), lineOf(printError)];
  Object.assign(console, { debug: log, error, info: log, log, warn: error });
  const writeOf = (print: (text: string) => void) => (text: string | Uint8Array) => {
    print(typeof text === "string" ? text : new TextDecoder().decode(text));
    return true;
  };
  Object.assign(process.stdout, { write: writeOf(printOut) });
  Object.assign(process.stderr, { write: writeOf(printError) });
  keep(Deno.stdout, printOut);
  keep(Deno.stderr, printError);
  Object.assign(Deno, { exit });
  Object.assign(process, { exit });
}

async function run({ args, env, folder }: HostedCommand): Promise<HostedEnd> {
  const before = Deno.env.toObject();
  const home = Deno.cwd();
  printed = stdout = stderr = "";
  Deno.exitCode = 0;
  if (folder !== undefined) {
    for (const name of Object.keys(before)) Deno.env.delete(name);
    Deno.chdir(folder);
  }
  for (const [name, value] of Object.entries(env)) Deno.env.set(name, value);
  let code: number | undefined;
  try {
    await main(args);
  } catch (error) {
    code = error instanceof Exit ? error.exitCode : 1;
    if (!(error instanceof Exit)) printError(format("error: Uncaught (in promise)", error));
  }
  Deno.chdir(home);
  for (const name of Object.keys({ ...before, ...Deno.env.toObject() })) {
    const value = before[name];
    if (value === undefined) Deno.env.delete(name);
    else Deno.env.set(name, value);
  }
  const end = { code: code ?? Deno.exitCode, printed, stdout, stderr };
  Deno.exitCode = 0;
  return end;
}

/** The last command that came. */
let last: Promise<unknown> = Promise.resolve();

/** Runs a command when the one before has ended. */
async function answer(request: Request): Promise<Response> {
  const command: HostedCommand = await request.json();
  // Nobody waits any more for a command that does not end. Those behind it are told at once.
  request.signal.addEventListener("abort", () => leave(1));
  const end = last.then(() => run(command));
  last = end;
  return Response.json(await end);
}

// A service gives its process some time to end by itself, and then ends it.
globalThis.addEventListener("error", (event) => {
  if (event.error instanceof Exit) event.preventDefault();
});
const leave = Deno.exit;
const parent = await Deno.connect({ hostname: "127.0.0.1", port: Number(Deno.args[0]) });
parent.read(new Uint8Array(1)).catch(() => {}).then(() => leave(0));
const { addr: { port } } = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, answer);
await parent.write(new TextEncoder().encode(String(port)));
takeOver();
