/**
 * The limits of time by which instances that share a database judge each other.
 *
 * @module
 */

/** Time without a change of its record after which an instance counts as gone. */
export const GONE_MS = 15_000;
/** An instance whose clock is further from the leader's does not serve. */
export const CLOCK_DIFFERENCE_MAX_MS = 1_000;
/** The largest difference between the clocks of two instances that serve. */
export const CLOCK_SPREAD_MAX_MS = 2 * CLOCK_DIFFERENCE_MAX_MS;
