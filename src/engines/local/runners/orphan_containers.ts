/**
 * Containers that could not be removed when their executions ended, such as because the engine was being
 * restarted: they are when the service starts.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { join } from "node:path";
import { messageOf } from "../../../platform/errors.ts";
import { exists } from "../../../platform/files/missing_file.ts";
import { getExecutions, hasEnded } from "../../../store/records/executions.ts";
import type { Store } from "../../../store/store.ts";
import { OWNER_LABEL } from "./container_arguments.ts";
import { callContainers } from "./container_cli.ts";
import { CONTAINER_PROGRAMS, type ContainerProgram } from "./container_program.ts";

const NAME = /^hooklaunch-([0-9a-f-]{36})(-[0-9a-f]{8})?(-owner)?$/;
const AT_ONCE = 50;

const log = getLogger(["hooklaunch", "engine"]);

interface OrphanOptions {
  store: Store;
  /** The folder of all executions. */
  root: string;
  /** Aborted when the service stops. */
  signal: AbortSignal;
}

/** Removes the containers of executions that have ended. Never rejects. */
export async function removeOrphanContainers(options: OrphanOptions): Promise<void> {
  await Promise.all(CONTAINER_PROGRAMS.map(async (program) => {
    try {
      if (await wasUsed(options.root, program)) await removeOf(program, options);
    } catch (error) {
      if (options.signal.aborted) return;
      const { name } = program;
      log.warn("Cannot look for containers that were left behind: {error}", {
        program: name,
        error: messageOf(error),
      });
    }
  }));
}

/** Remembers that there may be containers of a program's. */
export async function markAsUsed(root: string, { name }: ContainerProgram): Promise<void> {
  await Deno.writeTextFile(join(root, `.${name}`), "");
}

async function wasUsed(root: string, { name }: ContainerProgram): Promise<boolean> {
  return await exists(join(root, `.${name}`));
}

async function removeOf(
  program: ContainerProgram,
  { store, root, signal }: OrphanOptions,
): Promise<void> {
  const options = { cwd: root, signal };
  const filter = `--filter=label=${OWNER_LABEL}=${root}`;
  const list = ["ps", "--all", filter, "--format={{.Names}}"];
  const { stdout } = await callContainers(program, list, options);
  const names = stdout.split("\n").filter((name) => NAME.test(name));
  const idOf = (name: string) => name.match(NAME)?.[1] ?? "";
  for (let start = 0; start < names.length; start += AT_ONCE) {
    const some = names.slice(start, start + AT_ONCE);
    const executions = await getExecutions(store, some.map(idOf));
    const open = new Set(executions.filter(({ status }) => !hasEnded(status)).map(({ id }) => id));
    const left = some.filter((name) => !open.has(idOf(name)));
    if (left.length === 0) continue;
    log.info("Removing {count} containers that were left behind", { count: left.length });
    await callContainers(program, ["rm", "--force", "--volumes", ...left], options);
  }
}
