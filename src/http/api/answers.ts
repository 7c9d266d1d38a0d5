/**
 * What the API answers, for its description alone: no answer is checked while the service runs. The types
 * are those of the code that makes the answers, and a schema that is not exactly of its type does not
 * compile.
 *
 * @module
 */
import { z } from "zod";
import type { LogLine } from "../../engines/engine.ts";
import type { FetchResult } from "../../projects/projects.ts";
import { projectSchema } from "../../config/project.ts";
import { EXECUTION_STATUSES, type InputFile } from "../../store/records/executions.ts";
import { NODE_STATUSES, type NodeState, PIPELINE_STATUSES } from "../../store/records/pipelines.ts";
import { type Run, RUN_STATUSES } from "../../store/records/runs.ts";
import type { ListedToken } from "../../store/records/tokens.ts";
import type { TriggerLogEntry } from "../../store/records/trigger_log.ts";
import { triggerSchema, type TriggerSettings } from "../../triggers/trigger.ts";
import type { ProblemDetails } from "../problem.ts";
import type { RunInfo } from "../door/run_info.ts";
import type { LogAnswer, ShownExecution } from "./executions.ts";
import type { PipelineDetails, ShownPipeline } from "./pipelines.ts";
import type { MadeToken } from "./tokens.ts";
import type { ShownTrigger } from "./triggers.ts";
import type { SignedResult, TestResult, TestVerdict } from "./try_out.ts";

/** What the routes answer, by the names of the description. */
interface Answers {
  Trigger: ShownTrigger;
  Verdict: TestVerdict;
  TestResult: TestResult;
  SignedRequest: SignedResult;
  TriggerLogEntry: TriggerLogEntry;
  Run: Run;
  RunInfo: RunInfo;
  /** What is stored of a project is what this schema let through. */
  Project: z.output<typeof projectSchema>;
  FetchResult: FetchResult;
  InputFile: InputFile;
  Execution: ShownExecution;
  LogLine: LogLine;
  LogPage: LogAnswer;
  PipelineNode: NodeState;
  Pipeline: ShownPipeline;
  PipelineDetails: PipelineDetails;
  Token: ListedToken;
  MadeToken: MadeToken;
  Problem: Omit<ProblemDetails, "headers"> & { title: string; status: number };
}

/** What holds JSON of any depth; both sides have it from the schema that checks the input. */
type Deep = TriggerSettings["actions"] | TriggerSettings["response"];

/** A type without the names of its parts, which may be written to. */
type Plain<T> = T extends Deep ? T
  : T extends object ? { -readonly [Name in keyof T]: Plain<T[Name]> }
  : T;

/** Whether two types are the same, down to which of their fields are optional. */
type IsSame<A, B> = (<T>() => T extends Plain<A> ? 1 : 2) extends
  (<T>() => T extends Plain<B> ? 1 : 2) ? true : false;

/** The schema of what is answered, if it is exactly that. */
type Exactly<T, Schema extends z.ZodType> = IsSame<z.output<Schema>, T> extends true ? z.ZodType
  : { "is not exactly": T };

const text = z.string();
const time = text.meta({ format: "date-time" });
const count = z.int().min(0);
const texts = z.record(text, text);
const values = z.record(text, z.unknown());

const problem = z.object({
  pointer: text.describe("A JSON Pointer to what is meant"),
  detail: text,
});

const created = z.union([
  z.object({ execution_step: text, execution_id: text }),
  z.object({ pipeline_name: text, pipeline_id: text }),
]);

const run = z.object({
  id: text,
  trigger_id: text,
  project: text,
  status: z.enum(RUN_STATUSES),
  created_at: time,
  ended_at: time.exactOptional(),
  remote_ip: text,
  payload: z.object({
    size: count,
    sha256: text,
    content_type: text.exactOptional().describe("As it was sent; absent when there was none"),
  }),
  actions: z.array(z.object({
    action: text,
    created: created.exactOptional().describe("Absent when it makes nothing, or failed"),
    error: text.exactOptional().describe("Absent when it did not fail"),
  })).describe("What came of them, in order; empty while pending"),
  replay_of: text.exactOptional().describe("The run whose payload was launched again"),
});

const verdict = z.object({
  condition: text,
  index: z.int().describe("Its place among the conditions; -1 for what is none"),
  passed: z.boolean(),
  reason: text.exactOptional().describe("Why it did not pass, or what is to be known where it did"),
  expected: text.exactOptional(),
  found: text.exactOptional(),
});

const logged = { id: text, time };
const triggerLogEntry = z.discriminatedUnion("kind", [
  z.object({
    ...logged,
    kind: z.literal("refused"),
    condition: text,
    condition_index: z.int().exactOptional().describe("Its place among the conditions, from 0"),
    reason: text,
    expected: text.exactOptional(),
    found: text.exactOptional(),
    request: z.object({
      method: text,
      remote_ip: text,
      headers: texts.describe("Values are hidden unless they are known to be harmless"),
      size: count.exactOptional().describe("Absent when the body was too large to be read"),
      sha256: text.exactOptional(),
    }),
  }),
  z.object({
    ...logged,
    kind: z.literal("action_failed"),
    run_id: text,
    action: text,
    action_index: count,
    error: text,
  }),
  z.object({ ...logged, kind: z.literal("omitted"), count }),
]);

