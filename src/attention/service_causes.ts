/**
 * The causes of no trigger: the disk, the artifact store, instances, engines, projects and settings.
 *
 * @module
 */
import type { ArtifactStore } from "../artifacts/store.ts";
import type { Engines } from "../engines/mod.ts";
import type { Space } from "../store/file/space.ts";
import type { ProjectFailures } from "../store/records/project_failures.ts";
import type { Instances } from "../store/commit/instances.ts";
import { instanceCauses } from "./instance_causes.ts";
import { type ScheduleCauseParts, scheduleCauses } from "./schedule_causes.ts";
import { type Cause, type CauseSource, newCause, type Subject } from "./cause.ts";

/** The parts of a service that are asked. */
export interface ServiceCauseParts extends ScheduleCauseParts {
  store: { shared?: { instances: Pick<Instances, "all" | "gone" | "isLeader"> } | undefined };
  space: Pick<Space, "shortSince_ms" | "filesShortSince_ms">;
  artifacts: Pick<ArtifactStore, "failure" | "failingSince_ms">;
  engines: Pick<Engines, "outages">;
  projectFailures: Pick<ProjectFailures, "list">;
  settings: { notes?: readonly { text: string; since_ms: number }[] };
  notifications: CauseSource;
  /** The scheduled backups. */
  backups?: { causes(): Promise<Cause[]> } | undefined;
  /** The keeper of the certificate that the service gets by itself. */
  certificates?: { readonly trouble: { text: string; since_ms: number } | undefined } | undefined;
}

/** The part of a reason that a list shows. */
const TEXT_LENGTH = 200;

const SERVICE: Subject = { kind: "service", name: "service" };

/** Lists what fails of the service itself, its engines, projects and schedules, and what its settings lack. */
export async function serviceCauses(parts: ServiceCauseParts): Promise<Cause[]> {
  return [
    ...diskCauses(parts),
    ...certificateCauses(parts),
    ...await parts.backups?.causes() ?? [],
    ...instanceCauses(parts.store.shared?.instances),
    ...engineCauses(parts),
    ...await projectCauses(parts),
    ...await scheduleCauses(parts),
    ...parts.notifications.causes().filter(({ subject: { kind } }) => kind === "notifier"),
    ...settingCauses(parts),
  ];
}

function diskCauses({ space, artifacts }: ServiceCauseParts): Cause[] {
  const { shortSince_ms, filesShortSince_ms } = space;
  const { failure, failingSince_ms: since_ms } = artifacts;
  const causes: Cause[] = [];
  if (shortSince_ms !== undefined) {
    const text = "The disk is nearly full: launches are turned away until there is room";
    causes.push(newCause("disk_full", SERVICE, { text, since_ms: shortSince_ms }));
  } else if (filesShortSince_ms !== undefined) {
    const text = "The disk of executions is nearly full: what needs it is turned away";
    causes.push(newCause("files_disk_full", SERVICE, { text, since_ms: filesShortSince_ms }));
  }
  if (failure !== undefined && since_ms !== undefined) {
    const text = `The artifact store cannot be used: ${shortened(failure)}`;
    causes.push(newCause("artifact_store_failed", SERVICE, { text, since_ms }));
  }
  return causes;
}

function certificateCauses({ certificates }: ServiceCauseParts): Cause[] {
  const trouble = certificates?.trouble;
  if (trouble === undefined) return [];
  return [newCause("certificate_failed", SERVICE, trouble)];
}

function engineCauses({ engines }: ServiceCauseParts): Cause[] {
  return engines.outages.map(({ engine: name, projects, since, detail }) => {
    const needed = projects.length === 0 ? "" : `, needed by ${[...projects].join(", ")}`;
    const text = `Not reachable${needed}: ${shortened(detail)}`;
    // One type may reach several clusters.
    const subject: Subject = { kind: "engine", name };
    return newCause("engine_unreachable", subject, {
      text,
      since_ms: Date.parse(since),
      isSaid: true,
    });
  });
}

async function projectCauses({ projectFailures }: ServiceCauseParts): Promise<Cause[]> {
  const failures = await projectFailures.list();
  return failures.map(({ project: name, what, since, detail }) => {
    const code = what === "fetch" ? "project_fetch_failed" : "project_file_invalid";
    const text = shortened(detail);
    return newCause(code, { kind: "project", name }, { text, since_ms: Date.parse(since) });
  });
}

function settingCauses({ settings: { notes = [] } }: ServiceCauseParts): Cause[] {
  return notes.map((note) => newCause("setting_missing", SERVICE, { ...note, isSaid: true }));
}

/** Returns the first line of a reason: its own page has all of it. */
function shortened(detail: string): string {
  const [line = ""] = detail.split("\n", 1);
  return line.length > TEXT_LENGTH ? `${line.slice(0, TEXT_LENGTH)}…` : line;
}
