/**
 * The command line for pages: what one page has run by a process of its own is run by a process that stays for the
 * others. One more such process runs their services, one after the other.
 *
 * @module
 */
import type { HostedCommand, HostedEnd } from "../commands/command_host.ts";
import { runHosted, runIn, startHost } from "../commands/hosted.ts";

/** Asks the tests; what reads its input is a process. */
const COMMAND = `#!/bin/sh
if [ -p /dev/stdin ] || [ -f /dev/stdin ] || ! [ -e /proc/self/fd/1 ]; then exec REAL "$@"; fi
end=$(mktemp -d)
{ printf '%s\\0' "$end" "$PWD" "$#" "$@"; env -0; } |
  curl --silent --fail --noproxy '*' --data-binary @- URL || { rm -r "$end"; exec REAL "$@"; }
if [ /proc/self/fd/1 -ef /proc/self/fd/2 ]; then cat "$end/printed"
else cat "$end/stdout"; cat "$end/stderr" >&2; fi
code=$(cat "$end/code")
rm -r "$end"
exit "$code"
`;

const services = await startHost();
/** The commands that a process of its own has run, by their first words. The first pages have services of their own. */
const seen = new Set<string>(["serve"]);

/** Returns the first word of a command. */
function nameOf(args: readonly string[]): string {
  const isWord = (word: string, index: number) =>
    !word.startsWith("-") && args[index - 1] !== "--env-file";
  return args.find(isWord) ?? "";
}

/** The command `hooklaunch` in a folder. */
export interface HostedCommands extends AsyncDisposable {
  /** Stops the service that runs, if any, and waits for its end. */
  stop(): Promise<void>;
}

/**
 * Puts a command `hooklaunch` into a folder, which works until the end of its scope.
 *
 * @param real the command that runs a process
 */
export async function hostCommands(folder: string, real: string): Promise<HostedCommands> {
  let service: Promise<HostedEnd> | undefined;
  const run = async (name: string, command: Required<HostedCommand>) => {
    if (name !== "serve") return await runHosted(command.args, command.env, command.folder);
    service = runIn(services, command);
    return await service.finally(() => service = undefined);
  };
  /** Runs a command, and writes its end into a folder. */
  const answer = async (request: Request) => {
    const [end = "", folder = "", count, ...words] = (await request.text()).split("\0");
    const args = words.splice(0, Number(count));
    const name = nameOf(args);
    if (!seen.has(name)) {
      seen.add(name);
      return new Response(null, { status: 404 });
    }
    const pairs = words.filter((word) => word !== "").map((word) => word.split(/=([^]*)/));
    const ended = await run(name, { args, env: Object.fromEntries(pairs), folder });
    for (const [name, text] of Object.entries(ended)) {
      await Deno.writeTextFile(`${end}/${name}`, String(text));
    }
    return new Response(null, { status: 204 });
  };
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, answer);
  const url = `http://127.0.0.1:${server.addr.port}/`;
  await Deno.mkdir(folder, { recursive: true });
  const text = COMMAND.replaceAll("REAL", real).replace("URL", url);
  await Deno.writeTextFile(`${folder}/hooklaunch`, text, { mode: 0o755 });
  return {
    async stop() {
      if (service === undefined) return;
      services.child.kill("SIGTERM");
      await service;
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
