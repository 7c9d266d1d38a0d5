/**
 * Runs a command as processes of this machine, in a session of their own. They have the rights of the
 * service's user.
 *
 * @module
 */
import { hasShebang } from "../../../projects/format/command.ts";
import { readMark } from "../control_files.ts";
import { PROCESS_LAYOUT } from "../layout.ts";
import { type LeftBehind, startLeader } from "../process_group.ts";
import { folderUse, killLeftovers, type Machine } from "../processes.ts";
import { findAgain, isSameBoot } from "../recovery.ts";
import type { Found, Job, Leader, Runner } from "./runner.ts";

/** Runs commands as processes. */
export class ProcessRunner implements Runner {
  readonly layout = PROCESS_LAYOUT;
  readonly #parts: { machine: Machine; leftBehind: LeftBehind };

  constructor(parts: { machine: Machine; leftBehind: LeftBehind }) {
    this.#parts = parts;
  }

  start({ execution, folder, streamBytesMax }: Job): Promise<Leader> {
    const { machine: { shell, beginSession }, leftBehind } = this.#parts;
    const options = { shell: hasShebang(execution.command) ? "" : shell, streamBytesMax };
    return Promise.resolve(startLeader(folder, options, { beginSession, leftBehind }));
  }

  find({ execution, folder }: Job): Promise<Found> {
    return findAgain(execution, folder, this.#parts);
  }

  async clear({ execution, folder }: Job): Promise<void> {
    // Of an earlier start of the machine there is nothing left, and its process ids are others' now.
    if (!isSameBoot(execution, this.#parts.machine)) return;
    const mark = readMark(folder);
    if (mark) await killLeftovers([mark.pid]);
  }

  async diskUse_mb({ folder, signal }: Job): Promise<number> {
    return (await folderUse(folder.path, signal)).mb;
  }
}
