/**
 * The records of pipelines: the plan, which never changes after the launch, and the state of each node.
 *
 * @module
 */
import type { Change, Write } from "../commit/change.ts";
import type { Retry } from "./execution_record.ts";
import type { InputFile } from "./executions.ts";
import { keys } from "../keys.ts";
import type { Launched } from "./launchers.ts";
import { isUndecodable, logDamage, scan } from "../read/scan.ts";
import {
  type Listed,
  listNewest,
  listOldestEnded,
  type OldestEnded,
  type Page,
  recordOf,
} from "../read/lists.ts";
import { CHUNK_BYTES } from "./payloads.ts";
import type { EngineSettings } from "./projects.ts";
import { RECORD_BYTES_MAX, recordBytes, recordWrite } from "./record_size.ts";
import type { Store } from "../store.ts";

/** The statuses of a pipeline. The last three are ends. */
export const PIPELINE_STATUSES = [
  "created",
  "started",
  "stopping",
  "stopped",
  "error",
  "complete",
] as const;

/** The status of a pipeline. */
export type PipelineStatus = typeof PIPELINE_STATUSES[number];

/**
 * The statuses of a node. `created` waits for other nodes, `awaiting_approval` for an operator. `skipped` is
 * the end of a node that cannot run because of another one.
 */
export const NODE_STATUSES = [
  "created",
  "awaiting_approval",
  "started",
  "stopping",
  "stopped",
  "error",
  "complete",
  "skipped",
] as const;

/** The status of a node. */
export type NodeStatus = typeof NODE_STATUSES[number];

/** Returns true for the statuses of a pipeline that has ended. */
export function hasPipelineEnded(status: PipelineStatus): boolean {
  return status === "stopped" || status === "error" || status === "complete";
}

/** The state of one node of a pipeline. */
export interface NodeState {
  name: string;
  step: string;
  status: NodeStatus;
  /** The execution that it has launched last, or has taken over from an earlier pipeline. */
  execution_id?: string;
  /** Set when the execution was launched by an earlier pipeline. */
  reused?: true;
  /** Number of executions that it has launched. */
  attempts: number;
  /** The approval that it waits for, or that it got. */
  approval?: { when: "node-starting" | "node-complete"; approved_at?: string };
  /** The reason why it did not complete. */
  reason?: string;
}

/** One launch of a pipeline and how far it is. All times are RFC 3339. */
export interface Pipeline extends Launched {
  id: string;
  run_id: string;
  trigger_id: string;
  project: string;
  /** The engine of its executions, as the project said when it was launched. Earlier versions did not store it. */
  engine?: EngineSettings;
  /** A commit's full hash, or `~` and a hash for the snapshot of a plain folder. */
  commit: string;
  /** The name that it has in the project configuration file. */
  name: string;
  title: string;
  /** The pipeline that it is a copy of. */
  copy_of?: string;
  status: PipelineStatus;
  /** The status that it ends with once its running nodes have ended; set when that is decided. */
  ending?: "stopped" | "error";
  created_at: string;
  ended_at?: string;
  /** The cause of its end, unless it is complete. */
  reason?: string;
  /** The trace context of its launch. */
  traceparent?: string;
  /** In the order of the plan. */
  nodes: NodeState[];
}

/** The plan of a pipeline, as it was at its launch. */
export interface PipelinePlan {
  nodes: PlannedNode[];
  edges: PlannedEdge[];
  reuse_executions: boolean;
  /** It takes no results of earlier pipelines, and leaves its own to later ones: an operator's copy. */
  fresh?: true;
  /** The executions of the pipeline that this one retries: nodes with the same work take their results. */
  kept?: { node: string; execution_id: string }[];
  /** The values of the pipeline's parameters. */
  parameters: Record<string, unknown>;
  /** The parameters of nodes that each of them sets; earlier versions did not store them. */
  targets?: Record<string, PlannedTarget[]>;
  /** The metadata that the executions have at their start. */
  metadata?: Record<string, unknown>;
  /** The rule by which the executions are tried again. */
  retry?: Retry;
}

/** A parameter of a node that a parameter of its pipeline sets. */
interface PlannedTarget {
  node: string;
  parameter: string;
}

/** A node of a plan. */
export interface PlannedNode {
  name: string;
  /** The commit that its step was read at. */
  commit: string;
  /** The step with the node's override, as the project configuration file would have it. */
  step: Record<string, unknown>;
  /** Values that take the place of the step's own defaults. */
  parameters: Record<string, unknown>;
  /** Files in place of an input's default files, such as the payload. */
  inputs: Record<string, InputFile[]>;
  actions: { when: string; if: string[]; then: string }[];
  on_error: "stop-all" | "stop-next" | "continue" | "retry";
  edge_merge_mode: "replace" | "append";
}

/** An edge of a plan. */
export interface PlannedEdge {
  source: { node: string; type: string; key: string };
  target: { node: string; type: string; key: string };
}

