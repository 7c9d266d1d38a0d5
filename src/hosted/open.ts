/**
 * Opens the service of a hosted process.
 *
 * @module
 */
import { systemClock } from "../platform/clock.ts";
import type { ServiceSettings } from "../config/settings.ts";
import { Service } from "../service/service.ts";
import type { Handler } from "../service/runtime.ts";
import type { Peer } from "../http/peer.ts";
import { applyConfiguration, type Configuration } from "./configuration.ts";
import { hostedRuntime } from "./runtime.ts";

/** A service that is open, and what answers requests. */
export interface OpenService {
  service: Service;
  handler: Handler;
}

interface OpenOptions {
  /** The address of the request for which it opens; empty where it is a cron. */
  origin: string;
  env(name: string): string | undefined;
  configuration: Configuration | undefined;
  peerOf(request: Request, address: Deno.NetAddr): Peer;
  /** Counts a request of another instance as under way until the result is disposed of. */
  begin(): Disposable;
}

/** Opens the service. */
export async function openHosted(
  settings: ServiceSettings,
  { origin, env, configuration, peerOf, begin }: OpenOptions,
): Promise<OpenService> {
  let handler: Handler | undefined;
  const runtime = hostedRuntime({ onHandler: (each) => handler = each, peerOf, begin });
  const publicUrl = settings.publicUrl ?? (origin === "" ? undefined : origin);
  const service = await Service.start(
    { ...settings, ...(publicUrl === undefined ? {} : { publicUrl }) },
    { clock: systemClock, env, runtime },
    async (parts) => {
      if (configuration !== undefined) await applyConfiguration(configuration, parts);
    },
  );
  if (handler === undefined) {
    throw new TypeError("Cannot answer requests: the service does not listen");
  }
  return { service, handler };
}
