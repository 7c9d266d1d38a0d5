/**
 * The code of projects where there is no disk and no git: it is read where it is, and jobs fetch it themselves.
 *
 * @module
 */
import { ActionError } from "../../platform/errors.ts";
import { systemNetwork } from "../../platform/network/connection.ts";
import { forgetRefs, refsInMemory, type RefsKeeper } from "../../store/records/project_refs.ts";
import type { Project } from "../../store/records/projects.ts";
import type { JobCode } from "../code/job_code.ts";
import { isCommitOfConfig, NO_SOURCE } from "../code/no_source.ts";
import type { RemoteSource } from "../code/remote_source.ts";
import type { CodeSource } from "../code/source.ts";
import { isRemote, sourceKind } from "../code/source_kind.ts";
import { ConfiguredCode } from "../configured_code.ts";
import type { ProjectCode } from "../project_code.ts";
import type { ProjectsOptions } from "../projects.ts";

const FETCH_TIMEOUT_MS = 60_000;
const GIT_HASH = /^[0-9a-f]{40,64}$/;
const EXPECTED =
  "Expected a repository with an https address, or config: nothing is kept on a disk here";

/** The code of all projects. */
export class HostedProjects extends ConfiguredCode implements ProjectCode {
  readonly #options: ProjectsOptions;
  readonly #refs: RefsKeeper;
  /** Loaded for the first project that has a repository. */
  #remote: RemoteSource | undefined;

  constructor(options: ProjectsOptions) {
    super(options);
    this.#options = options;
    this.#refs = options.refs ?? refsInMemory();
  }

  /** A project without a repository has no files to write. */
  checkout(projectName: string, commit: string): Promise<void> {
    if (isCommitOfConfig(commit)) return Promise.resolve();
    return Promise.reject(
      new ActionError(`Cannot check out ${commit} of project "${projectName}". ${EXPECTED}`),
    );
  }

  async jobCode(projectName: string, commit: string): Promise<JobCode | undefined> {
    const project = await this.#options.projectOf?.(projectName);
    const kind = project === undefined ? "none" : sourceKind(project, false);
    if (project === undefined || !isRemote(kind) || !GIT_HASH.test(commit)) return undefined;
    const { jobCode } = await import("../code/job_code.ts");
    const { network = systemNetwork } = this.#options;
    const { signal } = this.closing;
    return await jobCode(project, commit, { kind, env: this.#env, network, signal });
  }

  pruneCopies(): Promise<void> {
    return Promise.resolve();
  }

  pruneTrees(): Promise<number> {
    return Promise.resolve(0);
  }

  async close(): Promise<void> {
    this.closing.abort();
    await this.#remote?.close();
  }

  kept(): Promise<string[]> {
    return Promise.resolve([]);
  }

  async forget(projectName: string): Promise<() => Promise<void>> {
    const forget = await this.#remote?.forget(projectName);
    await forgetRefs(this.#refs, projectName);
    forget?.();
    this.forgetConfigs(projectName);
    return () => Promise.resolve();
  }

  protected override async sourceOf(project: Project): Promise<CodeSource> {
    const kind = sourceKind(project, false);
    if (kind === "none") return NO_SOURCE;
    if (!isRemote(kind)) return unusable(project);
    const { RemoteSource } = await import("../code/remote_source.ts");
    return this.#remote ??= new RemoteSource({
      network: systemNetwork,
      fetchTimeout_ms: FETCH_TIMEOUT_MS,
      ...this.#options,
      env: this.#env,
      refs: this.#refs,
    });
  }

  readonly #env = (name: string): string | undefined =>
    this.#options.env === undefined ? Deno.env.get(name) : this.#options.env(name);
}

/** Returns the source of a project that needs a disk. */
function unusable({ name, directory }: Project): CodeSource {
  const refuse = () =>
    Promise.reject(new ActionError(`Cannot read the code of project "${name}". ${EXPECTED}`));
  const pointer = directory === undefined ? "/source" : "/directory";
  return {
    ...NO_SOURCE,
    fetch: refuse,
    resolve: refuse,
    read: refuse,
    problems: () => Promise.resolve([{ pointer, detail: EXPECTED }]),
  };
}
