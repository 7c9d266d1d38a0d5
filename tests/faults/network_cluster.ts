/**
 * A stand-in for a Slurm cluster in a network namespace of its own, and the balancer by which the agents of its jobs
 * reach the service: it passes each connection to one instance after the other.
 *
 * Arguments: the address, the folder of jobs, and the addresses of instances.
 *
 * @module
 */
import { BALANCER_PORT, INSTANCE_PORT, SLURM_PORT } from "./network_stage.ts";

/** A connection that an instance has not accepted after so long goes to the next one. */
const CONNECT_MS = 1_000;

/** Its state is that of the API of Slurm. */
interface Job {
  job_id: number;
  name: string;
  comment: string;
  job_state: "RUNNING" | "COMPLETED" | "FAILED";
  exit_code: number;
}

const [address = "", folder = "", ...instances] = Deno.args;
const jobs = new Map<number, { job: Job; child: Deno.ChildProcess }>();
let submitted = 0;

Deno.serve({ hostname: address, port: SLURM_PORT, onListen() {} }, async (request) => {
  const [, , , kind, id = ""] = new URL(request.url).pathname.split("/");
  if (kind === "ping") return Response.json({ pings: [{ ping: "UP" }], errors: [] });
  if (kind === "jobs") {
    return Response.json({ jobs: Array.from(jobs.values(), ({ job }) => job), errors: [] });
  }
  if (id === "submit") return Response.json({ job_id: await submit(await request.json()) });
  const found = jobs.get(Number(id));
  if (found === undefined) {
    return Response.json({ errors: [{ error: "Invalid job id", error_number: 2017 }] });
  }
  if (request.method === "DELETE" && found.job.job_state === "RUNNING") found.child.kill("SIGTERM");
  return Response.json({ jobs: [found.job], errors: [] });
});
balance();
console.log("ready");

async function submit(
  { script, job: { name, comment } }: { script: string; job: { name: string; comment: string } },
): Promise<number> {
  // Before anything is waited for: several may be submitted at once.
  const job_id = ++submitted;
  const cwd = `${folder}/${job_id}`;
  await Deno.mkdir(cwd);
  await Deno.writeTextFile(`${cwd}/script`, script);
  const child = new Deno.Command("sh", {
    args: ["-c", "exec sh ./script >agent.out 2>&1"],
    cwd,
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  const job: Job = { job_id, name, comment, job_state: "RUNNING", exit_code: 0 };
  jobs.set(job_id, { job, child });
  void child.status.then(({ success, code }) => {
    job.job_state = success ? "COMPLETED" : "FAILED";
    job.exit_code = code << 8;
  });
  return job_id;
}

async function balance(): Promise<void> {
  let next = 0;
  for await (const client of Deno.listen({ hostname: address, port: BALANCER_PORT })) {
    void pass(client, next++);
  }
}

async function pass(client: Deno.Conn, first: number): Promise<void> {
  using _client = client;
  for (let attempt = 0; attempt < instances.length; attempt++) {
    const hostname = instances[(first + attempt) % instances.length] ?? "";
    const signal = AbortSignal.timeout(CONNECT_MS);
    const server = await Deno.connect({ hostname, port: INSTANCE_PORT, signal }).catch(() => {});
    if (server === undefined) continue;
    await Promise.allSettled([
      client.readable.pipeTo(server.writable),
      server.readable.pipeTo(client.writable),
    ]);
    return;
  }
}