const inputFile = z.union([
  z.object({ name: text, payload_of: text, size: count, sha256: text.exactOptional() }),
  z.object({ name: text, output_of: text, path: text, size: count, sha256: text }),
  z.object({ name: text, url: text }),
]);

const execution = z.object({
  id: text,
  run_id: text,
  trigger_id: text,
  pipeline_id: text.exactOptional(),
  pipeline_title: text.exactOptional(),
  node: text.exactOptional(),
  project: text,
  engine: z.looseObject({ type: text }).describe("The project's when it was launched"),
  commit: text,
  step: text,
  title: text,
  image: text,
  command: text,
  inputs: z.record(text, z.array(inputFile)),
  parameters: values,
  environment_variables: texts,
  resources: z.object({
    cpu: z.number().exactOptional(),
    memory: z.number().exactOptional().describe("MiB"),
  }).exactOptional(),
  rerun: z.literal(true).exactOptional(),
  time_limit: z.number().exactOptional().describe("Seconds"),
  no_output_timeout: z.number().exactOptional().describe("Seconds"),
  stop_condition: text.exactOptional(),
  status: z.enum(EXECUTION_STATUSES),
  created_at: time,
  started_at: time.exactOptional(),
  ended_at: time.exactOptional(),
  duration: z.number().exactOptional().describe("Seconds"),
  exit_code: z.int().exactOptional(),
  reason: text.exactOptional().describe("Why it ended as it did, unless it is complete"),
  metadata: values.describe("The latest value of each key"),
  outputs: z.array(z.object({
    path: text,
    size: count,
    sha256: text,
    datum_id: text.describe("With datum:// before it, an input of later executions"),
  })),
});

const logLine = z.object({
  time,
  stream: z.enum(["stdout", "stderr", "event"]),
  message: text,
});

const node = z.object({
  name: text,
  step: text,
  status: z.enum(NODE_STATUSES),
  execution_id: text.exactOptional(),
  reused: z.literal(true).exactOptional(),
  attempts: count,
  approval: z.object({
    when: z.enum(["node-starting", "node-complete"]),
    approved_at: time.exactOptional(),
  }).exactOptional(),
  reason: text.exactOptional().describe("Why it did not complete"),
});

const pipeline = z.object({
  id: text,
  run_id: text,
  trigger_id: text,
  project: text,
  commit: text,
  name: text,
  title: text,
  copy_of: text.exactOptional(),
  status: z.enum(PIPELINE_STATUSES),
  ending: z.enum(["stopped", "error"]).exactOptional(),
  created_at: time,
  ended_at: time.exactOptional(),
  reason: text.exactOptional().describe("Why it ended as it did, unless it is complete"),
  nodes: z.array(node),
});

const end = z.object({ node: text, type: text, key: text });
const token = z.object({ id: text, name: text, created_at: time });

/** The schema of a page of a list. */
export function pageSchema<Schema extends z.ZodType>(result: Schema) {
  return z.object({
    results: z.array(result),
    next: z.url().nullable().describe("The address of the next page; null when this is the last"),
  });
}

const SCHEMAS = {
  Trigger: triggerSchema.extend({
    id: text,
    created_at: time,
    updated_at: time,
    url: text.describe("Where it is launched"),
    warnings: z.array(problem),
  }),
  Verdict: verdict,
  TestResult: z.object({
    passed: z.boolean().describe(
      "Whether nothing refuses it: a repeat or a handshake starts nothing",
    ),
    conditions: z.array(verdict),
  }),
  SignedRequest: z.object({
    url: text,
    headers: texts,
    body_base64: text,
    notes: z.array(problem),
    problems: z.array(problem),
  }),
  TriggerLogEntry: triggerLogEntry,
  Run: run,
  RunInfo: z.object({
    status: z.enum(RUN_STATUSES),
    result: z.array(z.intersection(z.object({ action: text }), created)),
  }),
  Project: projectSchema,
  FetchResult: z.object({ branches: texts.describe("The commit that each branch is at") }),
  InputFile: inputFile,
  Execution: execution,
  LogLine: logLine,
  LogPage: pageSchema(logLine).extend({ cursor: text }),
  PipelineNode: node,
  Pipeline: pipeline,
  PipelineDetails: pipeline.extend({
    edges: z.array(z.object({ source: end, target: end })),
    parameters: values,
  }),
  Token: token,
  MadeToken: token.extend({ token: text }),
  Problem: z.object({
    title: text,
    status: z.int(),
    detail: text.exactOptional(),
    errors: z.array(problem).exactOptional(),
  }),
};

/** The schemas of what is answered, by the names of the description. */
export const ANSWERS: { [Name in keyof Answers]: Exactly<Answers[Name], typeof SCHEMAS[Name]> } =
  SCHEMAS;
