/**
 * An ssh server of its own for a test: on a free port, as the user who runs the tests, with keys that
 * are made for it.
 *
 * @module
 */
import { join } from "node:path";

/** What the shell calls the server, which must be started by its full path. */
const SSHD = 'PATH="$PATH:/usr/sbin:/sbin"; command -v sshd';

/** Whether the machine has what {@linkcode SshServer} needs. */
export const HAS_SSHD = new Deno.Command("sh", {
  args: ["-c", `{ ${SSHD} && command -v ssh ssh-keygen; } >/dev/null`],
}).outputSync().success;

/**
 * A server that lets one key in. It listens itself and starts sshd for each connection: a port that is
 * found free and left to sshd would be anybody's in between.
 */
export class SshServer implements AsyncDisposable {
  /** The file of the private key that it lets in. */
  readonly keyFile: string;
  readonly #folder: string;
  readonly #user: string;
  readonly #listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  readonly #connections = new Set<Promise<void>>();
  readonly #over = this.#serve();
  #config = "";

  private constructor(folder: string, user: string) {
    this.#folder = folder;
    this.#user = user;
    this.keyFile = join(folder, "client key");
  }

  /** Makes the keys and starts the server. */
  static async start(folder: string): Promise<SshServer> {
    await Deno.mkdir(folder, { recursive: true });
    // Started by root it wants this folder, which otherwise the system's own start of it makes.
    await shell('[ "$(id -u)" != 0 ] || mkdir -p /run/sshd');
    const server = new SshServer(folder, await shell("id -un"));
    await makeKey(server.keyFile);
    await server.changeKey();
    return server;
  }

  /** The address of a repository, by its path. */
  address(path: string): string {
    return `ssh://${this.#user}@127.0.0.1:${this.#listener.addr.port}${path}`;
  }

  /** Gives the server another key of its own. */
  async changeKey(): Promise<void> {
    const name = `host-${crypto.randomUUID()}`;
    const hostKey = join(this.#folder, name);
    await makeKey(hostKey);
    const config = join(this.#folder, `${name}.config`);
    await Deno.writeTextFile(
      config,
      [
        `HostKey ${hostKey}`,
        `AuthorizedKeysFile "${this.keyFile}.pub"`,
        "AuthenticationMethods publickey",
        "PermitRootLogin prohibit-password",
        "StrictModes no",
        "UsePAM no",
        "LogLevel QUIET",
      ].join("\n"),
    );
    this.#config = config;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    await this.#over;
    await Promise.all(this.#connections);
  }

  async #serve(): Promise<void> {
    for await (const connection of this.#listener) {
      const answering = this.#answer(connection).finally(() => this.#connections.delete(answering));
      this.#connections.add(answering);
    }
  }

  /** Has one sshd talk over one connection, until either has ended. */
  async #answer(connection: Deno.Conn): Promise<void> {
    const child = new Deno.Command("sh", {
      args: ["-c", `exec "$(${SSHD})" -i -f "$1"`, "sh", this.#config],
      stdin: "piped",
      stdout: "piped",
    }).spawn();
    // Either side may hang up first.
    await Promise.allSettled([
      connection.readable.pipeTo(child.stdin),
      child.stdout.pipeTo(connection.writable),
      child.status,
    ]);
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
