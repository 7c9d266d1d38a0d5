/**
 * The parts of @platformatic/prom-client that are used here, each from its own file. The package's
 * main file also loads collectors for Node.js and for clusters.
 *
 * @module
 */
import type * as client from "@platformatic/prom-client";
import counter from "@platformatic/prom-client/lib/counter.js";
import gauge from "@platformatic/prom-client/lib/gauge.js";
import histogram from "@platformatic/prom-client/lib/histogram.js";
import registry from "@platformatic/prom-client/lib/registry.js";

/** A counter, which only rises. */
export const Counter: typeof client.Counter = counter;
/** A gauge, which rises and falls. */
export const Gauge: typeof client.Gauge = gauge;
/** A histogram of observed values. */
export const Histogram: typeof client.Histogram = histogram;
/** The registry that renders metrics as text. */
export const Registry: typeof client.Registry = registry;
