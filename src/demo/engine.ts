/**
 * The engine that the demo's steps run on: this machine, or a cluster that the caller names.
 *
 * @module
 */
import { parse, parseDocument } from "yaml";
import type { AgentAddress } from "../engines/remote/agent.ts";
import { engineKind } from "../engines/kinds.ts";
import { InvalidInputError, messageOf } from "../platform/errors.ts";
import type { ServiceSettings } from "../config/settings.ts";
import type { EXAMPLES } from "./examples.ts";

const LOCAL_WAIT_MS = 30_000;
/** A cluster may be busy. */
const CLUSTER_WAIT_MS = 15 * 60_000;

/** The engine of the demo's steps, and what follows from it. */
export interface DemoEngine {
  isLocal: boolean;
  /** The project's engine; undefined for the default. */
  settings?: Record<string, unknown>;
  /** The example that is shown unless another one is named. */
  example: keyof typeof EXAMPLES;
  /** The longest time of a step. */
  wait_ms: number;
  /** The ways in which the service is reached. */
  exposure: Pick<ServiceSettings, "host" | "dev" | "trustedProxies" | "agent">;
  /** Headers of the demo's own requests. */
  headers: Record<string, string>;
}

/**
 * Returns the engine that the options name.
 *
 * @param agent the address at which a cluster's jobs reach the demo
 * @throws {InvalidInputError} when a cluster is named, and its settings or the address are missing
 */
export function demoEngine(
  { engine: type, engineSettings }: { engine: string; engineSettings?: string },
  agent: AgentAddress | undefined,
): DemoEngine {
  const isLocal = engineKind(type).keepsFiles;
  const loopback = { host: "127.0.0.1", dev: true, trustedProxies: [] };
  if (isLocal) {
    const settings = engineSettings === undefined ? {} : { settings: read(type, engineSettings) };
    const common = { isLocal, example: "webhook" as const, wait_ms: LOCAL_WAIT_MS };
    return { ...common, ...settings, exposure: loopback, headers: {} };
  }
  if (engineSettings === undefined) {
    throw new InvalidInputError(
      `the setting --engine ${type}`,
      "Expected the cluster, found none: set --engine-settings, or HOOKLAUNCH_ENGINE_SETTINGS, to what a " +
        `project has as its engine, such as ${EXAMPLE[type]}`,
    );
  }
  if (agent === undefined) {
    throw new InvalidInputError(
      `the setting --engine ${type}`,
      "Expected the address at which jobs reach the demo, found none: set --agent-url to this machine as " +
        "the cluster sees it, such as --agent-url http://login1.example.com:8000 --agent-http",
    );
  }
  return {
    isLocal,
    settings: read(type, engineSettings),
    example: "pipeline",
    wait_ms: CLUSTER_WAIT_MS,
    // Over plain HTTP jobs come straight to the service. It admits nobody else so but the demo, as a proxy.
    ...(agent.http
      ? {
        exposure: { host: "0.0.0.0", dev: false, trustedProxies: ["127.0.0.1", "::1"], agent },
        headers: { "x-forwarded-proto": "https" },
      }
      : { exposure: { ...loopback, agent }, headers: {} }),
  };
}

/** The least settings of a cluster. */
const EXAMPLE: Readonly<Record<string, string>> = {
  slurm: `'{ url: "https://slurm.example.com:6820", user: me, token: "{env:SLURM_JWT}" }'`,
  kubernetes: `'{ namespace: ml, kubeconfig: /home/me/.kube/config }'`,
};

/** Returns a configuration file whose project runs on an engine. */
export function onEngine(config: string, { settings }: DemoEngine): string {
  if (settings === undefined) return config;
  const document = parseDocument(config);
  document.setIn(["projects", 0, "engine"], settings);
  return String(document);
}

function read(type: string, text: string): Record<string, unknown> {
  const refuse = (found: string) =>
    new InvalidInputError(
      "the setting --engine-settings",
      `Expected a YAML mapping, such as ${EXAMPLE[type] ?? "'{ runner: docker }'"}, ${found}`,
    );
  let settings: unknown;
  try {
    settings = parse(text);
  } catch (error) {
    throw refuse(messageOf(error));
  }
  if (typeof settings !== "object" || settings === null || Array.isArray(settings)) {
    throw refuse(`found ${JSON.stringify(settings)}`);
  }
  return { ...settings, type };
}
