/** A real Gitea, with one user. */
import { join } from "node:path";
import { has } from "../../../needs.ts";
import { eventually, freePort } from "../../../surroundings.ts";

/** True where no Gitea can be started. */
export const hasNoGitea = !has("gitea");

const USER = "ann";
/** The scopes of the user's token. */
const SCOPES = "write:repository,write:user";
const FIND = 'tools="${XDG_CACHE_HOME:-$HOME/.cache}/hooklaunch"; PATH="$PATH:$tools/bin"; ';

/** Ends a process that is no child of this one, and removes its folder. */
const END = `
kill -KILL "$1"
while kill -0 "$1" 2>/dev/null && ! grep -q ') Z ' "/proc/$1/stat"; do sleep 0.01; done
rm -rf "$2"`;

let shared: Promise<Gitea> | undefined;

/** Returns the one server of all tests of a module, with no repository of another test's name. */
export function sharedGitea(): Promise<Gitea> {
  return shared ??= Gitea.start();
}

Deno.test.afterAll(async () => {
  await (await shared)?.[Symbol.asyncDispose]();
  shared = undefined;
});

/** A status of a commit, as far as tests look at it. */
interface CommitStatus {
  status: string;
  context: string;
  description: string;
  target_url: string;
}

/** A server on a folder of its own. */
class Gitea implements AsyncDisposable {
  readonly #folder = Deno.makeTempDirSync();
  readonly #port = freePort();
  #pid = "";
  /** The token of its user, who may write repositories. */
  token = "";

  private constructor() {}

  static async start(): Promise<Gitea> {
    const gitea = new Gitea();
    await gitea.#begin();
    return gitea;
  }

  /** Its host and port. */
  get host(): string {
    return `127.0.0.1:${this.#port}`;
  }

  /** Makes a private repository, and pushes what another one has into it. */
  async create(name: string, from: string): Promise<void> {
    const body = { name, private: true, default_branch: "main" };
    const made = await this.#api("POST", "user/repos", body);
    if (made.status !== 201) throw new Error(await made.text());
    await made.body?.cancel();
    await this.push(name, from);
  }

  /** Pushes all branches and tags, and waits until the server shows them. */
  async push(name: string, from: string): Promise<void> {
    const args = ["push", "--quiet", "--force", this.url(name), "refs/heads/*:refs/heads/*"];
    const child = new Deno.Command("git", {
      args: [...args, "refs/tags/*:refs/tags/*"],
      cwd: from,
    });
    const { success, stderr } = await child.output();
    if (!success) throw new Error(new TextDecoder().decode(stderr));
    // It notes in the background what a push has brought.
    await eventually(async () => {
      const answer = await this.#api("GET", `repos/${USER}/${name}`);
      const { empty } = await answer.json();
      const branches = await this.#api("GET", `repos/${USER}/${name}/branches`);
      const listed = branches.ok ? await branches.json() : await branches.text();
      return empty === false && listed.length > 0 || undefined;
    });
  }

