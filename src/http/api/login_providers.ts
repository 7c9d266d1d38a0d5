/**
 * `/api/v0/login-providers/`: the identity providers at which people log in, as the configuration file names them.
 *
 * @module
 */
import { z } from "zod";
import { redirectUri } from "../../logins/issuer_url.ts";
import {
  type LoginProvider,
  loginProviders,
  providerKey,
} from "../../store/records/login_providers.ts";
import { SCOPES } from "../../store/records/tokens.ts";
import { answer, page, text } from "./answer.ts";
import { operation } from "./operation.ts";
import { wholeListAnswer } from "./page_answer.ts";
import { tokenQuery } from "./queries.ts";

/** A provider, as operators see it. */
export interface ShownLoginProvider extends Omit<LoginProvider, "client_secret"> {
  id: string;
  /** The address to register there. */
  redirect_uri: string;
}

const provider = answer<ShownLoginProvider>()(
  "LoginProvider",
  z.object({
    id: text,
    name: text.describe("The name on its button"),
    type: z.enum(["oidc", "github"]),
    issuer: text,
    client_id: text,
    scopes: z.array(text),
    roles: z.array(z.object({
      when: text,
      scope: z.enum(SCOPES),
      triggers: z.array(text).exactOptional(),
      projects: z.array(text).exactOptional(),
    })),
    redirect_uri: text.describe("The address to register at the provider"),
  }),
);

/** The operations below `/login-providers/`. */
export const loginProviderOperations = [
  operation({
    id: "listLoginProviders",
    method: "get",
    path: "/login-providers/",
    scope: "admin",
    summary: "List the identity providers at which people log in",
    query: tokenQuery,
    answers: { 200: { schema: page(provider) } },
    async perform({ api: { store, baseUrl }, context, query }) {
      const all = (await loginProviders(store)).map(({ client_secret: _, ...shown }) => ({
        id: providerKey(shown),
        ...shown,
        redirect_uri: redirectUri(baseUrl()),
      }));
      const keyOf = ({ id }: ShownLoginProvider) => id;
      return wholeListAnswer(context, baseUrl(), all, { ...query, keyOf });
    },
  }),
];
