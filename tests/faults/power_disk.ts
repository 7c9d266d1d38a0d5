/**
 * A disk of its own, in a file, whose power can be cut.
 *
 * @module
 */
import { join } from "node:path";

/** Kills the processes whose folder is on the disk: they do not survive a power cut. */
const END_PROCESSES = `for p in /proc/[0-9]*; do
  case "$(readlink "$p/cwd")" in "$1"|"$1"/*) kill -KILL "\${p#/proc/}" 2>/dev/null;; esac
done; true`;
/**
 * A process that was killed holds the disk for another moment, and one that was begun while others were being killed
 * is killed with the next try.
 */
const UNMOUNT = `for i in $(seq 300); do
  ${END_PROCESSES}
  umount "$1" 2>/dev/null && exit; sleep 0.1
done; umount "$1"`;

/**
 * Where another namespace of mounts, such as a container's that starts just then, still has the disk, it is
 * as after the cut: nothing can be written to it.
 */
const MOUNT_ANEW = `for i in $(seq 300); do
  mount -o loop "$2" "$1" && touch "$1" 2>/dev/null && exit
  umount "$1"; sleep 0.2
done; exit 1`;

/** An ext4 file system on a loop device. It is taken away at the end of its scope. */
export class PowerDisk implements AsyncDisposable {
  /** The folder at which it is mounted. */
  readonly path: string;
  readonly #image: string;

  private constructor(folder: string) {
    this.path = join(folder, "disk");
    this.#image = join(folder, "image");
  }

  /** Makes a disk within a folder. */
  static async make(folder: string, size_mib = 64): Promise<PowerDisk> {
    const disk = new PowerDisk(folder);
    const script = 'mkdir "$1"; truncate -s "$3M" "$2"; mkfs.ext4 -q "$2"; mount -o loop "$2" "$1"';
    await sh(script, [disk.path, disk.#image, String(size_mib)]);
    return disk;
  }

  /** Cuts the power: what is not written to the disk yet is lost, and nothing can be written any more. */
  async cut(): Promise<void> {
    await sh('xfs_io -x -c shutdown "$1"', [this.path]);
  }

  /** Brings the disk back, as it is after a cut. The processes that work on it are gone then. */
  async bringBack(): Promise<void> {
    await sh(UNMOUNT, [this.path]);
    await sh(MOUNT_ANEW, [this.path, this.#image]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await sh(UNMOUNT, [this.path]);
  }
}

async function sh(script: string, args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command("sh", {
    args: ["-c", `PATH="$PATH:/usr/sbin:/sbin"; ${script}`, "sh", ...args],
    stdout: "null",
    stderr: "piped",
  }).output();
  if (!success) throw new Error(`Cannot run "${script}": ${new TextDecoder().decode(stderr)}`);
}
