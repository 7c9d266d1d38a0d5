/**
 * `/api/v0/triggers/`: reading and changing triggers.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import { STATUS_CODE } from "@std/http/status";
import { z } from "zod";
import type { Problem } from "../../platform/errors.ts";
import { isObject } from "../../platform/objects.ts";
import { childOf } from "../../platform/schema/pointer.ts";
import type { Listed } from "../../store/read/lists.ts";
import { triggerIdByName } from "../../store/records/triggers.ts";
import { type SaveOptions, settingsOf } from "../../triggers/revision.ts";
import { responseSchema } from "../../triggers/response.ts";
import { savedTriggerWarnings } from "../../triggers/save_warnings.ts";
import { triggerWarnings } from "../../triggers/review.ts";
import { withoutReadOnly } from "../../triggers/read_only.ts";
import { type Trigger, triggerSchema } from "../../triggers/trigger.ts";
import { isLimited, requireNoId, requireProject, requireReferences } from "./access.ts";
import { type Activity, activity, activityOf } from "./activity.ts";
import { answer, count, input, page, problem, text, time } from "./answer.ts";
import type { Authenticated } from "./auth.ts";
import { requireUnreadCredentials } from "./credential_reads.ts";
import { found } from "./finder.ts";
import { mergePatch } from "./input.ts";
import { operation } from "./operation.ts";
import type { Operator } from "./operator.ts";
import { authorOf } from "./origins.ts";
import { pageAnswer } from "./page_answer.ts";
import { triggerQuery, triggerSaveQuery } from "./queries.ts";
import type { Records } from "./records.ts";
import {
  expectedRevisions,
  IF_MATCH,
  logWarnings,
  REVISION_HEADER,
  revisionHeader,
} from "./revisions.ts";

const FIELDS: ReadonlySet<string> = new Set(Object.keys(triggerSchema.shape));
const RESPONSE_FIELDS: ReadonlySet<string> = new Set(
  responseSchema.options.flatMap(({ shape }) => Object.keys(shape)),
);
const LOCATION = { Location: "The address of the new trigger", ...REVISION_HEADER };

const trigger = answer<ShownTrigger>()(
  "Trigger",
  triggerSchema.extend({
    id: text,
    created_at: time,
    updated_at: time,
    moved_at: time.exactOptional().describe(
      "The time at which it came into its project; absent when it was made there",
    ),
    created_by: text.exactOptional().describe(
      "The name of the token of the operator who made it; absent where an earlier version did that",
    ),
    updated_by: text.exactOptional().describe("That of the operator who changed it last"),
    owner: z.enum(["file", "api"]).describe(
      "`file` where it was applied from a configuration file: the next apply makes it as the file says",
    ),
    file: text.exactOptional().describe("The configuration file that owns it"),
    revision: count.describe("The number of times that it was saved"),
    url: text.describe("The launch URL"),
    warnings: z.array(problem).describe(
      "What its owner should know. An answer to a save also has what the project's current commit lacks",
    ),
    activity: activity.exactOptional().describe("In lists that ask for it"),
  }),
);

const triggerInput = {
  schema: input("TriggerInput", triggerSchema),
  examples: {
    "Launch one step, for signed requests alone": {
      name: "retrain",
      project: "digits",
      conditions: [{ type: "hmac", preset: "github", secrets: ["{env:GITHUB_SECRET}"] }],
      actions: [{ type: "run_execution", step: "train", payload_input_name: "labels" }],
    },
  },
};

const triggerPatch = {
  schema: input(
    "TriggerPatch",
    patchOf(triggerSchema.shape).extend({
      response: z.looseObject({}).nullish().describe(
        "With its type it replaces the response; without, it changes some of its fields",
      ),
    }).describe("Fields of a trigger. null removes an optional one"),
    { hasOwnNull: true },
  ),
  examples: { "Disable a trigger": { enabled: false } },
};

/** The operations below `/triggers/` that read and change triggers. */
export const triggerOperations = [
  operation({
    id: "listTriggers",
    method: "get",
    path: "/triggers/",
    summary: "List the triggers",
    query: triggerQuery,
    answers: { 200: { schema: page(trigger) } },
    async perform({ api, records: seen, context, query }) {
      const { limit, cursor, name, activity: isCounted } = query;
      const { records, next } = name === undefined
        ? await api.triggers.list({ after: cursor, limit })
        : await triggersNamed(name, api);
      const results = await Promise.all(records.map(async (each): Promise<ShownTrigger> => ({
        ...shown(each, api),
        ...(isCounted && { activity: await activityOf(api, seen, each.id) }),
      })));
      return pageAnswer(context, api.baseUrl(), results, next);
    },
  }),
  operation({
    id: "createTrigger",
    method: "post",
    path: "/triggers/",
    limitedTokens: "checked",
    summary: "Create a trigger",
    query: triggerSaveQuery,
    body: triggerInput,
    answers: {
      200: { description: "With dry_run: nothing is stored", schema: trigger },
      201: { schema: trigger, headers: LOCATION },
    },
    async perform({ api, records, context, query, body }) {
      const { dry_run: isDryRun } = query;
      const save = saveOf({ records, context }, query);
      const created = await api.triggers.create(withoutReadOnly(body), save);
      const answer = await saved(created, api, save);
      if (isDryRun) return context.json(answer);
      return context.json(answer, STATUS_CODE.Created, {
        location: `${api.baseUrl()}/api/v0/triggers/${created.id}/`,
        ...revisionHeader(created),
      });
    },
  }),
  operation({
    id: "getTrigger",
    method: "get",
    path: "/triggers/{id}/",
    summary: "Read a trigger",
    answers: { 200: { schema: trigger, headers: REVISION_HEADER } },
    async perform({ api, context, params: { id } }) {
      const trigger = await found("trigger", id, api.triggers.get(id));
      return context.json(shown(trigger, api), 200, revisionHeader(trigger));
    },
  }),
  operation({
    id: "replaceTrigger",
    method: "put",
    path: "/triggers/{id}/",
    summary: "Replace a trigger",
    query: triggerSaveQuery,
    headers: IF_MATCH,
    body: triggerInput,
    answers: { 200: { schema: trigger, headers: REVISION_HEADER } },
    async perform({ api, records, context, params: { id }, query, body }) {
      const settings = withoutReadOnly(body);
      const save = saveOf({ records, context }, query);
      const replaced = await api.triggers.update(id, () => settings, save);
      return context.json(await saved(replaced, api, save), 200, revisionHeader(replaced));
    },
  }),
  operation({
    id: "patchTrigger",
    method: "patch",
    path: "/triggers/{id}/",
    summary: "Change a trigger by a JSON Merge Patch (RFC 7396)",
    query: triggerSaveQuery,
    headers: IF_MATCH,
    body: triggerPatch,
    answers: { 200: { schema: trigger, headers: REVISION_HEADER } },
    async perform({ api, records, context, params: { id }, query, body }) {
      const patch = withoutReadOnly(body);
      const save = saveOf({ records, context }, query);
      const patched = await api.triggers.update(
        id,
        (current) => patchSettings(settingsOf(current), patch),
        save,
      );
      return context.json(await saved(patched, api, save), 200, revisionHeader(patched));
    },
  }),
  operation({
    id: "deleteTrigger",
    method: "delete",
    path: "/triggers/{id}/",
    summary: "Delete a trigger",
    description:
      "Its launch URL is gone for good: no other trigger gets its id. Its deliveries, its log and what it has " +
      "launched stay until their retention ends, and are found by its name until another trigger has it.",
    headers: IF_MATCH,
    answers: { 204: {} },
    async perform({ api, context, params: { id } }) {
      await api.triggers.delete(id, { expected: expectedRevisions(context) });
      await api.keptRequests.forget(id);
      return context.body(null, STATUS_CODE.NoContent);
    },
  }),
];

