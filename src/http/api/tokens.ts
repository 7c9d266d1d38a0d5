/**
 * `/api/v0/tokens/`: the operators' tokens. A token is shown once, when it is made.
 *
 * @module
 */
import { Hono } from "@hono/hono";
import { STATUS_CODE } from "@std/http/status";
import { z } from "zod";
import { ConflictError, NotFoundError } from "../../platform/errors.ts";
import { nameSchema } from "../../projects/name_schema.ts";
import { parseWith } from "../../platform/schema.ts";
import type { Store } from "../../store/store.ts";
import {
  type AdminToken,
  createToken,
  type ListedToken,
  listTokens,
  removeToken,
  tokenId,
} from "../../store/records/tokens.ts";
import { tokenOf } from "./auth.ts";
import { readJson } from "./input.ts";
import { wholeListAnswer } from "./page_answer.ts";
import type { Operator } from "./operator.ts";

const TOKENS_MAX = 1_000;

/** What is sent for a token to be made. */
export const tokenSchema = z.strictObject({
  /** Who or what it is for. */
  name: nameSchema,
});

/** A token that was made: nobody is shown it again. */
export interface MadeToken extends ListedToken {
  token: string;
}

/**
 * The routes below `/api/v0/tokens`.
 *
 * @param hasEnvironmentToken whether `HOOKLAUNCH_ADMIN_TOKEN` is set, so that nobody is locked out
 */
export function tokenRoutes(
  { store, clock, bodies, baseUrl }: Operator,
  hasEnvironmentToken: boolean,
): Hono {
  /** They are made one after the other, so that two cannot take the same name. */
  let lastMade: Promise<unknown> = Promise.resolve();
  return new Hono({ strict: false })
    .get(
      "/",
      async (context) =>
        wholeListAnswer(context, baseUrl(), await listTokens(store), ({ id }) => id),
    )
    .post("/", async (context) => {
      const { name } = parseWith(tokenSchema, await readJson(context, bodies), "the token");
      const created_at = new Date(clock.now()).toISOString();
      const made = lastMade.then(() => makeToken(store, { name, created_at }));
      lastMade = made.catch(() => {});
      const token = await made;
      const answer: MadeToken = { id: tokenId(token), name, created_at, token };
      return context.json(answer, STATUS_CODE.Created, {
        location: `${baseUrl()}/api/v0/tokens/${answer.id}/`,
        "cache-control": "no-store",
      });
    })
    .delete("/:id", async (context) => {
      const id = context.req.param("id");
      const own = tokenOf(context);
      // Whoever comes with another token has shown that there is one that works.
      if (!hasEnvironmentToken && own !== undefined && tokenId(own) === id) {
        throw new ConflictError(
          `Cannot revoke token ${id}: it is the one that this request came with. ` +
            "Use another one, so that nobody is locked out",
        );
      }
      if (!await removeToken(store, id)) {
        throw new NotFoundError(`There is no token of the id ${id}`);
      }
      return context.body(null, STATUS_CODE.NoContent);
    });
}

async function makeToken(store: Store, { name, created_at }: AdminToken): Promise<string> {
  const tokens = await listTokens(store);
  if (tokens.length >= TOKENS_MAX) {
    throw new ConflictError(`Cannot make a token: there are ${TOKENS_MAX} already`);
  }
  if (tokens.some((token) => token.name === name)) {
    throw new ConflictError(`Cannot make a token: another is named "${name}"`);
  }
  return await createToken(store, { name, created_at });
}
