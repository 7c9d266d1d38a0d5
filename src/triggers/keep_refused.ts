/**
 * The time for which a trigger keeps the requests that it refuses. This file loads no schema: the service
 * needs it at its start.
 *
 * @module
 */

/** The longest time for which requests are kept. */
export const KEEP_TIME_MAX = "30d";