/** One change of a trigger. */
interface Save extends SaveOptions {
  isDryRun: boolean;
  /** The warnings about its secrets. */
  warnings: Problem[];
}

/** Makes the terms of a change: what the token of a request may save, and the revision that it expects. */
function saveOf(
  { records, context }: { records: Records; context: Context },
  { dry_run: isDryRun, file }: z.output<typeof triggerSaveQuery>,
): Save {
  // The caller has put it there.
  const { access }: Authenticated = context.env;
  const warnings: Problem[] = [];
  return {
    expected: expectedRevisions(context),
    isDryRun,
    author: authorOf(context),
    file,
    async authorize(written, current) {
      requireProject(access, written.project, current?.project);
      if (current === undefined) requireNoId(access, written);
      requireReferences(access, written, current);
      requireUnreadCredentials(access, written, current);
      await records.requireSources(written.actions, current?.actions);
    },
    onWarnings: (found) => warnings.push(...found),
    // Whoever may not see all triggers learns of none that it has guessed a secret.
    ...(!isLimited(access) && {
      onSharedSecrets: (found: readonly Problem[]) => void warnings.push(...found),
    }),
    warnings,
  };
}

/**
 * Applies a merge patch to a trigger's settings. A response that names its type replaces the whole one
 * before: merged, it would keep what that one held, and lose what is null.
 */
