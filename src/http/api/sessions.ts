/**
 * `/api/v0/sessions/`: the sessions of operators in the console.
 *
 * @module
 */
import { STATUS_CODE } from "@std/http/status";
import { z } from "zod";
import { NotFoundError } from "../../platform/errors.ts";
import type { Grant } from "../../store/records/passkeys.ts";
import {
  grantOf,
  listSessions,
  removeSession,
  type Session,
} from "../../store/records/sessions.ts";
import { answer, page, text, time } from "./answer.ts";
import { operation } from "./operation.ts";
import type { Api } from "./api.ts";
import { wholeListAnswer } from "./page_answer.ts";
import { sessionQuery } from "./queries.ts";

/** A session, as operators see it. */
export interface ShownSession extends Omit<Session, keyof Grant | "id_token"> {
  /** The name of the token that it was opened with, or of the person. */
  token: string;
  /** The identity provider at which the person has logged in. */
  issuer?: string;
}

const session = answer<ShownSession>()(
  "Session",
  z.object({
    id: text,
    token: text.describe("The name of the token that it was opened with, or of the person"),
    issuer: text.exactOptional().describe(
      "The identity provider at which the person has logged in",
    ),
    created_at: time,
    expires_at: time,
    remote_ip: text,
    user_agent: text.describe("The browser, as it names itself"),
  }),
);

/** The operations below `/sessions/`. */
export const sessionOperations = [
  operation({
    id: "listSessions",
    method: "get",
    path: "/sessions/",
    scope: "admin",
    summary: "List the sessions in the console",
    query: sessionQuery,
    answers: { 200: { schema: page(session) } },
    async perform({ api, context, query }) {
      const keyOf = ({ id }: ShownSession) => id;
      return wholeListAnswer(context, api.baseUrl(), await openSessions(api), { ...query, keyOf });
    },
  }),
  operation({
    id: "endSession",
    method: "delete",
    path: "/sessions/{id}/",
    summary: "End a session in the console",
    answers: { 204: {} },
    async perform({ api: { store }, context, params: { id } }) {
      if (!await removeSession(store, id)) {
        throw new NotFoundError(`There is no session of the id ${id}`);
      }
      return context.body(null, STATUS_CODE.NoContent);
    },
  }),
];

/** Returns the sessions that have not expired and whose grounds still hold. */
async function openSessions({ store, clock, checkGrant }: Api): Promise<ShownSession[]> {
  const shown = await Promise.all(
    (await listSessions(store)).map(async (stored) => {
      const { token_hash: _hash, person: _person, id_token: _token, passkey: _key, ...session } =
        stored;
      if (Date.parse(session.expires_at) <= clock.now()) return [];
      const access = await checkGrant(grantOf(stored), { isUse: false });
      if (access === undefined) return [];
      const { name, issuer } = access;
      return [{ ...session, token: name, ...(issuer !== undefined && { issuer }) }];
    }),
  );
  return shown.flat();
}
