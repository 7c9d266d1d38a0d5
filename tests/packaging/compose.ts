/** The two instances of Compose on this machine: their containers, and the others as processes, as the file says. */
import { parse } from "yaml";
import config from "../../deno.json" with { type: "json" };
import { eventually, freePort } from "../surroundings.ts";

const FOLDER = new URL("../../src/packaging/compose/", import.meta.url);
const TOKENS: Readonly<Record<string, string>> = {
  HOOKLAUNCH_ADMIN_TOKEN: "an-operators-token-of-compose",
  HOOKLAUNCH_SECRET_KEY: btoa("k".repeat(32)),
  DENO_KV_ACCESS_TOKEN: "a-token-of-the-database",
  AWS_SECRET_ACCESS_KEY: "a-secret-of-the-bucket",
};
/** What the file names that this machine has elsewhere. */
const PLACES = ["one:8000", "two:8000", "denokv:4512", "s3:8080"] as const;
const CADDY_OPTIONS = "\tadmin off\n\tskip_install_trust\n\tauto_https disable_redirects\n";

interface ServiceOfFile {
  image: string;
  command: string | string[];
  environment: Record<string, string>;
  volumes: string[];
  tmpfs: string[];
  cap_drop: string[];
  security_opt: string[];
}

/** Reads a file of Compose as Compose does: with values of `.env`, which it must have. */
export async function readCompose(
  name: string,
  env: Record<string, string>,
): Promise<Record<string, ServiceOfFile>> {
  const text = await Deno.readTextFile(new URL(name, FOLDER));
  const filled = text.replaceAll(/\$\{(\w+)(?::\?)?\}/g, (_, variable: string) => {
    const value = env[variable];
    if (value === undefined) throw new Error(`${name} needs ${variable}`);
    return value;
  });
  return parse(filled, { merge: true }).services;
}

/** Two instances behind Caddy. */
export class Instances implements AsyncDisposable {
  readonly url: string;
  readonly #folder: string;
  readonly #ports = PLACES.map(() => freePort());
  readonly #processes: Deno.ChildProcess[] = [];
  readonly #containers = new Map<string, string>();
  #http: Deno.HttpClient | undefined;

  constructor(folder: string) {
    this.#folder = folder;
    this.url = `https://localhost:${freePort()}`;
  }

