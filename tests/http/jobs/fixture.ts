/** Agents as plain processes, with a desk that they speak to. */
import { join } from "node:path";
import { agentScript } from "../../../src/engines/remote/agent.ts";
import { newId } from "../../../src/platform/ids.ts";
import { V8_FLAGS } from "../../surroundings.ts";
import { FolderDesk, type GivenJob } from "./desk.ts";

/** The shells that agents are tested in: every POSIX shell that machines have. */
export const SHELLS = ["dash", "busybox sh"];

/** How an agent is started. */
export interface AgentOptions {
  /** Where it finds the service. */
  url: string;
  job: Pick<GivenJob, "id" | "token">;
  ca?: string;
  shell?: string;
  env?: Record<string, string>;
}

/** An agent that runs. */
export interface RunningAgent {
  child: Deno.ChildProcess;
  /** Waits for its end. */
  ended(): Promise<{ code: number; printed: string }>;
}

/** A folder of a test with a desk, in which agents work, too. */
export class AgentFixture implements AsyncDisposable {
  readonly folder = Deno.makeTempDirSync();
  readonly desk: FolderDesk;
  #agents: Deno.ChildProcess[] = [];

  constructor() {
    Deno.mkdirSync(join(this.folder, "desk"));
    Deno.mkdirSync(join(this.folder, "work"));
    this.desk = new FolderDesk(this.deskFolder);
  }

  get deskFolder(): string {
    return join(this.folder, "desk");
  }

  /** Gives the desk a job. */
  give(command: string, given: Partial<GivenJob> = {}): GivenJob {
    const id = newId(Date.now());
    const job = { id, token: `hlj_${crypto.randomUUID()}`, command, ...given };
    this.desk.give(job);
    return job;
  }

  /** Starts an agent. */
  start({ url, job, ca, shell = "sh", env = {} }: AgentOptions): RunningAgent {
    const { id: executionId, token } = job;
    const script = agentScript({ url, executionId, token, ...(ca === undefined ? {} : { ca }) });
    const path = join(this.folder, `agent-${crypto.randomUUID()}.sh`);
    Deno.writeTextFileSync(path, script);
    const child = new Deno.Command("sh", {
      // Deno itself finds programs by the path of the test.
      args: ["-c", `PATH="\${HOOKLAUNCH_TEST_PATH:-$PATH}"; exec ${shell} "$1"`, "sh", path],
      env: { HOOKLAUNCH_FOLDER: join(this.folder, "work"), HOOKLAUNCH_TICK: "0.1", ...env },
      stdin: "null",
      stdout: "null",
      stderr: "piped",
    }).spawn();
    this.#agents.push(child);
    const printed = new Response(child.stderr).text();
    return {
      child,
      ended: async () => ({ code: (await child.status).code, printed: await printed }),
    };
  }

  /** The names in the folder that agents work in. */
  left(): string[] {
    return Array.from(Deno.readDirSync(join(this.folder, "work")), ({ name }) => name);
  }

  async [Symbol.asyncDispose]() {
    for (const child of this.#agents) {
      try {
        child.kill("SIGKILL");
      } catch {
        // It has ended.
      }
      await child.status;
    }
    await Deno.remove(this.folder, { recursive: true });
  }
}

/** What becomes of a connection: it is passed on, refused, or its answer is cut. */
export type Fate = "pass" | "drop" | "cut";

/** Passes connections on to a port, or does not. */
export function proxyTo(port: () => number, fateOf: (nth: number) => Fate | Promise<Fate>) {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  let count = 0;
  const handle = async (client: Deno.Conn) => {
    using _client = client;
    const fate = await fateOf(count++);
    if (fate === "drop") return;
    using server = await Deno.connect({ hostname: "127.0.0.1", port: port() });
    const sending = client.readable.pipeTo(server.writable, { preventClose: true });
    if (fate === "pass") {
      await Promise.allSettled([sending, server.readable.pipeTo(client.writable)]);
      return;
    }
    // All but the last bytes of the answer.
    sending.catch(() => {});
    const buffer = new Uint8Array(64 * 1024);
    const read = await server.read(buffer) ?? 0;
    await client.write(buffer.subarray(0, Math.max(0, read - 3)));
  };
  const serving = (async () => {
    for await (const client of listener) handle(client).catch(() => {});
  })();
  return {
    get count() {
      return count;
    },
    url: `http://127.0.0.1:${listener.addr.port}`,
    async [Symbol.asyncDispose]() {
      listener.close();
      await serving.catch(() => {});
    },
  };
}

/** Starts the server of a desk as a process of its own. */
export async function spawnDesk(folder: string, port = 0) {
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--quiet",
      ...V8_FLAGS,
      "--allow-all",
      new URL("served_desk.ts", import.meta.url).href,
      folder,
      String(port),
    ],
    stdout: "piped",
  }).spawn();
  const reader = child.stdout.getReader();
  const { value } = await reader.read();
  await reader.cancel();
  return { child, port: Number(new TextDecoder().decode(value).trim()) };
}
