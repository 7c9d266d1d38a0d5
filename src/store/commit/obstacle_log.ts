/**
 * Tells the log when an instance ceases to accept launches, and when it goes on.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";

const log = getLogger(["hooklaunch", "store"]);

/** Tells the log of changes. */
export class ObstacleLog {
  /** True once the instance has accepted launches. */
  hasServed = false;
  /** The kind of obstacle that was told last, while there is one. */
  #told: string | undefined;

  /** Notes the reason why the instance accepts no launches now; undefined where it does. */
  note(obstacle: string | undefined): void {
    // Its figures change all the time.
    const kind = obstacle?.replaceAll(/\d+/g, "");
    if (obstacle === undefined) {
      if (this.hasServed && this.#told !== undefined) log.info("Serving again");
      this.hasServed = true;
    } else if (kind !== this.#told) {
      if (this.hasServed) log.warn("Not serving: {reason}", { reason: obstacle });
      else log.info("Not serving yet: {reason}", { reason: obstacle });
    }
    this.#told = kind;
  }
}
