/**
 * An ssh server of its own for a test: on a free port, as the user who runs the tests, with keys that
 * are made for it.
 *
 * @module
 */
import { join } from "node:path";
import { eventually } from "../surroundings.ts";

/** What the shell calls the server, which must be started by its full path. */
const SSHD = 'PATH="$PATH:/usr/sbin:/sbin"; command -v sshd';

/** Whether the machine has what {@linkcode SshServer} needs. */
export const HAS_SSHD = new Deno.Command("sh", {
  args: ["-c", `{ ${SSHD} && command -v ssh ssh-keygen; } >/dev/null`],
}).outputSync().success;

/** A server that lets one key in. */
export class SshServer implements AsyncDisposable {
  /** The file of the private key that it lets in. */
  readonly keyFile: string;
  readonly user: string;
  readonly port: number;
  readonly #folder: string;
  #child: Deno.ChildProcess | undefined;

  private constructor(folder: string, user: string, port: number) {
    this.#folder = folder;
    this.keyFile = join(folder, "client key");
    this.user = user;
    this.port = port;
  }

  /** Makes the keys and starts the server. */
  static async start(folder: string): Promise<SshServer> {
    await Deno.mkdir(folder, { recursive: true });
    using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const user = await shell("id -un");
    const server = new SshServer(folder, user, listener.addr.port);
    await makeKey(server.keyFile);
    listener.close();
    await server.restart();
    return server;
  }

  /** The address of a repository, by its path. */
  address(path: string): string {
    return `ssh://${this.user}@127.0.0.1:${this.port}${path}`;
  }

  /** Ends the server and starts it again with another key of its own. */
  async restart(): Promise<void> {
    await this.#end();
    const hostKey = join(this.#folder, `host-${crypto.randomUUID()}`);
    await makeKey(hostKey);
    const config = join(this.#folder, "sshd_config");
    await Deno.writeTextFile(
      config,
      [
        `Port ${this.port}`,
        "ListenAddress 127.0.0.1",
        `HostKey ${hostKey}`,
        `AuthorizedKeysFile "${this.keyFile}.pub"`,
        "AuthenticationMethods publickey",
        "PermitRootLogin prohibit-password",
        "StrictModes no",
        "UsePAM no",
        "PidFile none",
        "LogLevel QUIET",
      ].join("\n"),
    );
    // Started by root it wants this folder, which otherwise the system's own start of it makes.
    const prepare = '[ "$(id -u)" != 0 ] || mkdir -p /run/sshd';
    this.#child = new Deno.Command("sh", {
      args: ["-c", `${prepare}; exec "$(${SSHD})" -D -f "$1"`, "sh", config],
      stdin: "null",
    }).spawn();
    const options = { hostname: "127.0.0.1", port: this.port };
    const connect = () => Deno.connect(options).catch(() => undefined);
    (await eventually(connect, { what: "the ssh server" })).close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end();
  }

  async #end(): Promise<void> {
    this.#child?.kill("SIGTERM");
    await this.#child?.status;
    this.#child = undefined;
  }
}

/** Makes a pair of keys without a passphrase: a file, and one beside it that ends in `.pub`. */
export async function makeKey(path: string): Promise<void> {
  await shell('ssh-keygen -q -t ed25519 -N "" -f "$1"', path);
}

async function shell(script: string, ...args: string[]): Promise<string> {
  const command = new Deno.Command("sh", { args: ["-c", script, "sh", ...args], stderr: "piped" });
  const { success, stdout, stderr } = await command.output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout).trim();
}
