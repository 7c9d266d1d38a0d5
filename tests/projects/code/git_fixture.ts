/**
 * Real git repositories in temporary folders, for tests.
 *
 * @module
 */
import { join } from "node:path";
import { systemClock } from "../../../src/platform/clock.ts";
import { Projects, type ProjectsOptions } from "../../../src/projects/projects.ts";
import type { Project } from "../../../src/store/records/projects.ts";

const IDENTITY = {
  GIT_AUTHOR_NAME: "A",
  GIT_AUTHOR_EMAIL: "a@example.com",
  GIT_COMMITTER_NAME: "A",
  GIT_COMMITTER_EMAIL: "a@example.com",
  GIT_CONFIG_GLOBAL: "/dev/null",
};

/** A project configuration file with one step. */
export function configFile(step: string): string {
  return `- step:\n    name: ${step}\n    image: busybox\n    command: echo hello\n`;
}

/** A temporary folder that is removed with the scope it is made in. */
export class TemporaryFolder implements AsyncDisposable {
  readonly path = Deno.makeTempDirSync();

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.path, { recursive: true });
  }
}

/** A git repository with a work tree, on branch `main`. */
export class GitFixture {
  constructor(readonly path: string) {}

  /** Makes a repository with one commit. */
  static async make(path: string, files: Record<string, string>): Promise<GitFixture> {
    const fixture = new GitFixture(path);
    await Deno.mkdir(path, { recursive: true });
    await fixture.git("init", "--quiet", "--initial-branch=main");
    await fixture.commit(files);
    return fixture;
  }

  /** Runs git in the repository and answers what it printed. */
  async git(...args: string[]): Promise<string> {
    const { success, stdout, stderr } = await new Deno.Command("git", {
      // What git does on the side would go on in the folder while that is being removed.
      args: ["-c", "gc.auto=0", "-c", "maintenance.auto=false", ...args],
      cwd: this.path,
      env: IDENTITY,
      stdout: "piped",
      stderr: "piped",
    }).output();
    if (!success) throw new Error(new TextDecoder().decode(stderr));
    return new TextDecoder().decode(stdout).trim();
  }

  /** Writes files and commits them. Answers the commit's full hash. */
  async commit(files: Record<string, string>): Promise<string> {
    for (const [path, text] of Object.entries(files)) {
      await Deno.mkdir(join(this.path, path, ".."), { recursive: true });
      await Deno.writeTextFile(join(this.path, path), text);
    }
    await this.git("add", "--all");
    await this.git("commit", "--quiet", "--allow-empty", "--message=change");
    return await this.head();
  }

  /** Reads the hash of the newest commit of the branch that is checked out. */
  async head(): Promise<string> {
    const read = async (path: string) =>
      (await Deno.readTextFile(join(this.path, ".git", path))).trim();
    return await read((await read("HEAD")).slice("ref: ".length));
  }
}

/** A project of a repository. */
export function projectOf(repository: string): Project {
  const engine = { type: "local", runner: "process" } as const;
  return { name: "digits", repository, config_file: "valohai.yaml", engine };
}

/** A remote with one commit, and the projects of a service that knows it. */
export async function setUp(folder: TemporaryFolder, options: Partial<ProjectsOptions> = {}) {
  const path = join(folder.path, "remote");
  await Deno.mkdir(join(path, "src"), { recursive: true });
  await Deno.writeTextFile(join(path, "src/run.sh"), "", { mode: 0o755 });
  await Deno.symlink("src/run.sh", join(path, "link"));
  const remote = await GitFixture.make(path, {
    "valohai.yaml": configFile("first"),
    "src/run.sh": "echo hi\n",
  });
  const hash = await remote.head();
  const dataFolder = join(folder.path, "data");
  const restarted = () => new Projects({ dataFolder, clock: systemClock, ...options });
  const mirror = join(dataFolder, "projects/digits/mirror.git");
  const project = projectOf(remote.path);
  return { remote, hash, dataFolder, mirror, projects: restarted(), restarted, project };
}

/** Prints a process's id and its command line, one process a line. */
const LIST_PROCESSES = "if [ -d /proc/self ]; then " +
  'for p in /proc/[0-9]*; do printf "%s " "${p#/proc/}"; ' +
  "{ tr '\\0\\n' '  ' < \"$p/cmdline\"; } 2>/dev/null; echo; done; " +
  "else ps -A -ww -o pid= -o args=; fi";

/** The command lines of all processes that hold a text, by their ids. */
export async function processesWith(text: string): Promise<Map<number, string>> {
  const { stdout } = await new Deno.Command("sh", { args: ["-c", LIST_PROCESSES] }).output();
  const found = new Map<number, string>();
  for (const line of new TextDecoder().decode(stdout).split("\n")) {
    const [, pid, args = ""] = line.match(/^\s*(\d+) (.*)$/) ?? [];
    if (args.includes(text)) found.set(Number(pid), args);
  }
  return found;
}

/** Everything in a folder as text, by its path. */
export async function* textsIn(folder: string): AsyncGenerator<[path: string, text: string]> {
  for await (const { name, isDirectory, isFile } of Deno.readDir(folder)) {
    const path = join(folder, name);
    if (isDirectory) yield* textsIn(path);
    else if (isFile) yield [path, new TextDecoder("latin1").decode(await Deno.readFile(path))];
  }
}
