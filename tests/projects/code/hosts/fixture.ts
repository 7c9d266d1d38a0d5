/** A repository, and the hosts that have it. */
import { join } from "node:path";
import { systemClock } from "../../../../src/platform/clock.ts";
import { systemNetwork } from "../../../../src/platform/network/connection.ts";
import { Projects, type ProjectsOptions } from "../../../../src/projects/projects.ts";
import type { Project } from "../../../../src/store/records/projects.ts";
import { configFile, GitFixture, projectOf, TemporaryFolder } from "../git_fixture.ts";
import { hasNoGitea, sharedGitea } from "./gitea.ts";
import { HostServer } from "./host_server.ts";

/** The kinds of hosts that can be tried here. */
export const KINDS = hasNoGitea
  ? ["github", "gitlab"] as const
  : ["github", "gitlab", "gitea"] as const;

/** A kind of host. */
export type Kind = "github" | "gitlab" | "gitea";

/** Returns the forms of a token that must be seen nowhere. */
export function formsOf(token: string): string[] {
  return [token, btoa(`robot:${token}`)];
}

/** A repository at a host. */
export interface Hosted extends AsyncDisposable {
  kind: Kind;
  folder: string;
  remote: GitFixture;
  token: string;
  host: string;
  /** The server that plays the host; undefined for a real one. */
  server: HostServer | undefined;
  /** Brings what was committed to the host. */
  push(): Promise<void>;
  project(credentials?: string): Project;
  projects(options?: Partial<ProjectsOptions>): Projects;
}

let count = 0;

/** Starts a host with a repository: branches `main`, `feature/x` and more than a page, tags `v1` and `light`. */
export async function hosted(kind: Kind): Promise<Hosted> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(new TemporaryFolder()).path;
  const remote = await GitFixture.make(join(folder, "remote"), {
    "valohai.yaml": configFile("first"),
    "team a/b.yaml": configFile("inner"),
    "src/run.sh": "echo hi\n",
  });
  await remote.git("tag", "--annotate", "--message=v1", "v1");
  await remote.git("tag", "light");
  await remote.commit({ "valohai.yaml": configFile("second") });
  await remote.git("branch", "feature/x");
  const gitea = kind === "gitea" ? await sharedGitea() : undefined;
  const repository = `${++count}-digits`;
  await gitea?.create(repository, remote.path);
  const server = kind === "gitea" ? undefined : stack.use(new HostServer(kind, remote.path));
  const host = gitea?.host ?? server?.host ?? "";
  const name = server?.name ?? `ann/${repository}`;
  const token = gitea?.token ?? server?.token ?? "";
  const owned = stack.move();
  return {
    kind,
    folder,
    remote,
    token,
    host,
    server,
    push: async () => await gitea?.push(repository, remote.path),
    project: (credentials = "robot:{env:TOKEN}@") => ({
      ...projectOf(`http://${credentials}${host}/${name}.git`),
      source: kind,
    }),
    projects: (options = {}) =>
      new Projects({
        dataFolder: join(folder, "data"),
        clock: systemClock,
        network: systemNetwork,
        env: (name) => name === "TOKEN" ? token : undefined,
        ...options,
      }),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
