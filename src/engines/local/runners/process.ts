/**
 * Runs a command as processes of this machine, in a session of their own. They have the rights of the
 * service's user.
 *
 * @module
 */
import { hasShebang } from "../../../projects/format/command/command.ts";
import { readMark } from "../control_files.ts";
import { PROCESS_LAYOUT } from "../layout.ts";
import { type OnSessionOver, startProcessGroup } from "../process_group.ts";
import { folderUse, killSessions, type Machine } from "../processes.ts";
import { findAgain, isSameBoot } from "../recovery.ts";
import type { CommandHandle, Found, Job, Runner } from "./runner.ts";

/** Runs commands as processes. */
export class ProcessRunner implements Runner {
  readonly layout = PROCESS_LAYOUT;
  readonly #parts: { machine: Machine; onSessionOver: OnSessionOver };

  constructor(parts: { machine: Machine; onSessionOver: OnSessionOver }) {
    this.#parts = parts;
  }

  start({ execution, folder, streamBytesMax }: Job): Promise<CommandHandle> {
    const { shell } = this.#parts.machine;
    const options = { shell: hasShebang(execution.command) ? "" : shell, streamBytesMax };
    return Promise.resolve(startProcessGroup(folder, options, this.#parts));
  }

  find({ execution, folder }: Job): Promise<Found> {
    return findAgain(execution, folder, this.#parts);
  }

  async clear({ execution, folder }: Job): Promise<void> {
    // Of an earlier start of the machine there is nothing left, and its process ids are others' now.
    if (!isSameBoot(execution, this.#parts.machine)) return;
    const mark = readMark(folder);
    if (mark) await killSessions([mark.pid]);
  }

  async diskUse_mb({ folder, signal }: Job): Promise<number> {
    return (await folderUse(folder.path, signal)).mb;
  }
}
