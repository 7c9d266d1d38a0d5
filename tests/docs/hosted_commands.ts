/**
 * The command line for pages: what one page has run by a process of its own is run by a process that stays for the
 * others.
 *
 * @module
 */
import { runHosted } from "../commands/hosted.ts";

/** Commands whose second word is a command, too. */
const GROUPS = [
  "attention",
  "backup",
  "execution",
  "pipeline",
  "project",
  "replay",
  "run",
  "token",
  "trigger",
];

/** Asks the tests; what reads its input, and a service, is a process. */
const COMMAND = `#!/bin/sh
if [ -p /dev/stdin ] || [ "$1" = serve ] || ! [ -e /proc/self/fd/1 ]; then exec REAL "$@"; fi
end=$(mktemp -d)
{ printf '%s\\0' "$end" "$PWD" "$#" "$@"; env -0; } |
  curl --silent --fail --noproxy '*' --data-binary @- URL || { rm -r "$end"; exec REAL "$@"; }
if [ /proc/self/fd/1 -ef /proc/self/fd/2 ]; then cat "$end/printed"
else cat "$end/stdout"; cat "$end/stderr" >&2; fi
code=$(cat "$end/code")
rm -r "$end"
exit "$code"
`;

/** The commands that a process of its own has run. */
const seen = new Set<string>();

/** Returns the words that name a command. */
function nameOf(args: readonly string[]): string {
  const [first = "", second = ""] = args.filter((word, index) =>
    !word.startsWith("-") && args[index - 1] !== "--env-file"
  );
  return GROUPS.includes(first) ? `${first} ${second}` : first;
}

/** Runs a command, and writes its end into a folder. */
async function answer(request: Request): Promise<Response> {
  const [end = "", folder, count, ...words] = (await request.text()).split("\0");
  const args = words.splice(0, Number(count));
  const name = nameOf(args);
  if (!seen.has(name)) {
    seen.add(name);
    return new Response(null, { status: 404 });
  }
  const pairs = words.filter((word) => word !== "").map((word) => word.split(/=([^]*)/));
  const ended = await runHosted(args, Object.fromEntries(pairs), folder);
  for (const [name, text] of Object.entries(ended)) {
    await Deno.writeTextFile(`${end}/${name}`, String(text));
  }
  return new Response(null, { status: 204 });
}

/**
 * Puts a command `hooklaunch` into a folder, which works until the end of its scope.
 *
 * @param real the command that runs a process
 */
export async function hostCommands(folder: string, real: string): Promise<AsyncDisposable> {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, answer);
  const url = `http://127.0.0.1:${server.addr.port}/`;
  await Deno.mkdir(folder, { recursive: true });
  const text = COMMAND.replaceAll("REAL", real).replace("URL", url);
  await Deno.writeTextFile(`${folder}/hooklaunch`, text, { mode: 0o755 });
  return server;
}
