/**
 * The schema of an engine's credential.
 *
 * @module
 */
import { z } from "zod";
import { CREDENTIAL_PLACE } from "./credential.ts";

/** The schema of the place of a credential. */
export const credentialSchema = z.string().max(2_048).regex(CREDENTIAL_PLACE, {
  error: "Expected {env:NAME} or {file:/absolute/path}",
}).describe("{env:NAME} or {file:/absolute/path}; a file is read anew for each request");