  /** Registers a runner of workflows, which a test plays. */
  async runner(repository: string): Promise<Runner> {
    const path = `repos/${repository}/actions/runners/registration-token`;
    const { token } = await (await this.#api("POST", path)).json();
    return await Runner.register(`http://${this.host}/api/actions`, token);
  }

  /** The address of a repository, with the credentials of the user. */
  url(name: string): string {
    return `http://${USER}:${this.token}@${this.host}/${USER}/${name}.git`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const args = ["-c", END, "sh", this.#pid, this.#folder];
    await new Deno.Command("sh", { args }).output();
  }

  async #begin(): Promise<void> {
    await Deno.mkdir(join(this.#folder, "custom/conf"), { recursive: true });
    await Deno.writeTextFile(
      join(this.#folder, "app.ini"),
      configuration(this.#folder, this.#port),
    );
    // No child of this process: it outlives the test that starts it.
    this.#pid = (await this.#run(["web"], '"$@" >/dev/null 2>&1 </dev/null & echo $!')).trim();
    await eventually(() =>
      fetch(`http://${this.host}/api/v1/version`).then(
        async (answer) => (await answer.body?.cancel(), answer.ok || undefined),
        () => undefined,
      )
    );
    const user = [
      "--username",
      USER,
      "--password",
      crypto.randomUUID(),
      "--email",
      "ann@localhost",
    ];
    const scopes = ["--access-token-name", "first", "--access-token-scopes", SCOPES];
    const made = await this.#admin(
      ...["user", "create", ...user, "--must-change-password=false", "--access-token", ...scopes],
    );
    this.token = /token was successfully created\S* (\S+)/.exec(made)?.[1] ?? "";
  }

  #admin(...args: string[]): Promise<string> {
    return this.#run(["admin", ...args]);
  }

  async #run(args: string[], how = 'exec "$@"'): Promise<string> {
    const script = `${FIND} export GITEA_WORK_DIR="$1" HOME="$1"; shift
      set -- gitea "$@" --config "$GITEA_WORK_DIR/app.ini"; ${how}`;
    const { success, stdout } = await new Deno.Command("sh", {
      args: ["-c", script, "sh", this.#folder, ...args],
      stderr: "null",
    }).output();
    const text = new TextDecoder().decode(stdout);
    if (!success) throw new Error(text);
    return text;
  }

  /** Has each push to a repository, and each of its pull requests, told to a URL. */
  async hook(repository: string, url: string, secret: string): Promise<void> {
    const config = { url, secret, content_type: "json" };
    const hook = { type: "gitea", active: true, events: ["push", "pull_request"], config };
    const made = await this.#api("POST", `repos/${repository}/hooks`, hook);
    if (made.status !== 201) throw new Error(await made.text());
    await made.body?.cancel();
  }

  /** Returns the statuses of a commit, oldest first. */
  async statuses(repository: string, sha: string): Promise<CommitStatus[]> {
    const path = `repos/${repository}/commits/${sha}/statuses?sort=oldest`;
    return await (await this.#api("GET", path)).json();
  }

  #api(method: string, path: string, body?: unknown): Promise<Response> {
    return fetch(`http://${this.host}/api/v1/${path}`, {
      method,
      headers: { authorization: `token ${this.token}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }
}

/** A job of a workflow. */
export interface RunnerTask {
  id: string;
  context: { event: { inputs: unknown } };
}

/** A runner of the jobs that run on `debian`. */
class Runner {
  readonly #url: string;
  readonly #headers: Record<string, string>;

  private constructor(url: string, headers: Record<string, string>) {
    this.#url = url;
    this.#headers = headers;
  }

  static async register(url: string, token: string): Promise<Runner> {
    const one = { name: "tests", token, labels: ["debian"] };
    const { runner } = await new Runner(url, {}).#call("Register", one);
    return new Runner(url, { "x-runner-uuid": runner.uuid, "x-runner-token": runner.token });
  }

  /** Returns a job that waits; undefined where there is none. */
  async task(): Promise<RunnerTask | undefined> {
    return (await this.#call("FetchTask", {})).task;
  }

  /** Reports the end of a job. */
  async end({ id }: RunnerTask, result: "SUCCESS" | "FAILURE"): Promise<void> {
    const now = new Date().toISOString();
    const state = { id, result: `RESULT_${result}`, startedAt: now, stoppedAt: now };
    await this.#call("UpdateTask", { state });
  }

  async #call(method: string, message: unknown) {
    const answer = await fetch(`${this.#url}/runner.v1.RunnerService/${method}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...this.#headers },
      body: JSON.stringify(message),
    });
    if (!answer.ok) throw new Error(`${method}: ${answer.status} ${await answer.text()}`);
    return await answer.json();
  }
}

function configuration(folder: string, port: number): string {
  const home = Deno.env.get("XDG_CACHE_HOME") ?? join(Deno.env.get("HOME") ?? "", ".cache");
  return `
I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true
[server]
STATIC_ROOT_PATH = ${join(home, "hooklaunch/gitea")}
HTTP_ADDR = 127.0.0.1
HTTP_PORT = ${port}
ROOT_URL = http://127.0.0.1:${port}/
DISABLE_SSH = true
OFFLINE_MODE = true
[database]
DB_TYPE = sqlite3
PATH = ${folder}/gitea.db
[repository]
ROOT = ${folder}/repositories
[security]
INSTALL_LOCK = true
SECRET_KEY = of-a-test
[service]
DISABLE_REGISTRATION = true
[log]
LEVEL = Error
[actions]
ENABLED = true
[indexer]
ISSUE_INDEXER_TYPE = db
[api]
MAX_RESPONSE_ITEMS = 3
[webhook]
ALLOWED_HOST_LIST = loopback
`;
}
