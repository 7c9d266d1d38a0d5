/**
 * The launches that an instance may accept while the leader's runs are behind. The leader tells with each beat
 * how many: as many as runs have ended since the one before, in equal parts for all instances.
 *
 * @module
 */
import type { Instances } from "../store/commit/instances.ts";

/** Counts an instance's launches against its room. */
export class Allowance {
  readonly #instances: Pick<Instances, "room">;
  #beat = -1;
  #taken = 0;

  constructor(instances: Pick<Instances, "room">) {
    this.#instances = instances;
  }

  /** Notes a launch that is being stored, or with -1 one that was not accepted. */
  take(count: 1 | -1): void {
    this.#taken += count;
  }

  /** True while further launches should wait for the leader's next beat. */
  get isUsedUp(): boolean {
    const { room } = this.#instances;
    if (room === undefined) return false;
    if (room.beat !== this.#beat) {
      this.#beat = room.beat;
      this.#taken = 0;
    }
    return this.#taken >= room.launches;
  }
}
