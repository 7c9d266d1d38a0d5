/**
 * Claims of pending runs that other instances have accepted. The leader claims them before it performs them,
 * and an instance before it names one to a sender that repeats a delivery. A launch whose sender has gone is
 * withdrawn, and never once its run was claimed. Either checks and rewrites the mark of the accepting
 * instance: up to which commit its runs are claimed.
 *
 * @module
 */
import type { Guard } from "./change.ts";
import type { Intake } from "./committer.ts";
import { keys } from "../keys.ts";

/** The mark of one instance. */
export class ClaimMark implements Guard {
  readonly key: Deno.KvKey;
  versionstamp: string | null;
  value: string;
  /** False when it must be read again. */
  isLoaded = true;

  readonly #kv: Deno.Kv;

  constructor(
    kv: Deno.Kv,
    instanceId: string,
    { value, versionstamp }: { value: string; versionstamp: string },
  ) {
    this.#kv = kv;
    this.key = keys.claimed(instanceId);
    this.value = value;
    this.versionstamp = versionstamp;
  }

  /** Reads the mark again. */
  async load(): Promise<void> {
    const { value, versionstamp } = await this.#kv.get<string>(this.key);
    this.value = value ?? "";
    this.versionstamp = versionstamp;
    this.isLoaded = true;
  }

  stored(versionstamp: string): void {
    this.versionstamp = versionstamp;
  }

  invalidate(): void {
    this.isLoaded = false;
  }
}

/**
 * Claims what an instance has accepted up to a commit: nothing of it is withdrawn any more.
 *
 * @param mark as it was before what is claimed was read
 * @returns false when some of it may have been withdrawn meanwhile
 */
export async function claimUpTo(
  intake: Pick<Intake, "commit">,
  mark: ClaimMark,
  versionstamp: string,
): Promise<boolean> {
  if (versionstamp <= mark.value) return true;
  mark.value = versionstamp;
  let isDecided = false;
  await intake.commit({
    guards: [mark],
    writes: () => {
      isDecided = mark.isLoaded;
      // The commit rewrites the mark, once there is something to store.
      return isDecided ? [{ key: mark.key, value: versionstamp }] : [];
    },
  });
  return isDecided;
}

/** Reads the marks of all instances. */
export async function claimMarks(kv: Deno.Kv): Promise<Map<string, ClaimMark>> {
  const marks = new Map<string, ClaimMark>();
  for await (const { key, value, versionstamp } of kv.list<string>({ prefix: ["claimed"] })) {
    const id = String(key[1]);
    marks.set(id, new ClaimMark(kv, id, { value, versionstamp }));
  }
  return marks;
}
