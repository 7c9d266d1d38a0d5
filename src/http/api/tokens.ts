/**
 * `/api/v0/tokens/`: the operators' tokens. A token is shown once, when it is created.
 *
 * @module
 */
import { STATUS_CODE } from "@std/http/status";
import { z } from "zod";
import { ConflictError, NotFoundError } from "../../platform/errors.ts";
import { parseWith } from "../../platform/schema/schema.ts";
import { newNameSchema } from "../../projects/name_schema.ts";
import {
  type AdminToken,
  createToken,
  getToken,
  type ListedToken,
  listTokens,
  removeToken,
  SCOPES,
  tokenHash,
  tokenId,
} from "../../store/records/tokens.ts";
import type { Store } from "../../store/store.ts";
import { answer, input, page, text, time } from "./answer.ts";
import type { Authenticated } from "./auth.ts";
import { operation } from "./operation.ts";
import { wholeListAnswer } from "./page_answer.ts";
import { tokenQuery } from "./queries.ts";

const TOKENS_MAX = 1_000;

/** A token, as operators see it. */
interface ShownToken extends Omit<ListedToken, "granted_by"> {
  /** It was made by `hooklaunch login`. */
  by_login?: true;
}

/** A token that was just created. It is not shown again. */
export interface MadeToken extends Omit<ListedToken, "last_used_at" | "granted_by"> {
  token: string;
}

const tokenFields = {
  id: text,
  name: text,
  created_at: time,
  scope: z.enum(SCOPES).exactOptional().describe("admin when absent"),
  triggers: z.array(text).exactOptional().describe("The triggers that it is limited to"),
  projects: z.array(text).exactOptional().describe("The projects that it is limited to"),
  expires_at: time.exactOptional(),
  last_used_at: time.exactOptional().describe("Known to a minute; absent when it was never used"),
  by_login: z.literal(true).exactOptional().describe(
    "Set where `hooklaunch login` has made it: it ends with the login of who confirmed that",
  ),
};
const listedToken = answer<ShownToken>()("Token", z.object(tokenFields));
const { last_used_at: _unused, by_login: _login, ...madeFields } = tokenFields;
const madeToken = answer<MadeToken>()("MadeToken", z.object({ ...madeFields, token: text }));

/** Names of triggers or projects. */
const limits = z.array(z.string().normalize("NFC").min(1).max(64)).min(1).max(100).exactOptional();

const tokenInput = input(
  "TokenInput",
  z.strictObject({
    name: newNameSchema.describe("The person or program that uses it"),
    scope: z.enum(SCOPES).default("admin").describe(
      "read: see everything; operate: also run, repeat and stop work; admin: also change everything",
    ),
    triggers: limits.describe("Limits it to these triggers, by name or id"),
    projects: limits.describe("Limits it to these projects"),
    expires_at: z.iso.datetime({ offset: true }).exactOptional()
      .describe("It opens nothing from then on; it does not expire when absent"),
  }),
  // A field that is absent allows more: null is refused, not taken for it.
  { hasOwnNull: true },
);

/** The operations below `/tokens/`. */
export const tokenOperations = [
  operation({
    id: "listTokens",
    method: "get",
    path: "/tokens/",
    scope: "admin",
    summary: "List the operators' tokens",
    query: tokenQuery,
    answers: { 200: { schema: page(listedToken) } },
    async perform({ api, context, query }) {
      const keyOf = ({ id }: ShownToken) => id;
      const all = (await listTokens(api.store)).map(shown);
      return wholeListAnswer(context, api.baseUrl(), all, { ...query, keyOf });
    },
  }),
  operation({
    id: "createToken",
    method: "post",
    path: "/tokens/",
    summary: "Create a token",
    description: "The answer shows the token. It is not shown again.",
    body: {
      schema: tokenInput,
      examples: {
        "A token for CI": { name: "ci" },
        "A token that only sees one project": { name: "ada", scope: "read", projects: ["digits"] },
      },
    },
    answers: {
      201: { schema: madeToken, headers: { Location: "The address of the new token" } },
    },
    async perform({ api: { store, clock, triggers, baseUrl }, context, body }) {
      const settings = parseWith(tokenInput, body, "the token");
      const made = { ...settings, created_at: new Date(clock.now()).toISOString() };
      // One at a time, as changes of triggers: two must not take the same name.
      const token = await triggers.between(() => makeToken(store, made));
      const answer: MadeToken = { id: tokenId(tokenHash(token)), ...made, token };
      return context.json(answer, STATUS_CODE.Created, {
        location: `${baseUrl()}/api/v0/tokens/${answer.id}/`,
        "cache-control": "no-store",
      });
    },
  }),
  operation({
    id: "revokeToken",
    method: "delete",
    path: "/tokens/{id}/",
    summary: "Revoke a token",
    answers: { 204: {} },
    async perform({ api: { store, hasEnvironmentToken }, context, params: { id } }) {
      // The caller has put it there.
      const { access, grant }: Authenticated = context.env;
      const own = await getToken(store, grant.token_hash ?? "");
      const isGround = tokenId(own?.granted_by?.token_hash ?? "") === id;
      // A request with another token proves that another token works.
      if (!hasEnvironmentToken && (access.id === id || isGround)) {
        const why = isGround ? "the login of this request rests on it" : "this request uses it";
        throw new ConflictError(
          `Cannot revoke token ${id}: ${why}. Use another token, so that nobody is locked out`,
        );
      }
      if (!await removeToken(store, id)) {
        throw new NotFoundError(`There is no token of the id ${id}`);
      }
      return context.body(null, STATUS_CODE.NoContent);
    },
  }),
];

function shown({ granted_by, ...token }: ListedToken): ShownToken {
  return { ...token, ...(granted_by !== undefined && { by_login: true as const }) };
}

async function makeToken(store: Store, made: AdminToken): Promise<string> {
  const { name } = made;
  const tokens = await listTokens(store);
  if (tokens.length >= TOKENS_MAX) {
    throw new ConflictError(`Cannot create a token: there are ${TOKENS_MAX} already`);
  }
  if (tokens.some((token) => token.name === name)) {
    throw new ConflictError(`Cannot create a token: another is named "${name}"`);
  }
  return await createToken(store, made);
}