  /** Starts all of the file, and waits until both instances are known. */
  async start(configuration: string): Promise<void> {
    const env = { ...TOKENS, HOOKLAUNCH_DOMAIN: new URL(this.url).host };
    const services = await readCompose("instances.yaml", env);
    for (const name of ["config", "one", "two", "denokv", "s3", "caddy"]) {
      await Deno.mkdir(`${this.#folder}/${name}`);
      // The user of the image is another one.
      await Deno.chmod(`${this.#folder}/${name}`, 0o777);
    }
    await Deno.writeTextFile(`${this.#folder}/config/hooklaunch.yaml`, configuration);
    const { denokv, s3, one, two } = services;
    if (!denokv || !s3 || !one || !two) throw new Error("instances.yaml has other services");
    const [onePort, twoPort, kvPort, s3Port] = this.#ports;
    this.#begin(
      `denokv ${this.#here(String(denokv.command), "denokv")} --addr 127.0.0.1:${kvPort}`,
      denokv.environment,
    );
    const bucket = this.#here([s3.command].flat().join(" "), "s3");
    this.#begin(
      bucket.replace("--addr :8080", `--addr 127.0.0.1:${s3Port} --config /dev/null`),
      s3.environment,
    );
    await this.#run("one", one, onePort);
    await this.#run("two", two, twoPort);
    // Caddy would leave out for seconds who is not there at its start.
    for (const port of [onePort, twoPort]) {
      await eventually(async () => {
        const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
        await answer?.body?.cancel();
        return answer?.ok || undefined;
      }, { what: "an instance that is ready" });
    }
    const file = await Deno.readTextFile(new URL("Caddyfile", FOLDER));
    await Deno.writeTextFile(
      `${this.#folder}/Caddyfile`,
      this.#placed(file).replace("{\n", `{\n${CADDY_OPTIONS}`),
    );
    this.#begin("caddy run --config Caddyfile --adapter caddyfile", {
      HOOKLAUNCH_DOMAIN: env.HOOKLAUNCH_DOMAIN,
      XDG_DATA_HOME: `${this.#folder}/caddy`,
    });
    const root = `${this.#folder}/caddy/caddy/pki/authorities/local/root.crt`;
    const ca = await eventually(() => Deno.readTextFile(root).catch(() => undefined), {
      what: "Caddy's certificate",
    });
    this.#http = Deno.createHttpClient({ caCerts: [ca] });
    await eventually(async () => {
      const found = await this.api("instances/").catch(() => undefined);
      return found?.results?.length === 2 || undefined;
    }, { what: "both instances" });
  }

  /** Sends a request through Caddy. */
  async fetch(path: string, init: RequestInit = {}): Promise<{ status: number; text: string }> {
    if (this.#http === undefined) throw new Error("Caddy has no certificate yet");
    const answer = await fetch(this.url + path, { ...init, client: this.#http });
    return { status: answer.status, text: await answer.text() };
  }

  /** Asks the operators' API, through Caddy. */
  // deno-lint-ignore no-explicit-any
  async api(path: string): Promise<any> {
    const authorization = `Bearer ${TOKENS.HOOKLAUNCH_ADMIN_TOKEN}`;
    const { status, text } = await this.fetch(`/api/v0/${path}`, { headers: { authorization } });
    if (status !== 200) throw new Error(`${path}: ${status} ${text}`);
    return JSON.parse(text);
  }

  /** Returns how many launches each instance has accepted itself. */
  async accepted(): Promise<number[]> {
    return await Promise.all(
      this.#ports.slice(0, 2).map(async (port) => {
        const headers = {
          authorization: `Bearer ${TOKENS.HOOKLAUNCH_ADMIN_TOKEN}`,
          "x-forwarded-proto": "https",
        };
        const text = await (await fetch(`http://127.0.0.1:${port}/metrics`, { headers })).text();
        return Number(
          /^hooklaunch_deliveries_total\{outcome="accepted"\} (\d+)/m.exec(text)?.[1] ?? 0,
        );
      }),
    );
  }

  /** Kills an instance, as its machine's end does. */
  async kill(name: string): Promise<void> {
    await docker("kill", this.#containers.get(name) ?? "");
  }

  async #run(name: string, service: ServiceOfFile, port = 0): Promise<void> {
    const environment = {
      ...service.environment,
      HOOKLAUNCH_HOST: "127.0.0.1",
      HOOKLAUNCH_PORT: String(port),
      HOOKLAUNCH_TRUSTED_PROXY: "127.0.0.1",
    };
    const id = await docker(
      ...["run", "--detach", "--network", "host", "--read-only"],
      ...service.tmpfs.flatMap((path) => ["--tmpfs", path]),
      ...service.cap_drop.flatMap((right) => ["--cap-drop", right]),
      ...service.security_opt.flatMap((each) => ["--security-opt", each]),
      ...service.volumes.flatMap((each) => [
        "--volume",
        each.replace(/^(?:\.\/)?/, `${this.#folder}/`),
      ]),
      ...Object.entries(environment).flatMap(([variable, value]) => [
        "--env",
        `${variable}=${this.#placed(value)}`,
      ]),
      // What the release names.
      service.image.replace("latest", config.version),
    );
    this.#containers.set(name, id);
  }

  #begin(script: string, env: Record<string, string> = {}): void {
    const path = 'PATH="$PATH:${XDG_CACHE_HOME:-$HOME/.cache}/hooklaunch/bin"';
    this.#processes.push(
      new Deno.Command("sh", {
        args: ["-c", `${path}; ${script.replace(/^(?!mkdir)/, "exec ")}`],
        cwd: this.#folder,
        env,
        stdin: "null",
        stdout: "null",
        stderr: "null",
      }).spawn(),
    );
  }

  /** Names the folder of a volume. */
  #here(command: string, volume: string): string {
    return command.replaceAll("/data", `${this.#folder}/${volume}`);
  }

  /** Names the places of this machine. */
  #placed(text: string): string {
    return PLACES.reduce(
      (changed, place, index) => changed.replaceAll(place, `127.0.0.1:${this.#ports[index]}`),
      text,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const id of this.#containers.values()) await docker("rm", "--force", "--volumes", id);
    for (const process of this.#processes) process.kill("SIGKILL");
    await Promise.all(this.#processes.map(({ status }) => status));
    this.#http?.close();
  }
}

async function docker(...args: string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command("sh", {
    args: ["-c", 'exec docker "$@"', "sh", ...args],
  }).output();
  if (!success) throw new Error(`docker ${args[0]}: ${new TextDecoder().decode(stderr)}`);
  return new TextDecoder().decode(stdout).trim();
}
