/**
 * `/api/v0/passkeys/`: the passkeys with which people log in to the console. They are added there, by who uses them.
 *
 * @module
 */
import { STATUS_CODE } from "@std/http/status";
import { z } from "zod";
import { NotFoundError } from "../../platform/errors.ts";
import {
  type ListedPasskey,
  listPasskeys,
  type Passkey,
  removePasskey,
} from "../../store/records/passkeys.ts";
import { answer, page, text, time } from "./answer.ts";
import type { Api } from "./api.ts";
import { operation } from "./operation.ts";
import { wholeListAnswer } from "./page_answer.ts";
import { tokenQuery } from "./queries.ts";

/** A passkey, as operators see it. */
export interface ShownPasskey
  extends Pick<ListedPasskey, "id" | "name" | "owner" | "created_at" | "last_used_at"> {
  /** The name of the token or the person that it rests on; absent when it opens nothing now. */
  login?: string;
}

const passkey = answer<ShownPasskey>()(
  "Passkey",
  z.object({
    id: text,
    name: text.describe("The name of the device or the key"),
    owner: text.describe("The name of who uses it"),
    created_at: time,
    last_used_at: time.exactOptional().describe("Absent when it was never used"),
    login: text.exactOptional().describe(
      "The name of the token or the person that it rests on; absent when that opens nothing now",
    ),
  }),
);

/** The operations below `/passkeys/`. */
export const passkeyOperations = [
  operation({
    id: "listPasskeys",
    method: "get",
    path: "/passkeys/",
    scope: "admin",
    summary: "List the passkeys of all people",
    query: tokenQuery,
    answers: { 200: { schema: page(passkey) } },
    async perform({ api, context, query }) {
      const all = await Promise.all(
        (await listPasskeys(api.store)).map((each) => shown(each, api)),
      );
      const keyOf = ({ id }: ShownPasskey) => id;
      return wholeListAnswer(context, api.baseUrl(), all, { ...query, keyOf });
    },
  }),
  operation({
    id: "removePasskey",
    method: "delete",
    path: "/passkeys/{id}/",
    summary: "Remove a passkey, and end its sessions",
    answers: { 204: {} },
    async perform({ api: { store }, context, params: { id } }) {
      if (await removePasskey(store, id) === undefined) {
        throw new NotFoundError(`There is no passkey of the id ${id}`);
      }
      return context.body(null, STATUS_CODE.NoContent);
    },
  }),
];

async function shown(
  { id, name, owner, created_at, last_used_at, ...grant }: ListedPasskey,
  { checkGrant }: Api,
): Promise<ShownPasskey> {
  const access = await checkGrant(groundsOf(grant), { isUse: false });
  return {
    id,
    name,
    owner,
    created_at,
    ...(last_used_at !== undefined && { last_used_at }),
    ...(access !== undefined && { login: access.name }),
  };
}

function groundsOf({ token_hash, person = "" }: Pick<Passkey, "token_hash" | "person">) {
  return token_hash === undefined ? { person } : { token_hash };
}
