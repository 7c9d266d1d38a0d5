/**
 * The kinds of actions, and the performance of a run's actions.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { abortable } from "@std/async/abortable";
import { z } from "zod";
import type { Deadlines } from "../platform/waiting/deadlines.ts";
import { ActionError, isShortage, messageOf, prefixed, type Problem } from "../platform/errors.ts";
import { schemasOf } from "../platform/schema/schema.ts";
import type { ResolvedCommit } from "../projects/mod.ts";
import { getProject } from "../store/records/projects.ts";
import { isOwn } from "../runs/own_runs.ts";
import type { Performed, WaitingRun } from "../runs/outcome.ts";
import type { ActionOutcome, ActionSettings } from "../store/records/runs.ts";
import { inSpan } from "../telemetry/spans.ts";
import type { ActionContext, ActionKind, Made } from "./action.ts";
import type { CheckContext } from "./check.ts";
import { copyPipeline } from "./copy_pipeline.ts";
import { fetchRepository } from "./fetch_repository.ts";
import { httpRequest } from "./http_request.ts";
import { runExecution } from "./run_execution.ts";
import { runPipeline } from "./run_pipeline.ts";
import type { EvaluateValues } from "../conditions/values/evaluate.ts";
import { neverValues } from "./never_values.ts";
import { stoppedBy, watchedValues, withValues } from "./values.ts";

/** The time limit of the checks of a trigger's actions together. */
const CHECK_MS = 5_000;

const log = getLogger(["hooklaunch", "actions"]);

const kinds = [runExecution, runPipeline, copyPipeline, fetchRepository, httpRequest] as const;

/** The schema of the settings of any action. */
export const actionSchema = z.discriminatedUnion("type", schemasOf(kinds));

/** The parts of the service that actions use. */
export interface ActionServices extends
  Omit<
    ActionContext,
    "run" | "place" | "repeated" | "owner" | "project" | "signal" | "evaluate"
  > {
  /** The deadlines of actions. */
  deadlines: Deadlines;
  /** Returns what evaluates expressions over the request of a run. */
  valuesOf(of: Pick<WaitingRun, "run" | "body">): EvaluateValues;
}

/**
 * Performs the actions of a run in their order, also after one that failed. An action finds the
 * objects of earlier ones. The promise never rejects.
 *
 * @returns the outcomes, and the object of the last action, which is stored with the end of the run
 */
export async function performActions(
  waiting: WaitingRun,
  services: ActionServices,
  signal: AbortSignal,
): Promise<Performed> {
  const { run, actions, repeated, body } = waiting;
  const owner = isOwn(services.store, waiting) ? waiting.worker : undefined;
  const performed: Performed = { outcomes: [] };
  const projects = withOneSnapshot(services.projects);
  const evaluate = services.valuesOf({ run, ...(body && { body }) });
  let stopped: string | undefined;
  for (const [place, written] of actions.entries()) {
    const outcome: ActionOutcome = { action: written.type };
    performed.outcomes.push(outcome);
    const values = watchedValues(evaluate);
    try {
      const ready = stopped === undefined
        ? await withValues(written, values.evaluate)
        : { skipped: stopped };
      if ("skipped" in ready) {
        outcome.skipped = ready.skipped.slice(0, 4_096);
        continue;
      }
      const { settings } = ready;
      const at = { run, place, repeated, owner, evaluate: values.evaluate };
      const isLast = place === actions.length - 1;
      const made = await inSpan(
        `action ${settings.type}`,
        {},
        () => performOne(settings, { ...at, isLast }, { ...services, projects }, signal),
      );
      if (made) outcome.created = made.created;
      if (made && isLast) performed.unstored = made;
    } catch (error) {
      outcome.error = values.messageOf(error).slice(0, 4_096);
      if (isShortage(error)) performed.isShort = true;
      if (written.on_failure === "stop") stopped = stoppedBy(place, written);
    }
  }
  return performed;
}

/**
 * Checks that a project has everything that actions name, without fetching anything. After a time
 * limit, the rest is not checked.
 *
 * @returns problems with pointers into the list of actions
 */
export async function checkActions(
  actions: readonly ActionSettings[],
  context: Omit<CheckContext, "signal">,
): Promise<Problem[]> {
  const signal = AbortSignal.timeout(CHECK_MS);
  const problems: Problem[] = [];
  for (const [index, settings] of actions.entries()) {
    try {
      const found = await kindOf(settings)?.check?.(settings, { ...context, signal }) ?? [];
      problems.push(...prefixed(`/${index}`, [...found, ...await neverValues(settings)]));
    } catch (error) {
      log.warn("Cannot check action {index} for project {project}: {error}", {
        index,
        project: context.project.name,
        error: messageOf(error),
      });
    }
  }
  return problems;
}

/** Wraps the code of projects, so that all actions of a run have one snapshot of a plain folder. */
function withOneSnapshot(projects: ActionServices["projects"]): ActionServices["projects"] {
  let snapshot: Promise<ResolvedCommit> | undefined;
  return {
    fetch(project, ...options) {
      snapshot = undefined;
      return projects.fetch(project, ...options);
    },
    resolve(project, reference, signal) {
      // A folder has only HEAD. Another reference is an error.
      if (project.directory === undefined || reference !== "HEAD") {
        return projects.resolve(project, reference, signal);
      }
      return snapshot ??= projects.resolve(project, reference, signal).catch((error) => {
        snapshot = undefined;
        throw error;
      });
    },
  };
}

/** Returns the kind of an action; undefined where a later version has stored it. */
export function kindOf(settings: ActionSettings): ActionKind | undefined {
  // This kind's schema has validated the settings when the trigger was saved.
  return kinds.find(({ type }) => type === settings.type) as ActionKind | undefined;
}

async function performOne(
  settings: ActionSettings,
  { isLast, ...at }: Pick<ActionContext, "run" | "place" | "repeated" | "owner" | "evaluate"> & {
    isLast: boolean;
  },
  services: ActionServices,
  stop: AbortSignal,
): Promise<Made | undefined> {
  const name = at.run.project;
  const project = await getProject(services.store, name);
  const kind = kindOf(settings);
  if (kind === undefined) throw new ActionError(`Cannot perform ${settings.type}: unknown action`);
  const made = await withDeadline(services.deadlines, stop, (signal) => {
    return kind.perform(settings, {
      ...services,
      ...at,
      signal,
      // An action that finds its object needs no project.
      get project() {
        if (project !== undefined) return project;
        throw new ActionError(`Cannot perform ${settings.type}: there is no project "${name}"`);
      },
    });
  });
  if (made && !isLast) {
    // Outside of the action's time: a commit that nobody waits for may be stored all the same.
    const { committer, intake } = services.store;
    await (at.owner === undefined ? committer : intake).write(made.writes);
    made.begin();
  }
  return made;
}

/**
 * Does work with a deadline. When that passes, or the service stops, the signal aborts and the
 * promise rejects, also for work that ignores the signal.
 */
async function withDeadline<T>(
  deadlines: Deadlines,
  stop: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const end = (message: string) => controller.abort(new ActionError(message));
  const onStop = () => end("The service stopped");
  const done = deadlines.begin(() => end(`Not done after ${deadlines.time_ms / 1_000} s`));
  stop.addEventListener("abort", onStop, { once: true });
  try {
    return await abortable(work(controller.signal), controller.signal);
  } finally {
    done();
    stop.removeEventListener("abort", onStop);
  }
}
