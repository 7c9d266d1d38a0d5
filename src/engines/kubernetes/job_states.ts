/**
 * The states of jobs, as their pods and Job objects tell them.
 * https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/
 *
 * @module
 */
import type { Seen } from "../remote/backend.ts";
import { JOB_LABEL } from "./job_object.ts";
import { AGENT, MAIN } from "./pod_template.ts";

/** The state of a container, of which one part is set. */
interface ContainerState {
  waiting?: { reason?: string; message?: string };
  running?: { startedAt?: string };
  terminated?: { reason?: string; message?: string; exitCode?: number };
}

/** The status of a container. */
interface ContainerStatus {
  name: string;
  state?: ContainerState;
  lastState?: ContainerState;
}

/** A condition of a pod or a Job. */
interface Condition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
}

/** The part of a pod that tells its state. */
export interface Pod {
  metadata: {
    name: string;
    labels?: Record<string, string>;
    creationTimestamp?: string;
    deletionTimestamp?: string;
  };
  spec?: { nodeName?: string };
  status?: {
    phase?: string;
    reason?: string;
    message?: string;
    conditions?: Condition[];
    containerStatuses?: ContainerStatus[];
    initContainerStatuses?: ContainerStatus[];
  };
}

/** The part of a Job that tells its state. */
export interface Job {
  metadata: { name: string; labels?: Record<string, string> };
  spec?: { suspend?: boolean };
  status?: { conditions?: Condition[] };
}

/** Reasons of pods whose node or cluster ended them. */
const LOST_REASONS: readonly unknown[] = [
  "Evicted",
  "NodeLost",
  "NodeShutdown",
  "Shutdown",
  "Terminated",
  "Preempting",
  "UnexpectedAdmissionError",
  "OutOfcpu",
  "OutOfmemory",
];
const OOM = "OOMKilled";
/** The exit codes of an agent's container that ends by itself. */
const OWN_EXITS: readonly unknown[] = [0, 1];
/** Reasons of waiting containers that are no trouble. */
const USUAL_WAITS: readonly unknown[] = [undefined, "PodInitializing", "ContainerCreating"];

/**
 * Returns the pod that counts of each job. Of several of one name it is the newest: the cluster is removing the
 * others.
 */
export function podsByJob(pods: readonly Pod[]): Map<string, Pod> {
  const found = new Map<string, Pod>();
  for (const pod of pods) {
    const { labels, creationTimestamp = "" } = pod.metadata;
    const name = labels?.[JOB_LABEL] ?? "";
    // RFC 3339 in UTC sorts by time.
    if (creationTimestamp >= (found.get(name)?.metadata.creationTimestamp ?? "")) {
      found.set(name, pod);
    }
  }
  return found;
}

/** Returns the state of a job that has a pod. */
export function seenOfPod(pod: Pod): Seen {
  const { phase = "Pending", conditions = [] } = pod.status ?? {};
  const isOver = phase === "Failed" || phase === "Succeeded";
  const main = statusOf(pod, MAIN)?.state;
  if (isOver || main?.terminated !== undefined) return endOf(pod, isOver);
  const disruption = disruptionOf(pod);
  if (isNodeSilent(pod)) {
    return { kind: "unknown", detail: `its node ${pod.spec?.nodeName} does not answer` };
  }
  if (main?.running !== undefined) {
    return { kind: "running", ...(disruption === undefined ? {} : { detail: disruption }) };
  }
  const scheduled = trueOr(conditions, "PodScheduled");
  const detail = disruption ?? scheduled ?? containerTrouble(pod);
  return { kind: "pending", ...(detail === undefined ? {} : { detail }) };
}

/** Returns the state of a job that has no pod. */
export function seenOfJob({ spec = {}, status = {} }: Job, queue: string | undefined): Seen {
  const failed = isTrue(status.conditions, "Failed");
  if (failed?.reason === "DeadlineExceeded") {
    return { kind: "ended", reason: sentence(failed.reason, failed.message) };
  }
  if (failed !== undefined) {
    // Its pod is gone: it was deleted, or its node was.
    return {
      kind: "ended",
      reason: `its pod is gone: ${sentence(failed.reason, failed.message)}`,
      isLost: true,
    };
  }
  if (isTrue(status.conditions, "Complete")) return { kind: "ended", reason: "its pod is gone" };
  if (!spec.suspend) return { kind: "pending", detail: "the Job has no pod yet" };
  const where = queue === undefined ? "" : `: it waits for the queue "${queue}" of Kueue`;
  return { kind: "pending", detail: `the Job is suspended${where}` };
}

