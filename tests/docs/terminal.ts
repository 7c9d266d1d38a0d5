/**
 * A terminal in which the commands of a page run, one block after the other.
 *
 * @module
 */
import { assertStringIncludes } from "@std/assert";
import { HOOKLAUNCH } from "../commands/process.ts";
import { blocksOf } from "./blocks.ts";
import { hostCommands, type HostedCommands } from "./hosted_commands.ts";
import { eventually, freePort, PATIENCE_MS, temporaryFolder } from "../surroundings.ts";

const CHECKOUT = new URL("../../", import.meta.url).pathname;

/** Begins where the block before ended: in its folder, with its exported variables. */
const RESUME = `exec 2>&1
. "$STATE/variables"
cd "$(cat "$STATE/folder")"
trap 'pwd >"$STATE/folder"; export -p >"$STATE/variables"' EXIT
set -e
`;

/** The shell of a service outlives it: so a service whose shell has ended answers no longer. */
const SERVE = `exec >"$STATE/log" 2>&1
trap - EXIT
trap : TERM
`;

/** The secrets that pages name. */
const ENVIRONMENT = `HOOKLAUNCH_ADMIN_TOKEN=an-operators-token-for-pages
GITHUB_SECRET=a-secret-of-github
GITLAB_TOKEN=a-token-of-gitlab
SLACK_SECRET=a-secret-of-slack
STRIPE_SECRET=whsec_a-secret-of-stripe
SHOPIFY_SECRET=a-secret-of-shopify
STANDARD_SECRET=whsec_YSBzZWNyZXQgb2Ygc3RhbmRhcmQgd2ViaG9va3M=
LABEL_STUDIO_HEADER='Bearer a-token-of-label-studio'
ALERTMANAGER_TOKEN=a-token-of-alertmanager
ACME_SECRET=a-secret-of-acme
NIGHTLY_TOKEN=a-token-of-nightly
REPORT_TOKEN=a-token-of-report
META_APP_SECRET=an-app-secret-of-meta
META_VERIFY_TOKEN=a-verify-token-of-meta
`;

/** Runs `npx -y deno@… …` with the Deno that is there. The tests are left out: this is one of them. */
const NPX = `#!/bin/sh
shift 2
[ "$*" = "task test" ] || exec deno "$@"
`;

/** A terminal whose home is a scratch folder. */
export class Terminal implements AsyncDisposable {
  readonly #folder: AsyncDisposable & { path: string };
  readonly #port: number;
  #service: Deno.ChildProcess | undefined;
  #commands: HostedCommands | undefined;

  private constructor(folder: AsyncDisposable & { path: string }, port: number) {
    this.#folder = folder;
    this.#port = port;
  }

  /** Opens a terminal in the checkout. */
  static async open(): Promise<Terminal> {
    const folder = await temporaryFolder();
    const { path } = folder;
    await Deno.mkdir(`${path}/bin`);
    await Deno.mkdir(`${path}/home`);
    await Deno.writeTextFile(`${path}/bin/npx`, NPX, { mode: 0o755 });
    await Deno.symlink(Deno.execPath(), `${path}/bin/deno`);
    await Deno.writeTextFile(`${path}/folder`, CHECKOUT);
    await Deno.writeTextFile(`${path}/variables`, "");
    return new Terminal(folder, freePort());
  }

  /** Opens a terminal where getting_started.md ends: its files are there, and its service runs. */
  static async afterGettingStarted(): Promise<Terminal> {
    const terminal = await Terminal.open();
    const commands = `${terminal.#folder.path}/commands`;
    terminal.#commands = await hostCommands(commands, [Deno.execPath(), ...HOOKLAUNCH].join(" "));
    await terminal.run(`export PATH="${commands}:$PATH"; mkdir ~/hooks; cd ~/hooks`);
    for (const { file, text } of blocksOf("src/docs/getting_started.md")) {
      if (file !== undefined) await terminal.write(file, text);
    }
    await terminal.write("event.json", '{"action": "opened", "issue": {}}');
    await terminal.write(".env", ENVIRONMENT);
    await terminal.serve("hooklaunch serve --env-file .env --dev --config hooklaunch.yaml");
    await terminal.run("set -a; . ./.env");
    return terminal;
  }

  /** Writes a file, by its name from the current folder, which must not be the checkout. */
  async write(name: string, text: string): Promise<void> {
    const path = `${await this.#read("folder")}/${name}`;
    assertStringIncludes(path, this.#folder.path);
    await Deno.mkdir(path.replace(/\/[^/]*$/, ""), { recursive: true });
    await Deno.writeTextFile(path, this.#withPort(text));
  }

  /** Runs commands to their end. */
  async run(commands: string): Promise<{ code: number; printed: string }> {
    const { code, stdout } = await new Deno.Command("sh", {
      args: ["-c", RESUME + this.#withPort(commands)],
      ...this.#surroundings(),
      stdin: "null",
      signal: AbortSignal.timeout(PATIENCE_MS),
    }).output();
    return { code, printed: new TextDecoder().decode(stdout) };
  }

  /** Runs a command in the background, and waits until the service that it starts answers. */
  async serve(command: string): Promise<void> {
    await this.stop();
    const log = `${this.#folder.path}/log`;
    const service = new Deno.Command("setsid", {
      args: ["sh", "-c", `${RESUME}${SERVE}${this.#withPort(command)}`],
      ...this.#surroundings(),
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    this.#service = service;
    let hasEnded = false;
    service.status.then(() => hasEnded = true);
    await eventually(async () => {
      if (hasEnded) throw new Error(`The service ended:\n${await Deno.readTextFile(log)}`);
      const answer = await fetch(`http://127.0.0.1:${this.#port}/healthz`).catch(() => undefined);
      await answer?.body?.cancel();
      return answer?.ok || undefined;
    }, { what: "the service" });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await this.#commands?.[Symbol.asyncDispose]();
    // Executions outlive the service, and may still write.
    await eventually(async () => {
      try {
        await this.#folder[Symbol.asyncDispose]();
        return true;
      } catch {
        return undefined;
      }
    });
  }

  /** Stops the service. */
  async stop(): Promise<void> {
    const service = this.#service;
    this.#service = undefined;
    if (service === undefined) return;
    await new Deno.Command("sh", { args: ["-c", 'kill -- "-$0"; :', String(service.pid)] })
      .output();
    await service.status;
    await this.#commands?.stop();
  }

  /** Pages name the default port; here it is a free one. */
  #withPort(commands: string): string {
    return commands.replaceAll("127.0.0.1:8000", `127.0.0.1:${this.#port}`);
  }

  async #read(name: string): Promise<string> {
    return (await Deno.readTextFile(`${this.#folder.path}/${name}`)).trim();
  }

  #surroundings() {
    const { path } = this.#folder;
    const { PATH = "", HOME = "", DENO_DIR = `${HOME}/.cache/deno`, LANG = "C.UTF-8" } = Deno.env
      .toObject();
    const env = {
      PATH: `${path}/bin:${PATH}`,
      HOME: `${path}/home`,
      DENO_DIR,
      LANG,
      STATE: path,
      TMPDIR: path,
      NO_COLOR: "1",
      HOOKLAUNCH_PORT: String(this.#port),
      HOOKLAUNCH_URL: `http://127.0.0.1:${this.#port}`,
    };
    return { clearEnv: true, env };
  }
}
