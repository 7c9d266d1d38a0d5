/**
 * What several tests need to set things up: data folders, services, signed requests.
 *
 * @module
 */
import { createHmac } from "node:crypto";
import type { ArtifactStore } from "../src/artifacts/store.ts";
import { type Clock, systemClock } from "../src/platform/clock.ts";
import type { Network } from "../src/platform/network/connection.ts";
import { Service, type ServiceSettings } from "../src/service/service.ts";
import { eventually } from "./surroundings.ts";

export { eventually, temporaryFolder, TestClock } from "./surroundings.ts";

/** The operator's token of the services that tests start. */
export const ADMIN_TOKEN = "an-operators-token-for-tests";
/** The secret that the triggers of tests are signed with. */
export const SECRET = "s3cret-of-the-tests";

/** A project whose step copies its payload into its outputs, and one whose step fails. */
const PROJECT_FILE = `
- step:
    name: copy
    image: debian
    command: cp "$VH_INPUTS_DIR"/labels/* "$VH_OUTPUTS_DIR/" && ls "$VH_INPUTS_DIR/labels"
    inputs:
      - name: labels
- step:
    name: echo
    image: debian
    command: echo {parameter-value:word}
    parameters:
      - name: word
        type: string
        default: hello
- step:
    name: slow
    image: debian
    command: sleep 30
`;

/** A service on a free port, with a project named `files`. */
export interface TestService extends AsyncDisposable {
  service: Service;
  url: string;
  folder: string;
  /** Sends a request as an operator and reads the JSON of the answer. */
  api(method: string, path: string, body?: unknown): Promise<ApiAnswer>;
  /** Creates a trigger of the project `files` and answers its launch URL. */
  trigger(settings?: Record<string, unknown>): Promise<{ id: string; url: string }>;
  /** Stops the service, waits no longer than for what runs, and starts it again on the same data. */
  restart(): Promise<void>;
}

/** An answer of the operators' API. */
export interface ApiAnswer {
  status: number;
  headers: Headers;
  // The tests look into it by the API's contract.
  // deno-lint-ignore no-explicit-any
  body: any;
}

/** What a test may set of its service. */
export interface TestServiceOptions {
  settings?: Partial<ServiceSettings>;
  clock?: Clock;
  env?: Record<string, string>;
  artifacts?: ArtifactStore;
  network?: Network;
}

/** Starts a service on a data folder of its own. */
export async function startService(options: TestServiceOptions = {}): Promise<TestService> {
  const folder = await Deno.makeTempDir({ prefix: "hooklaunch-test-" });
  await Deno.mkdir(`${folder}/project`);
  await Deno.writeTextFile(`${folder}/project/valohai.yaml`, PROJECT_FILE);
  const start = () => startOn(`${folder}/data`, options);
  let service = await start();
  const api = async (method: string, path: string, body?: unknown): Promise<ApiAnswer> => {
    const answer = await fetch(`${service.url}/api/v0/${path}`, {
      method,
      // Where the test's own machine is a trusted proxy, this is what it must say.
      headers: { authorization: `Bearer ${ADMIN_TOKEN}`, "x-forwarded-proto": "https" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    const { status, headers } = answer;
    return { status, headers, body: text === "" ? null : JSON.parse(text) };
  };
  const put = await api("PUT", "projects/files/", {
    name: "files",
    directory: `${folder}/project`,
  });
  // Another instance on the same database may have made it.
  if (![200, 201].includes(put.status)) {
    throw new Error(`The project was refused: ${JSON.stringify(put.body)}`);
  }
  let triggers = 0;
  return {
    get service() {
      return service;
    },
    get url() {
      return service.url;
    },
    folder,
    api,
    async trigger(settings = {}) {
      const made = await api("POST", "triggers/", {
        name: `trigger-${++triggers}`,
        project: "files",
        actions: [{ type: "run_execution", step: "copy", payload_input_name: "labels" }],
        ...settings,
      });
      if (made.status === 201) return made.body;
      throw new Error(`The trigger was refused: ${JSON.stringify(made.body)}`);
    },
    async restart() {
      await service.close(0);
      service = await start();
    },
    async [Symbol.asyncDispose]() {
      // Long enough for what tests run, so that no process of theirs is left behind.
      await service.close(60_000);
      await Deno.remove(folder, { recursive: true });
    },
  };
}

/** Starts a service on a data folder. */
export function startOn(
  data: string,
  { settings, clock, env, artifacts, network }: TestServiceOptions,
): Promise<Service> {
  return Service.start({
    host: "127.0.0.1",
    port: 0,
    data,
    trustedProxies: [],
    dev: true,
    payloadBytesMax: 16 * 1024 * 1024,
    retention_days: 30,
    executionsMax: 4,
    stopTimeout_ms: 2_000,
    adminToken: ADMIN_TOKEN,
    ...settings,
  }, {
    clock: clock ?? systemClock,
    env: (name) => env?.[name],
    ...(artifacts && { artifacts }),
    ...(network && { network }),
  });
}

/** An HMAC condition over the body, by {@linkcode SECRET}, in `X-Signature`. */
export const HMAC_CONDITION = {
  type: "hmac",
  algorithm: "sha256",
  header: "X-Signature",
  prefix: "sha256=",
  secrets: [SECRET],
};

/** The header that {@linkcode HMAC_CONDITION} asks for. */
export function signature(body: string | Uint8Array, secret = SECRET): Record<string, string> {
  return { "x-signature": `sha256=${createHmac("sha256", secret).update(body).digest("hex")}` };
}

/** Waits until a run has ended, and reads its record. */
export function endOfRun(service: TestService, runId: string): Promise<ApiAnswer["body"]> {
  return eventually(async () => {
    const { status, body } = await service.api("GET", `runs/${runId}/`);
    return status === 200 && body.status !== "pending" ? body : undefined;
  }, { what: `the end of run ${runId}` });
}

/** Waits until an execution has ended, and reads its record. */
export function endOfExecution(service: TestService, id: string): Promise<ApiAnswer["body"]> {
  return eventually(async () => {
    const { status, body } = await service.api("GET", `executions/${id}/`);
    const ended = ["complete", "error", "stopped"].includes(body?.status);
    return status === 200 && ended ? body : undefined;
  }, { what: `the end of execution ${id}` });
}
