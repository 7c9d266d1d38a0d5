/**
 * The clusters of the benchmark, each with its own way to start a command.
 *
 * @module
 */
import type { EngineSettings } from "../../src/store/records/projects.ts";
import { KubernetesCluster } from "../engines/kubernetes/fixture.ts";
import { SlurmCluster } from "../engines/slurm/slurm_cluster.ts";
import { eventually } from "../surroundings.ts";

/** The command prints the time of this machine. Not every `date` has parts of seconds. */
const LOOK = "cut -d ' ' -f 1 /proc/uptime";
const WITHIN_MS = 60_000;

/** A cluster that runs. */
export interface TimedCluster extends AsyncDisposable {
  /** The step of the project that runs on it. */
  readonly step: { image: string; command: string };
  /** The name of its own figure. */
  readonly own: string;
  /** The requests of one look at all jobs. */
  readonly lists: number;
  /** The settings of a project. Its jobs do not start when they are held. */
  settings(options: { isHeld: boolean }): EngineSettings;
  /** Has the cluster itself run the command; returns the time until its look at the clock. */
  startOnce(): Promise<number>;
  /** Returns the number of jobs that it has and does not start. */
  heldJobs(): Promise<number>;
}

/** Starts Slurm. Its own figure is a submission to slurmrestd. */
export async function startSlurm(folder: string): Promise<TimedCluster> {
  const cluster = await SlurmCluster.start();
  const token = await Deno.readTextFile(cluster.tokenFile);
  return {
    step: { image: "none", command: LOOK },
    own: "slurmrestd's submission of a job until its script starts",
    lists: 1,
    settings: ({ isHeld }) => cluster.settings({ extra: isHeld ? { hold: true } : {} }),
    startOnce: () =>
      timed(folder, async (file) => {
        const answer = await fetch(`${cluster.url}/slurm/v0.0.38/job/submit`, {
          method: "POST",
          headers: {
            "x-slurm-user-name": "root",
            "x-slurm-user-token": token,
            "content-type": "application/json",
          },
          body: JSON.stringify({
            script: `#!/bin/sh\n${written(file)}`,
            job: {
              current_working_directory: cluster.jobs,
              standard_output: "/dev/null",
              standard_error: "/dev/null",
              environment: { PATH: "/usr/bin:/bin" },
              tasks: 1,
            },
          }),
        });
        const said = await answer.text();
        if (!answer.ok) throw new Error(`Slurm did not take the job: ${said}`);
      }),
    async heldJobs() {
      const listed = await cluster.command("squeue -h -t PENDING -o %i");
      return listed.split("\n").filter(Boolean).length;
    },
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  };
}

/** Starts Kubernetes. Its own figure is the creation of a Job. */
export async function startKubernetes(folder: string): Promise<TimedCluster> {
  const cluster = await KubernetesCluster.start();
  const image = "docker.io/test/tools:1";
  return {
    step: { image, command: LOOK },
    own: "the creation of a Job until its container's command starts",
    // Pods, and, as some jobs have none, Jobs.
    lists: 2,
    settings: ({ isHeld }) => cluster.settings(isHeld ? { queue: "none" } : {}),
    startOnce: () =>
      timed(folder, async (file) => {
        await cluster.ask("POST", "/apis/batch/v1/namespaces/ml/jobs", {
          apiVersion: "batch/v1",
          kind: "Job",
          metadata: { name: `bench-${crypto.randomUUID()}` },
          spec: {
            backoffLimit: 0,
            ttlSecondsAfterFinished: 0,
            template: {
              spec: {
                restartPolicy: "Never",
                hostNetwork: true,
                containers: [{
                  name: "main",
                  image,
                  command: ["sh", "-c", written(file)],
                  volumeMounts: [{ name: "out", mountPath: folder }],
                }],
                volumes: [{ name: "out", hostPath: { path: folder } }],
              },
            },
          },
        });
      }),
    heldJobs: async () => (await cluster.objects("jobs")).length,
    [Symbol.asyncDispose]: () => cluster.stop(),
  };
}

/** Returns a script that leaves the time in a file, whole or not at all. */
function written(file: string): string {
  return `${LOOK} >${file}.part && mv ${file}.part ${file}\n`;
}

async function timed(folder: string, submit: (file: string) => Promise<void>): Promise<number> {
  const file = `${folder}/${crypto.randomUUID()}`;
  const began_ms = Date.now();
  await submit(file);
  const read = () => Deno.readTextFile(file).catch(() => undefined);
  const text = await eventually(read, { within_ms: WITHIN_MS, what: "the start of the command" });
  return uptimeAsEpoch_ms(text) - began_ms;
}

/** Returns seconds since the start of this machine as a time, in milliseconds. */
export function uptimeAsEpoch_ms(text: string): number {
  const uptime_s = Number(Deno.readTextFileSync("/proc/uptime").split(" ")[0]);
  return Date.now() + (Number(text) - uptime_s) * 1_000;
}
