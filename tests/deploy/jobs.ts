/**
 * Jobs of a cluster that a hosted service launches: their files come from memory and from the bucket, and their code
 * from its host. It writes no file.
 *
 * @module
 */
import { assert, assertEquals, assertLess } from "@std/assert";
import { hash } from "node:crypto";
import { join } from "node:path";
import { artifactKeys } from "../../src/artifacts/keys.ts";
import type { LogAnswer } from "../../src/http/api/execution_log.ts";
import { infoOf } from "../artifacts/fixture.ts";
import { CREDENTIALS, S3Server } from "../artifacts/s3_server.ts";
import { HMAC_CONDITION, signature } from "../data.ts";
import { startReceiver } from "../http/receiver.ts";
import { GitFixture } from "../projects/code/git_fixture.ts";
import { HostServer } from "../projects/code/hosts/host_server.ts";
import { eventually, isLong, temporaryFolder } from "../surroundings.ts";
import { type HostedProcess, MEMORY_MIB_MAX, memoryMib, Timeline } from "./platform.ts";

const MIB = 1024 * 1024;
const PAYLOAD_BYTES = 16 * MIB;
/** More than one part of an upload to the bucket. */
const FETCHED_BYTES = 9 * MIB;
const OUTPUT_BYTES = 3_000_000;
const ENDED = ["complete", "error", "stopped"];
const WITHIN_MS = 180_000;

/** A cluster of the tests. */
export interface JobsCluster {
  /** The address of this machine as jobs see it, which is not one of loopback. */
  host: string;
  /** The settings of a project's engine, with `{env:CLUSTER_TOKEN}` for its token. */
  engine: Record<string, unknown>;
  token: string;
  image?: string;
}

/** The file in the repository that the step runs. */
const SCRIPT = `sha256sum <"$VH_PAYLOAD" | cut -d' ' -f1
sha256sum <"$VH_INPUTS_DIR/data/file" | cut -d' ' -f1
echo "secret $SECRET"
echo '{"epoch": 1}'
head -c ${OUTPUT_BYTES} "$VH_PAYLOAD" >"$VH_OUTPUTS_DIR/part"
until curl -fs "$1/go" 2>/dev/null || wget -q -O - "$1/go" 2>/dev/null; do sleep 0.2; done
`;

/** The platform's front: it serves HTTPS, and passes requests on to processes. */
class Front implements AsyncDisposable {
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  #turn = 0;
  /** The processes that take requests, in turn. */
  processes: HostedProcess[] = [];

  constructor(tls: Deno.TlsCertifiedKeyPem) {
    const options = { hostname: "0.0.0.0", port: 0, onListen() {} };
    this.#server = Deno.serve({ ...options, ...tls }, async (request) => {
      const { pathname, search } = new URL(request.url);
      const headers = new Headers(request.headers);
      headers.delete("host");
      const { method, body } = request;
      try {
        const process = this.processes[this.#turn++ % this.processes.length];
        return await process?.fetch(pathname + search, { method, headers, body }) ?? away();
      } catch {
        return away();
      }
    });
  }

  get port(): number {
    return this.#server.addr.port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }
}

function away(): Response {
  return new Response(null, { status: 502 });
}

/** Makes a certificate for a name or an address, which is its own authority. */
async function certificateOf(host: string, folder: string): Promise<Deno.TlsCertifiedKeyPem> {
  const name = /^[\d.]+$/.test(host) ? `IP:${host}` : `DNS:${host}`;
  const make = 'cd "$1" && exec openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 ' +
    '-nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=test -addext "subjectAltName=$2"';
  const { success, stderr } = await new Deno.Command("sh", {
    args: ["-c", make, "sh", folder, name],
  }).output();
  assert(success, new TextDecoder().decode(stderr));
  const [cert, key] = await Promise.all(
    ["cert.pem", "key.pem"].map((file) => Deno.readTextFile(join(folder, file))),
  );
  return { cert: cert ?? "", key: key ?? "" };
}

