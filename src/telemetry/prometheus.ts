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

/** Makes a registry in the format of OpenMetrics. A histogram with exemplars is made in no other one. */
export function openRegistry(): client.Registry<client.OpenMetricsContentType> {
  const open = new Registry<client.OpenMetricsContentType>();
  open.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  return open;
}

/**
 * Makes a registry that shows the metrics of another one in the format of OpenMetrics, which has exemplars. The
 * package renames the counters of such a registry, so that one registry cannot show both formats.
 */
export function openMetricsOf(
  shown: InstanceType<typeof client.Registry>,
): client.Registry<client.OpenMetricsContentType> {
  const open = openRegistry();
  for (const { name } of shown.getMetricsAsArray()) {
    const metric = shown.getSingleMetric(name);
    if (metric !== undefined) open.registerMetric(renamed(metric, name.replace(/_total$/, "")));
  }
  return open;
}

/** Returns a counter without its ending: the registry adds it to the samples, which alone have it. */
function renamed(metric: client.Metric, name: string): client.Metric {
  return new Proxy(metric, {
    get(target, field) {
      if (field === "name") return name;
      if (field === "get") return async () => ({ ...await target.get(), name });
      return Reflect.get(target, field);
    },
  });
}