/** Returns the end of a pod whose command's container has ended. */
function endOf(pod: Pod, isOver: boolean): Seen {
  const { status = {} } = pod;
  const main = statusOf(pod, MAIN)?.state?.terminated;
  const agent = statusOf(pod, AGENT);
  const end = (reason: string, isLost = false): Seen => ({
    kind: "ended",
    reason,
    ...(isLost ? { isLost } : {}),
    ...(isOver ? { isOver } : {}),
  });
  const disruption = disruptionOf(pod);
  if (main?.reason === OOM) {
    return end("OOMKilled: the command took more memory than its limit");
  }
  if (disruption !== undefined) return end(disruption, true);
  if (status.reason !== undefined) {
    return end(sentence(status.reason, status.message), LOST_REASONS.includes(status.reason));
  }
  const killed = agent?.state?.terminated;
  if (killed !== undefined && !OWN_EXITS.includes(killed.exitCode) && killed.reason !== OOM) {
    return end(`its node ended the pod with its agent: ${containerEnd(killed)}`, true);
  }
  const restarted = agent?.lastState?.terminated;
  if (restarted !== undefined) {
    return end(`the agent's container has ended: ${containerEnd(restarted)}`);
  }
  if (main !== undefined) return end(`the command's container has ended: ${containerEnd(main)}`);
  return end(`the phase of its pod is ${status.phase}`);
}

function containerEnd(
  { reason = "no reason", message, exitCode }: NonNullable<ContainerState["terminated"]>,
): string {
  const code = exitCode === undefined ? "" : ` (exit code ${exitCode})`;
  return `${sentence(reason, message)}${code}`;
}

/** Returns the reason for which a pod is ended from outside; undefined when it is not. */
function disruptionOf({ metadata, status = {} }: Pod): string | undefined {
  const disruption = isTrue(status.conditions, "DisruptionTarget");
  if (disruption !== undefined) return sentence(disruption.reason, disruption.message);
  return metadata.deletionTimestamp === undefined ? undefined : "its pod was deleted";
}

/**
 * Returns true for a pod whose node does not answer: the cluster's controller has set it to be unready, and not
 * the kubelet, which would name the containers.
 */
function isNodeSilent({ status = {} }: Pod): boolean {
  const { phase, conditions = [] } = status;
  if (phase === "Unknown") return true;
  const ready = conditions.find(({ type }) => type === "Ready");
  return phase === "Running" && ready?.status === "False" &&
    isTrue(conditions, "ContainersReady") !== undefined;
}

function containerTrouble(pod: Pod): string | undefined {
  const { initContainerStatuses = [], containerStatuses = [] } = pod.status ?? {};
  for (
    const { name, state: { waiting } = {} } of [...initContainerStatuses, ...containerStatuses]
  ) {
    if (waiting === undefined || USUAL_WAITS.includes(waiting.reason)) continue;
    const whose = name === MAIN ? "" : ` (container ${name})`;
    return `${sentence(waiting.reason, waiting.message)}${whose}`;
  }
  return undefined;
}

function statusOf({ status = {} }: Pod, name: string): ContainerStatus | undefined {
  const { initContainerStatuses = [], containerStatuses = [] } = status;
  return [...initContainerStatuses, ...containerStatuses].find((each) => each.name === name);
}

function isTrue(conditions: readonly Condition[] = [], type: string): Condition | undefined {
  return conditions.find((condition) => condition.type === type && condition.status === "True");
}

/** Returns what a condition says that should be true, and is not. */
function trueOr(conditions: readonly Condition[], type: string): string | undefined {
  const condition = conditions.find((each) => each.type === type);
  if (condition === undefined || condition.status === "True") return undefined;
  return sentence(condition.reason, condition.message);
}

function sentence(reason = "no reason", message = ""): string {
  return message === "" || message === reason ? reason : `${reason}: ${message}`;
}