function randomBytes(size: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(size);
  for (let at = 0; at < size; at += 65_536) {
    crypto.getRandomValues(bytes.subarray(at, Math.min(size, at + 65_536)));
  }
  return bytes;
}

/** The number of files in a folder, which may be removed meanwhile. */
async function filesIn(folder: string): Promise<number> {
  try {
    return (await Array.fromAsync(Deno.readDir(folder))).length;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return 0;
    throw error;
  }
}

/** The steps of the repository. */
function stepsOf(files: string, image: string): unknown[] {
  const step = (name: string, command: string, more: object = {}) => ({
    step: { name, image, command, ...more },
  });
  return [
    step("take", `sh src/run.sh ${files}`, {
      inputs: [{ name: "body" }, { name: "data", default: `${files}/file` }],
      "environment-variables": [{ name: "SECRET", default: "{secret:word}" }],
    }),
    step("use", `sha256sum <"$VH_INPUTS_DIR/x/part" | cut -d' ' -f1; ls -A | wc -l`, {
      inputs: [{ name: "x" }],
    }),
    {
      pipeline: {
        name: "chain",
        nodes: ["take", "use"].map((name) => ({ name, type: "execution", step: name })),
        edges: [["take.output.part", "use.input.x"]],
      },
    },
  ];
}

