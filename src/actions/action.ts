/**
 * Kinds of actions: each has a schema of its settings, and performs its work for a run. A kind is
 * one file in this folder and one line in `mod.ts`.
 *
 * @module
 */
import type { z } from "zod";
import type { Clock } from "../platform/clock.ts";
import type { Problem } from "../platform/errors.ts";
import type { Engines } from "../engines/mod.ts";
import type { EvaluateValues } from "../conditions/values/evaluate.ts";
import type { HttpRequests } from "../http_requests/http_requests.ts";
import type { Pipelines } from "../pipelines/mod.ts";
import type { Projects } from "../projects/mod.ts";
import type { InputFile } from "../store/records/executions.ts";
import type { Project } from "../store/records/projects.ts";
import type { CheckContext } from "./check.ts";
import type { Unstored } from "../runs/outcome.ts";
import type { ActionSettings, CreatedObject, Run } from "../store/records/runs.ts";
import type { Store } from "../store/store.ts";

/** The run and the parts of the service that an action uses. */
export interface ActionContext {
  run: Run;
  /**
   * The action's index in its trigger. The ids of its objects derive from the run and this index.
   */
  place: number;
  /** The action may have begun before. */
  repeated: boolean;
  /** The instance whose own the run is; undefined where the leader performs it. */
  owner: string | undefined;
  project: Project;
  projects: Pick<Projects, "resolve" | "fetch">;
  engines: Engines;
  pipelines: Pick<Pipelines, "begin">;
  httpRequests: Pick<HttpRequests, "begin">;
  /** Evaluates expressions over the request of the run. */
  evaluate: EvaluateValues;
  /** Returns the address of the service as others reach it, without a slash at the end. */
  baseUrl(): string;
  store: Store;
  clock: Clock;
  /** Aborts when the action has taken too long, or the service stops. */
  signal: AbortSignal;
}

/** The object of an action. It exists once its writes are on disk, and begins then. */
export interface Made extends Unstored {
  /** The object as run info shows it. */
  created: CreatedObject;
}

/** The surroundings of a preview: nothing is fetched, made or stored. */
export interface PreviewContext extends CheckContext {
  store: Store;
  /** The payload as a file of an input. */
  payload: InputFile;
  /** Evaluates expressions over the request. */
  evaluate: EvaluateValues;
  /** Returns the address of the service as others reach it, without a slash at the end. */
  baseUrl(): string;
}

/** An execution that an action would launch. */
export interface PreviewedExecution {
  /** Its node, where it is one of a pipeline. */
  node?: string;
  step: string;
  commit: string;
  title: string;
  parameters: { name: string; type: string; value: unknown }[];
  /** The files of inputs, by the input's name. */
  inputs: Record<string, PreviewedFile[]>;
  environment: Record<string, string>;
  metadata: Record<string, unknown>;
}

/** A file of an input: one of a URL, the payload, or one that an edge of a pipeline brings. */
export interface PreviewedFile {
  name: string;
  url?: string;
  from?: "payload" | "edge";
}

/** An HTTP request that an action would send, secrets and the token of its callback masked. */
export interface PreviewedHttpRequest {
  method: string;
  url: string;
  headers: Record<string, string>;
  body?: string;
  /** The preset whose signature it would have. */
  sign?: string;
}

/** The work that an action would launch. */
export interface PreviewedWork {
  /** The pipeline's name. */
  pipeline?: string;
  executions?: PreviewedExecution[];
  http_request?: PreviewedHttpRequest;
}

/** A kind of action. */
export interface ActionKind<Settings extends ActionSettings = ActionSettings> {
  type: Settings["type"];
  /** Checks and completes the settings; unknown fields are errors. */
  schema: z.ZodType<Settings>;
  /**
   * Checks that the project has everything that the settings name, without fetching anything.
   *
   * @returns problems with pointers into the settings
   */
  check?(settings: Settings, context: CheckContext): Promise<Problem[]>;
  /**
   * Returns what the action would launch.
   *
   * @throws when it would fail, with the same message
   */
  preview?(settings: Settings, context: PreviewContext): Promise<PreviewedWork>;
  /**
   * Performs the action. After a crash it may be called again for the same run, and must then find
   * the object that it made: the object's id derives from the run and the action's index.
   *
   * @returns the object, which the caller stores; undefined if it makes none
   * @throws when it fails; the message goes to the trigger log
   */
  perform(settings: Settings, context: ActionContext): Promise<Made | undefined>;
}
