/**
 * The kinds of heavy work.
 *
 * @module
 */
import type { JobKinds } from "../platform/heavy_work/job.ts";

/** The kinds of heavy work: each loads its job when it is first needed. */
export const heavyJobs = {
  config_file: async () => (await import("../projects/format/config_job.ts")).readConfigJob,
  body_part: async () => (await import("../conditions/body_part.ts")).bodyPartJob,
  decode_body: async () => (await import("../conditions/decoding/job.ts")).decodeJob,
  values: async () => (await import("../conditions/values/evaluate.ts")).valuesJob,
  delivery_key: async () => (await import("../conditions/delivery_key.ts")).deliveryKeyJob,
  filter: async () => (await import("../conditions/filter/job.ts")).filterJob,
  schema: async () => (await import("../conditions/json_schema/job.ts")).schemaJob,
  shape: async () => (await import("../conditions/json_schema/shape_job.ts")).shapeJob,
} satisfies JobKinds;