/** Launches steps on a cluster from a hosted service, which is stopped while a job runs. */
export async function hostedJobs(
  { host, engine, token, image = "none" }: JobsCluster,
): Promise<void> {
  await using folder = await temporaryFolder();
  await using s3 = await S3Server.start();
  await using files = startReceiver();
  const file = randomBytes(FETCHED_BYTES);
  files.on("/file", () => new Response(file));
  let isReleased = false;
  files.on("/go", () => new Response(null, { status: isReleased ? 200 : 404 }));
  const steps = stepsOf(`http://127.0.0.1:${files.port}`, image);
  const remote = await GitFixture.make(join(folder.path, "remote"), {
    "valohai.yaml": JSON.stringify(steps),
    "src/run.sh": SCRIPT,
  });
  await using code = new HostServer("github", remote.path);
  const tls = await certificateOf(host, folder.path);
  await using front = new Front(tls);
  await using timeline = new Timeline({
    HOOKLAUNCH_STORAGE: s3.storage,
    AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId,
    AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey,
    HOOKLAUNCH_AGENT_URL: `https://${host}:${front.port}`,
    HOOKLAUNCH_AGENT_CA: join(folder.path, "cert.pem"),
    CLUSTER_TOKEN: token,
    GIT_TOKEN: code.token,
  });
  const first = await timeline.start();
  // At length agents come to one that does not lead, too.
  front.processes = [first, ...isLong ? [await timeline.start()] : []];
  const api = async (process: HostedProcess, method: string, path: string, body?: unknown) => {
    const answer = await process.api(method, path, body);
    assert(answer.status < 300, `${method} ${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const settings = { ...engine, inputs: { private_networks: true } };
  await api(first, "PUT", "projects/digits/", {
    name: "digits",
    repository: `http://robot:{env:GIT_TOKEN}@${code.host}/${code.name}.git`,
    source: "github",
    engine: settings,
  });
  const inline = { step: { name: "list", image, command: "ls -A | wc -l; echo inline" } };
  await api(first, "PUT", "projects/inline/", {
    name: "inline",
    config: JSON.stringify([inline]),
    engine: settings,
  });
  await api(first, "PUT", "projects/digits/secrets/word/", { value: "s3cr3t-word" });
  const pathOf = async (name: string, project: string, action: Record<string, unknown>) => {
    const { id } = await api(first, "POST", "triggers/", {
      ...{ name, project, conditions: [HMAC_CONDITION], actions: [action] },
      response: { type: "text", text: "{run_id}" },
    });
    return `/api/v0/launch/${id}/`;
  };
  const launch = (path: string, body: Uint8Array<ArrayBuffer>) =>
    eventually(async () => {
      const headers = { ...signature(body), "content-type": "application/octet-stream" };
      const answer = await first.fetch(path, { method: "POST", body, headers });
      const text = await answer.text();
      // A machine that is busy may turn it away, and senders come again.
      if (answer.status === 503) return undefined;
      assertEquals(answer.status, 200, text);
      return text;
    }, { what: "an accepted launch" });
  const payload = randomBytes(PAYLOAD_BYTES);
  const chain = await launch(
    await pathOf("chain", "digits", {
      ...{ type: "run_pipeline", pipeline: "chain" },
      payload_input_name: "take.body",
    }),
    payload,
  );
  const list = await launch(
    await pathOf("list", "inline", { type: "run_execution", step: "list" }),
    new TextEncoder().encode("{}"),
  );
  const made = async (process: HostedProcess, run: string) =>
    await eventually(async () => {
      const { actions: [action] } = await api(process, "GET", `runs/${run}/`);
      const { pipeline_id, execution_id } = action?.created ?? {};
      return pipeline_id !== undefined
        ? `pipelines/${pipeline_id}/`
        : execution_id && `executions/${execution_id}/`;
    }, { what: "what a run has made" });
  const ended = (process: HostedProcess, path: string) =>
    eventually(async () => {
      const found = await api(process, "GET", path);
      return ENDED.includes(found.status) ? found : undefined;
    }, { within_ms: WITHIN_MS, what: `the end of ${path}` });
  const printed = async (process: HostedProcess, id: string) => {
    const { results }: LogAnswer = await api(process, "GET", `executions/${id}/log/?limit=1000`);
    return results.filter(({ stream }) => stream === "stdout").map(({ message }) => message);
  };
  const listed = await ended(first, await made(first, list));
  assertEquals(listed.status, "complete", listed.reason);
  assertEquals(await printed(first, listed.id), ["0", "inline"]);
  const path = await made(first, chain);
  await eventually(async () => {
    if (files.at("/go").length > 0) return true;
    const { status, nodes } = await api(first, "GET", path);
    assert(!ENDED.includes(status), `The pipeline is ${status}: ${JSON.stringify(nodes)}`);
  }, { within_ms: WITHIN_MS, what: "the command" });
  const { nodes: [{ execution_id: taking }] } = await api(first, "GET", path);
  const staged = join(s3.folder, "bucket", "some prefix", artifactKeys.staged(taking, ""));
  assertEquals(await filesIn(staged), 1);
  // It runs now. Its service ends meanwhile, and another process goes on.
  const mib = await memoryMib(first.pid);
  if (isLong) first.kill("SIGKILL");
  else await first.stop();
  await first.ended;
  const second = await timeline.start();
  front.processes = [second, ...front.processes.slice(1)];
  isReleased = true;
  const { status, nodes } = await ended(second, path);
  assertEquals(status, "complete", second.printed());
  const [taken, used] = nodes.map(({ execution_id }: { execution_id: string }) => execution_id);
  assertEquals(await printed(second, taken), [
    hash("sha256", payload),
    hash("sha256", file),
    "secret ********",
    '{"epoch": 1}',
  ]);
  // valohai.yaml and src.
  assertEquals(await printed(second, used), [
    hash("sha256", payload.subarray(0, OUTPUT_BYTES)),
    "2",
  ]);
  using bucket = s3.store();
  const part = infoOf(payload.subarray(0, OUTPUT_BYTES));
  assert(await bucket.verify(artifactKeys.output(taken, "part"), part));
  await eventually(async () => {
    // The service works while it is asked.
    await api(second, "GET", path);
    return await filesIn(staged) === 0 ? true : undefined;
  }, { what: "the removal of fetched files" });
  for (const found of [mib, await memoryMib(second.pid)]) assertLess(found, MEMORY_MIB_MAX);
}
