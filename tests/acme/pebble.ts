/**
 * A certificate authority of its own: pebble, and the server of names that it asks.
 *
 * @module
 */
import { eventually, freePort } from "../surroundings.ts";

/** An authority that runs. */
export interface Pebble extends AsyncDisposable {
  /** The URL of its directory. */
  readonly directory: string;
  /** The certificate that its own is signed by, PEM. */
  readonly ca: string;
  /** The certificate that those that it issues are signed by, PEM. */
  readonly root: string;
  /** The port at which it looks for answers, on this machine whatever the name. */
  readonly httpPort: number;
  /** The address of the server of names, whose records a test sets. */
  readonly names: string;
  /** Suggests the time of a certificate's renewal. */
  suggest(chain: string, start: Date, end: Date): Promise<void>;
}

const file = (name: string) => new URL(`../http/${name}.pem`, import.meta.url).pathname;
/** The tools that `.ci/run` builds are in no path. */
const TOOLS = 'PATH="$PATH:${XDG_CACHE_HOME:-$HOME/.cache}/hooklaunch/bin"; exec "$0" "$@"';

/**
 * Starts an authority. Of a hundred good nonces it refuses five.
 *
 * @param accounts the keys of the accounts that it wants first, in base64url by their ids; none without it
 */
export async function startPebble(
  folder: string,
  accounts?: Readonly<Record<string, string>>,
): Promise<Pebble> {
  const [port, management, httpPort, dns, records] = Array.from({ length: 5 }, freePort);
  const ca = await Deno.readTextFile(file("localhost_ca"));
  const config = `${folder}/pebble.json`;
  const pebble = {
    listenAddress: `127.0.0.1:${port}`,
    managementListenAddress: `127.0.0.1:${management}`,
    certificate: file("localhost_cert"),
    privateKey: file("localhost_key"),
    httpPort,
    tlsPort: httpPort,
    domainBlocklist: ["blocked.example.com"],
    keyAlgorithm: "ecdsa",
    ...(accounts && { externalAccountBindingRequired: true, externalAccountMACKeys: accounts }),
    profiles: {
      default: { description: "90 days", validityPeriod: 7_776_000 },
      shortlived: { description: "six days", validityPeriod: 518_400 },
    },
  };
  await Deno.writeTextFile(config, JSON.stringify({ pebble }));
  const run = (args: string[]) =>
    new Deno.Command("sh", {
      args: ["-c", TOOLS, ...args],
      env: { PEBBLE_VA_NOSLEEP: "1", PEBBLE_WFE_NONCEREJECT: "5", PEBBLE_AUTHZREUSE: "0" },
      stdout: "null",
      stderr: "null",
    }).spawn();
  const off = ["http01", "https01", "tlsalpn01", "doh"].flatMap((name) => [`-${name}`, ""]);
  const processes = [
    run([
      ...["pebble-challtestsrv", "-dnsserver", `127.0.0.1:${dns}`],
      ...["-management", `127.0.0.1:${records}`, "-defaultIPv6", "", ...off],
    ]),
    run(["pebble", "-config", config, "-dnsserver", `127.0.0.1:${dns}`]),
  ];
  const client = Deno.createHttpClient({ caCerts: [ca] });
  const read = (url: string, init: RequestInit = {}) =>
    fetch(url, { client, ...init }).then((answer) => answer.text());
  const directory = `https://127.0.0.1:${port}/dir`;
  const managed = `https://127.0.0.1:${management}`;
  const looks = [directory, `${managed}/roots/0`, `http://127.0.0.1:${records}/`];
  const [, root = ""] = await Promise.all(
    looks.map((url) =>
      eventually(() => read(url).catch(() => undefined), { what: `an answer of ${url}` })
    ),
  );
  return {
    directory,
    ca,
    root,
    httpPort: Number(httpPort),
    names: `http://127.0.0.1:${records}`,
    async suggest(certificate, start, end) {
      const ariResponse = JSON.stringify({ suggestedWindow: { start, end } });
      const body = JSON.stringify({ certificate, ariResponse });
      await read(`${managed}/set-renewal-info/`, { method: "POST", body });
    },
    async [Symbol.asyncDispose]() {
      client.close();
      for (const each of processes) each.kill("SIGKILL");
      await Promise.all(processes.map(({ status }) => status));
    },
  };
}