/** Limit of a plan as JSON. */
const PLAN_BYTES_MAX = 600 * 1024;
/** Room that is kept for what comes into a pipeline's record while it runs, but for its nodes' reasons. */
const PROGRESS_BYTES = 4 * 1024;
const NODE_PROGRESS_BYTES = 256;
/** Limits of each node's reason, tried one after the other until the record fits. */
const REASON_LENGTHS = [200, 100, 50, 0];

/**
 * The writes that make a pipeline.
 *
 * @throws {RangeError} when it is too large to be stored
 */
export function createPipelineWrites(pipeline: Pipeline, plan: PipelinePlan): Write[] {
  const bytes = new TextEncoder().encode(JSON.stringify(plan));
  if (bytes.length > PLAN_BYTES_MAX) {
    throw new RangeError(
      `Cannot store pipeline ${pipeline.id}: its plan has ${bytes.length} bytes, ` +
        `at most ${PLAN_BYTES_MAX} fit`,
    );
  }
  const recordMax = RECORD_BYTES_MAX - PROGRESS_BYTES - NODE_PROGRESS_BYTES * plan.nodes.length;
  const record = recordBytes(pipeline);
  if (record > recordMax) {
    throw new RangeError(
      `Cannot store pipeline ${pipeline.id}: its record has ${record} bytes, at most ${recordMax} ` +
        `fit with ${plan.nodes.length} nodes: give it fewer, or shorter names`,
    );
  }
  const chunks: Write[] = [];
  for (let start = 0; start < bytes.length; start += CHUNK_BYTES) {
    const value = bytes.slice(start, start + CHUNK_BYTES);
    const key = keys.pipelinePlan(pipeline.id, chunks.length);
    chunks.push({ key, value, bytes: value.length + 64 });
  }
  return [...chunks, ...pipelineWrites(pipeline)];
}

/** The writes that store how far a pipeline is and keep the list of open ones true. */
export function pipelineWrites(pipeline: Pipeline): Write[] {
  const open: Write = { key: keys.pipelineOpen(pipeline.id) };
  if (!hasPipelineEnded(pipeline.status)) open.value = true;
  return [recordWrite(keys.pipeline(pipeline.id), withShortReasons(pipeline)), open];
}

/** A pipeline with its nodes' reasons as long as its record has room for: it ends, whatever they say. */
function withShortReasons(pipeline: Pipeline): Pipeline {
  let fitting = pipeline;
  for (const length of REASON_LENGTHS) {
    const nodes = pipeline.nodes.map((node) =>
      node.reason === undefined ? node : { ...node, reason: node.reason.slice(0, length) }
    );
    fitting = { ...pipeline, nodes };
    if (recordBytes(fitting) <= RECORD_BYTES_MAX) break;
  }
  return fitting;
}

/** A change that stores how far a pipeline is when the commit is put together. */
export function savePipeline(pipeline: Pipeline): Change {
  return { writes: () => pipelineWrites(pipeline) };
}

/** The writes that remove an ended pipeline. */
export function removePipelineWrites(id: string): Write[] {
  const chunks = Math.ceil(PLAN_BYTES_MAX / CHUNK_BYTES);
  return [
    ...Array.from({ length: chunks }, (_, index) => ({ key: keys.pipelinePlan(id, index) })),
    { key: keys.pipeline(id) },
  ];
}

/** Reads a pipeline; undefined when there is none of this id, or it is damaged. */
export async function getPipeline(store: Store, id: string): Promise<Pipeline | undefined> {
  const key = keys.pipeline(id);
  const value = await store.reads.read(key);
  return value === null ? undefined : recordOf<Pipeline>({ key, value });
}

/** Reads a pipeline's plan; undefined when there is none of this id, or it is damaged. */
export async function getPlan(store: Store, id: string): Promise<PipelinePlan | undefined> {
  const prefix = ["pipeline_plan", id];
  const decoder = new TextDecoder();
  let json = "";
  try {
    for await (const { value } of store.kv.list<Uint8Array>({ prefix })) {
      json += decoder.decode(value, { stream: true });
    }
    return json === "" ? undefined : JSON.parse(json);
  } catch (error) {
    // No JSON, no bytes, or no value at all.
    const isDamaged = error instanceof SyntaxError || error instanceof TypeError;
    if (!isDamaged && !isUndecodable(error)) throw error;
    logDamage(prefix);
    return undefined;
  }
}

/** The ids of the pipelines that have not ended, oldest first. */
export async function openPipelines(store: Store): Promise<string[]> {
  const ids: string[] = [];
  for await (const { key } of scan(store.kv, ["pipeline_open"])) {
    ids.push(String(key[1]));
  }
  return ids;
}

/** One page of all pipelines, newest first. */
export function listPipelines(store: Store, page: Page): Promise<Listed<Pipeline>> {
  return listNewest(store, ["pipeline"], page);
}

/**
 * The ended ones among the oldest pipelines that were made before a time.
 *
 * @param after look only behind this id; the `next` of the call before
 */
export function endedPipelinesMadeBefore(
  store: Store,
  before_ms: number,
  page: { after?: string | undefined; limit: number },
): Promise<OldestEnded<Pipeline>> {
  return listOldestEnded<Pipeline>(store, "pipeline", { before_ms, ...page }, hasPipelineEnded);
}
