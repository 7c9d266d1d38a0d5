/**
 * The parts of the service that the console uses.
 *
 * @module
 */
import type { Hono } from "@hono/hono";
import type { BodyReader } from "../body.ts";
import type { IssuerLoginParts } from "./issuer_logins.ts";

/** The parts of the service that the console uses. Pages use the API alone. */
export interface ConsoleParts extends IssuerLoginParts {
  /** Loads the operators' API. */
  api(): Promise<Hono>;
  /** Performs a request at a launch URL, as if it came from the browser of the operator. */
  launch(request: Request, env: unknown): Response | Promise<Response>;
  bodies: BodyReader;
}
