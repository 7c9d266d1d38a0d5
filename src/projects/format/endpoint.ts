/**
 * Endpoints of deployments. They are validated, so that a file is valid here if it is valid
 * elsewhere; Hooklaunch does not run them.
 *
 * @module
 */
import { z } from "zod";
import { refuseField } from "../../platform/schema/schema.ts";
import { booleanSchema, textListSchema } from "./fields.ts";
import { rangeSchema, resourcesSchema } from "./step/requirements.ts";

export interface Endpoint {
  name: string;
}

const tolerationSchema = z.strictObject({
  key: z.string().optional(),
  operator: z.enum(["Exists", "Equal"]).optional(),
  value: z.string().optional(),
  effect: z.enum(["PreferNoSchedule", "NoSchedule", "NoExecute"]).optional(),
}).superRefine(({ key, operator }, context) => {
  if (key !== undefined || operator === undefined || operator === "Exists") return;
  refuseField(context, ["operator"], 'Expected a key, or the operator "Exists"');
});

const mountPath = z.string().regex(/^\//, { error: "Expected an absolute path" });

const sharedVolumeSchema = z.strictObject({
  "pvc-name": z.string(),
  "mount-path": mountPath,
  "sub-path": z.string().regex(/^(?!\/)/, { error: "Expected a relative path" }).optional(),
  "read-only": booleanSchema.optional(),
});

const workspaceVolumeSchema = z.strictObject({
  "mount-path": mountPath,
  size: z.int().min(1),
  "storage-class-name": z.string().optional(),
});

const fields = z.strictObject({
  name: z.string().regex(/^[a-z][a-z0-9-]+$/, {
    error: "Expected lower-case letters, digits and hyphens, a letter first",
  }),
  description: z.string().optional(),
  image: z.string(),
  "server-command": textListSchema.optional(),
  wsgi: z.string().optional(),
  port: z.number().min(1025).max(65535).optional(),
  files: z.array(z.strictObject({
    name: z.string(),
    path: z.string(),
    description: z.string().optional(),
  })).optional(),
  resources: resourcesSchema.extend({ "ephemeral-storage": rangeSchema.optional() }).optional(),
  "node-selector": z.string().regex(/=/, { error: 'Expected a selector such as "label=value"' })
    .optional(),
  tolerations: z.array(tolerationSchema).optional(),
  "workspace-volume": workspaceVolumeSchema.optional(),
  "shared-volumes": z.array(sharedVolumeSchema).optional(),
});

export const endpointSchema = fields.superRefine((written, context) => {
  for (const index of twiceMounted(written)) {
    const path = ["shared-volumes", index, "mount-path"];
    refuseField(context, path, "Expected a path that no other volume is mounted at");
  }
  const servers = [written["server-command"], written.wsgi].filter((each) => each !== undefined);
  if (servers.length === 1) return;
  context.addIssue({
    code: "custom",
    input: servers.length === 0 ? undefined : servers,
    message: "Expected one of server-command and wsgi",
  });
}).transform(({ name }): Endpoint => ({ name }));

/** Returns the indexes of shared volumes with the mount path of another volume. */
function twiceMounted(written: z.infer<typeof fields>): number[] {
  const workspace = written["workspace-volume"]?.["mount-path"];
  const taken = new Set(workspace === undefined ? [] : [workspace]);
  return (written["shared-volumes"] ?? []).flatMap(({ "mount-path": path }, index) => {
    const isTaken = taken.has(path);
    taken.add(path);
    return isTaken ? [index] : [];
  });
}
