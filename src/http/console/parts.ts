/**
 * The parts of the service that the console uses.
 *
 * @module
 */
import type { Hono } from "@hono/hono";
import type { WrongTokens } from "../api/wrong_tokens.ts";
import type { BodyReader } from "../body.ts";
import type { SessionParts } from "./sessions.ts";

/** The parts of the service that the console uses. Pages use the API alone. */
export interface ConsoleParts extends SessionParts {
  /** Loads the operators' API. */
  api(): Promise<Hono>;
  /** Performs a request at a launch URL, as if it came from the browser of the operator. */
  launch(request: Request, env: unknown): Response | Promise<Response>;
  bodies: BodyReader;
  /** Counts the wrong tokens of the API and of the login together. */
  wrongTokens: WrongTokens;
  /** The address of the service as seen from outside, without a slash at the end. */
  baseUrl(): string;
}
