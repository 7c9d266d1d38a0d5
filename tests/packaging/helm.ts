/** Helm, which `.ci/run` builds, and the chart of this checkout. */
import { parseAllDocuments } from "yaml";

export const CHART = new URL("../../src/packaging/chart", import.meta.url).pathname;
/** The cluster that a chart is rendered for without one. */
const VERSION = "1.34";

export interface Ended {
  code: number;
  printed: string;
  told: string;
}

/** A Kubernetes object, as far as tests read it. */
export interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string };
  spec?: Record<string, unknown>;
  [field: string]: unknown;
}

/** Runs helm. Its home is a folder of its own when `env` says so. */
export async function helm(
  args: readonly string[],
  { input = "", env = {} }: { input?: string; env?: Record<string, string> } = {},
): Promise<Ended> {
  const process = new Deno.Command("sh", {
    args: [
      "-c",
      'PATH="$PATH:${XDG_CACHE_HOME:-$HOME/.cache}/hooklaunch/bin" exec helm "$@"',
      "sh",
      ...args,
    ],
    env,
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = process.stdin.getWriter();
  await writer.write(new TextEncoder().encode(input));
  await writer.close();
  const { code, stdout, stderr } = await process.output();
  const [printed = "", told = ""] = [stdout, stderr].map((bytes) =>
    new TextDecoder().decode(bytes)
  );
  return { code, printed, told };
}

/** Renders the chart for a release in the namespace "hooks". */
export async function template(values: Record<string, unknown>): Promise<Ended> {
  return await helm(
    ["template", "hooks", CHART, "--namespace", "hooks", "--kube-version", VERSION, "-f", "-"],
    { input: JSON.stringify(values) },
  );
}

/** Reads what helm has rendered. */
export function manifests(rendered: string): Manifest[] {
  // The form of all objects of Kubernetes.
  return parseAllDocuments(rendered).map((each) => each.toJS() as Manifest | null)
    .filter((each) => each !== null);
}
