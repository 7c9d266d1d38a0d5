/**
 * The parts of @platformatic/prom-client that are used here, each from its own file: the package as a whole loads
 * what gathers metrics of Node.js and of clusters, too.
 *
 * @module
 */
import type * as client from "@platformatic/prom-client";
import counter from "@platformatic/prom-client/lib/counter.js";
import gauge from "@platformatic/prom-client/lib/gauge.js";
import histogram from "@platformatic/prom-client/lib/histogram.js";
import registry from "@platformatic/prom-client/lib/registry.js";

/** A number that only rises. */
export const Counter: typeof client.Counter = counter;
/** A number that rises and falls. */
export const Gauge: typeof client.Gauge = gauge;
/** Numbers by how large they are. */
export const Histogram: typeof client.Histogram = histogram;
/** What makes the text of metrics. */
export const Registry: typeof client.Registry = registry;
