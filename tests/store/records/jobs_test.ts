/** The records of jobs. */
import { assertEquals } from "@std/assert";
import { type Job, jobWrite, listJobs } from "../../../src/store/records/jobs.ts";
import { storeInMemory } from "../fixture.ts";

Deno.test("the jobs of an engine are listed, and those of another one are left to that", async () => {
  await using store = await storeInMemory();
  const jobOf = (id: string, engine: string): Job => ({
    id,
    engine,
    attempt: 0,
    state: "closed",
    submissions: 1,
    tokens: [],
    stored: { stdout: 0, stderr: 0 },
    in_long_line: [],
    log_bytes: 0,
  });
  const jobs = [jobOf("1", "slurm"), jobOf("2", "kubernetes"), jobOf("3", "slurm")];
  await store.committer.write(jobs.map(jobWrite));
  const listed = async (engine: string) => (await listJobs(store, engine)).map(({ id }) => id);
  assertEquals([await listed("slurm"), await listed("kubernetes")], [["1", "3"], ["2"]]);
});
