/**
 * A local engine on a data folder of its own, for tests: real processes, a real database.
 *
 * @module
 */
import { join } from "node:path";
import { systemClock } from "../../src/platform/clock.ts";
import { diskCache } from "../../src/engines/shared/inputs/disk_cache.ts";
import { RemoteFiles } from "../../src/engines/shared/inputs/remote_files.ts";
import type { Layout } from "../../src/engines/local/layout.ts";
import { LocalEngine, type LocalEngineOptions } from "../../src/engines/local/mod.ts";
import { WorkFolder } from "../../src/engines/local/work_folder.ts";
import { setUpFolder } from "../../src/engines/local/work_folder_setup.ts";
import type { Execution } from "../../src/store/records/executions.ts";
import { type EngineParts, EngineService, until } from "./service.ts";
import { PATIENCE_MS } from "./../surroundings.ts";

export { until };

/** Settings with which tests do not wait for long, and no command that may end by itself is killed. */
export const QUICK = { poll_ms: 20, grace_ms: 60_000 };

function checkout(_project: string, _commit: string, destination: string): Promise<void> {
  return Deno.mkdir(destination);
}

/** The text of a file; empty while there is none. */
export function textOf(path: string): string {
  try {
    return Deno.readTextFileSync(path);
  } catch {
    return "";
  }
}

/** Whether a process lives. */
export async function lives(pid: number): Promise<boolean> {
  const args = ["-c", `kill -0 ${pid} && ! grep -q ') Z ' /proc/${pid}/stat`];
  return (await new Deno.Command("sh", { args, stderr: "null" }).output()).success;
}

/** Fails while one of the processes is a child whose end its parent, who runs this, does not know of yet. */
const HAS_NO_CHILD = `
for pid; do
  { read -r stat <"/proc/$pid/stat"; } 2>/dev/null || continue
  # Behind the program's name in brackets: the state, and the parent. See proc_pid_stat(5).
  stat=\${stat##*) }
  stat=\${stat#* }
  [ "\${stat%% *}" != "$PPID" ] || exit 1
done`;

/** Whether none of the processes is a child of this one, ended or not. */
async function isChildless(pids: readonly string[]): Promise<boolean> {
  const args = ["-c", HAS_NO_CHILD, "sh", ...pids];
  return (await new Deno.Command("sh", { args }).output()).success;
}

/** A service's local engine and database, which can be stopped and started again. */
export class EngineFixture extends EngineService<LocalEngine> {
  readonly #options: Partial<LocalEngineOptions>;

  private constructor(folder: string, options: Partial<LocalEngineOptions>) {
    super(folder);
    this.#options = options;
  }

  /** Makes a data folder, and starts. */
  static async make(
    options: Partial<LocalEngineOptions> = {},
    folder?: string,
  ): Promise<EngineFixture> {
    const fixture = new EngineFixture(folder ?? await Deno.makeTempDir(), options);
    await fixture.begin();
    return fixture;
  }

  protected override makeEngine(parts: EngineParts): LocalEngine {
    return new LocalEngine({
      ...parts,
      projects: { checkout },
      clock: systemClock,
      settings: QUICK,
      ...this.#options,
    });
  }

  /** The work folder of an execution, prepared as an engine does before it starts the command. */
  async prepare(execution: Execution, layout?: Layout): Promise<WorkFolder> {
    const root = join(this.folder, "data", "executions");
    const folder = new WorkFolder(root, execution.id, layout);
    const remote = new RemoteFiles({
      cache: diskCache(join(this.folder, "cache")),
      clock: systemClock,
    });
    const { signal } = new AbortController();
    const logEvent = () => Promise.resolve();
    const openOutput = () => Promise.resolve(undefined);
    const sources = {
      ...{ store: this.store, clock: systemClock, remote, openOutput },
      ...{ signal, logEvent },
    };
    await setUpFolder(folder, execution, { sources, checkout });
    return folder;
  }

  /** Ends when what was let go is over, too: as a child of the tests' own process it is reaped here. */
  override async [Symbol.asyncDispose](): Promise<void> {
    await this.close(PATIENCE_MS);
    const executions = join(this.folder, "data", "executions");
    const pids: string[] = [];
    for await (const { name } of Deno.readDir(executions)) {
      const [pid] = textOf(join(executions, name, "control", "started")).split(" ");
      if (pid) pids.push(pid);
    }
    if (pids.length > 0) await until(() => isChildless(pids));
    await super[Symbol.asyncDispose]();
  }

  /** A path in an execution's work folder. */
  path(id: string, ...parts: string[]): string {
    return join(this.folder, "data", "executions", id, ...parts);
  }
}