function patchSettings(settings: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const patched = { ...Object(mergePatch(settings, patch)), ...unknownNulls(patch, FIELDS) };
  const response = childOf(patch, "response");
  const type = childOf(response, "type");
  if (type === undefined) {
    if (!isObject(response)) return patched;
    return {
      ...patched,
      response: { ...patched.response, ...unknownNulls(response, RESPONSE_FIELDS) },
    };
  }
  // null is a value of the field `json`; any other field it leaves out.
  const fields = Object.entries(Object(response))
    .filter(([name, value]) => value !== null || name === type || !RESPONSE_FIELDS.has(name));
  return { ...patched, response: Object.fromEntries(fields) };
}

/** Returns the fields of a patch that are null and unknown. The schema refuses them; a merge forgets them. */
function unknownNulls(patch: unknown, known: ReadonlySet<string>): Record<string, unknown> {
  const fields = Object.entries(Object(patch));
  return Object.fromEntries(fields.filter(([name, value]) => value === null && !known.has(name)));
}

/** The schema of a merge patch: every field may be left out, and optional ones may be null. */
function patchOf(shape: Readonly<Record<string, z.ZodType>>) {
  const fields = Object.entries(shape).map(([name, schema]) => {
    const written = schema instanceof z.ZodDefault ? schema.unwrap() : schema;
    const isRequired = !schema.safeParse(undefined).success;
    return [name, isRequired ? z.optional(written) : z.nullish(written)];
  });
  return z.strictObject(Object.fromEntries(fields));
}

/** Reads the trigger of a name, as a list of one or none. */
async function triggersNamed(
  name: string,
  { store, triggers }: Operator,
): Promise<Listed<Trigger>> {
  const id = await triggerIdByName(store, name);
  const trigger = id === undefined ? undefined : await triggers.get(id);
  return { records: trigger === undefined ? [] : [trigger], next: undefined };
}

/** A trigger as the API shows it. */
export type ShownTrigger = ReturnType<typeof shown> & { activity?: Activity };

/** Shows a trigger that was just saved, with all that can be known of it, and logs its warnings. */
async function saved(
  trigger: Trigger,
  api: Operator,
  { isDryRun, warnings: ofSecrets }: Save,
): Promise<ShownTrigger> {
  const warnings = [...ofSecrets, ...await savedTriggerWarnings(trigger, api)];
  if (!isDryRun) logWarnings("trigger", trigger.name, warnings);
  return { ...shown(trigger, api), warnings };
}

function shown(trigger: Trigger, { baseUrl, env }: Operator) {
  const { created_by, updated_by, ...rest } = trigger;
  return {
    ...rest,
    ...(created_by !== undefined && { created_by: created_by.name }),
    ...(updated_by !== undefined && { updated_by: updated_by.name }),
    owner: trigger.file === undefined ? "api" as const : "file" as const,
    url: `${baseUrl()}/api/v0/launch/${trigger.id}/`,
    warnings: triggerWarnings(trigger, env),
  };
}
