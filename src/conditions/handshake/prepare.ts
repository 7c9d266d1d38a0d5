/**
 * Handshakes that are ready for requests.
 *
 * @module
 */
import type { Answer } from "../answer.ts";
import { SHORT_NAMES_MAX } from "../body_limits.ts";
import type { Bindings } from "../cel/expression.ts";
import { beginEvaluation } from "../cel/functions.ts";
import { bind } from "../cel/variables.ts";
import type { CredentialField } from "../field.ts";
import type { LaunchRequest } from "../request.ts";
import { type ConfirmOptions, isConfirmed } from "./confirm.ts";
import { exampleOf, type HandshakeExample } from "./example.ts";
import { compileHandshake } from "./expression.ts";
import { isSigning } from "./nodes.ts";
import { secretFieldsOf } from "./credentials.ts";
import { compileResponse, renderText, templateOf } from "./response.ts";
import { HANDSHAKE_BODY_BYTES_MAX, type HandshakeRow } from "./row.ts";

/** The answer to a handshake, and the handshake's name in the log. */
export interface HandshakeReply {
  answer: Answer;
  handshake: string;
  /** The secret that the trigger log tells admins. */
  told?: string;
}

/** A handshake that is ready for requests. */
export interface PreparedHandshake {
  readonly name: string;
  readonly row: HandshakeRow;
  /** The reason why it answers nothing: its secret is not there. */
  readonly problem?: string | undefined;
  /** Its `when` compares with a secret. */
  readonly readsSecret: boolean;
  /** It signs tokens that are sent to it. */
  readonly isSigning: boolean;
  /** The fields that it compares with a secret or a signature: no log shows their values. */
  readonly credentials: readonly CredentialField[];
  /**
   * Answers a request; undefined for any other.
   *
   * @throws {UnavailableError} when the provider's URL cannot be fetched
   */
  answer(request: LaunchRequest): Promise<HandshakeReply | undefined>;
  /** Makes a request that is this handshake, as far as its expressions tell how. */
  example(word: string): HandshakeExample;
}

/** The name of a handshake, and its secret. */
export interface HandshakeOptions extends ConfirmOptions {
  name: string;
  problem?: string | undefined;
  /** The secret that a comparison means, for examples. */
  secretText?: string;
  /** Returns the secret that a comparison means, or the key that signs the answer to a request. */
  secretOf?(request: LaunchRequest): Uint8Array | undefined | Promise<Uint8Array | undefined>;
}

/**
 * Prepares a handshake.
 *
 * @throws {ExpressionError} when one of its expressions cannot be used
 */
export function prepareHandshake(row: HandshakeRow, options: HandshakeOptions): PreparedHandshake {
  const { name, problem, secretOf } = options;
  const when = row.when === undefined ? undefined : compileHandshake(row.when, true);
  const response = compileResponse(row.response);
  const confirm = row.confirm && { ...row.confirm, url: templateOf(row.confirm.url) };
  const tells = row.tells === undefined ? undefined : templateOf(row.tells);
  const templates = tells ? [...response.templates, tells] : response.templates;
  const read = templates.flatMap((template) => template.expressions);
  const expressions = [...when ? [when] : [], ...read, ...confirm?.url.expressions ?? []];
  const variables = new Set(expressions.flatMap((each) => [...each.variables]));
  const readsSecret = when?.variables.has("secret") === true;
  return {
    name,
    row,
    problem,
    readsSecret,
    isSigning: response.isSigning || when !== undefined && isSigning(when.expr),
    credentials: expressions.flatMap(({ expr }) => secretFieldsOf(expr)),
    example: (word) =>
      exampleOf(
        {
          when: when?.expr,
          others: read.map(({ expr }) => expr),
        },
        { secret: options.secretText ?? "", word },
      ),
    async answer(request) {
      if (problem !== undefined || !isSmall(request)) return undefined;
      beginEvaluation();
      const bindings: Bindings = { ...bind(variables, request), method: request.method };
      if (readsSecret) bindings.secret = await secretOf?.(request) ?? new Uint8Array();
      if (when && when.evaluate(bindings) !== true) return undefined;
      if (response.isSigning && !readsSecret) {
        const key = await secretOf?.(request);
        if (key === undefined) return undefined;
        bindings.secret = key;
      }
      const answer = response.render(bindings);
      const told = tells && renderText(tells, bindings);
      if (answer === undefined || tells && told === undefined) return undefined;
      if (confirm && !await isConfirmed(renderText(confirm.url, bindings), confirm.host, options)) {
        return undefined;
      }
      return { answer, handshake: name, ...(told !== undefined && { told }) };
    },
  };
}

/** Tells whether to read a request takes no more than a few milliseconds. */
function isSmall(request: LaunchRequest): boolean {
  return request.body.length <= HANDSHAKE_BODY_BYTES_MAX &&
    (request.bodySize()?.names ?? 0) <= SHORT_NAMES_MAX;
}
