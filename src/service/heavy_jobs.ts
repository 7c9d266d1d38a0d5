/**
 * The Worker that runs heavy work. `deno task compile` names this file, as nothing imports it.
 *
 * @module
 */
import { serveJobs } from "../platform/heavy_work/serve_jobs.ts";
import { heavyJobs } from "./job_kinds.ts";

serveJobs(heavyJobs);
