/**
 * Failures of ordering a certificate, each with what to do.
 *
 * @module
 */
import { HooklaunchError } from "../platform/errors.ts";

/** A problem document of an ACME server (RFC 8555 section 6.7). */
interface AcmeProblem {
  /** The part of its type behind `urn:ietf:params:acme:error:`. */
  type: string;
  detail: string;
}

const PREFIX = "urn:ietf:params:acme:error:";
const DETAIL_LENGTH_MAX = 500;

/** The advice, by the type of a problem. */
const ADVICE: Readonly<Record<string, string>> = {
  accountDoesNotExist: "It makes another account at the next try",
  caa: "Let the domain's CAA record name this authority, or remove it",
  connection:
    "Let the Internet reach port 80 of this machine: look at its firewall, its router and --acme-port",
  dns: "Let the A or AAAA record of the name lead to this machine",
  externalAccountRequired:
    "This authority wants an account of yours first: give its key with --acme-eab-kid and --acme-eab-hmac, or name another authority with --acme-directory",
  invalidContact: "Give an address that receives mail with --acme-email, or none",
  invalidProfile:
    "This authority has no certificates of this kind: name another one with --acme-directory",
  rateLimited:
    "Wait: it tries again at the time that the authority names. Try things out at its staging directory",
  rejectedIdentifier:
    "This authority issues none for the name: give another name, or another --acme-directory",
  tls:
    "Something in front of this machine answers port 80 with a redirect to HTTPS that fails: let the path /.well-known/acme-challenge/ through",
  unauthorized:
    "Something else answers for the name: let its DNS record lead to this machine, and /.well-known/acme-challenge/ on port 80 to this service",
  unsupportedIdentifier:
    "This authority issues none for such a name: for an IP address, name one that does with --acme-directory",
  userActionRequired: "The authority wants something of the owner of the account: read its message",
};

/** A certificate could not be ordered. The message says what failed, and what to do. */
export class AcmeError extends HooklaunchError {
  override readonly code = "acme_failed";

  /** @param retryAfter_ms the time before which the authority wants no other try, in milliseconds from now */
  constructor(
    what: string,
    { problem, retryAfter_ms = 0, advice = problem && ADVICE[problem.type] }: {
      problem?: AcmeProblem | undefined;
      retryAfter_ms?: number;
      advice?: string | undefined;
    } = {},
  ) {
    const said = problem === undefined ? "" : `: ${problem.detail} (${problem.type})`;
    super(`${what}${said}${advice === undefined ? "" : `. ${advice}`}`);
    this.type = problem?.type;
    this.said = said;
    this.retryAfter_ms = retryAfter_ms;
  }

  /** The type of the authority's problem, if it has told one. */
  readonly type: string | undefined;
  /** The authority's words, behind a colon; empty where it has told none. */
  readonly said: string;
  readonly retryAfter_ms: number;
}

/** Reads a problem document; that of a challenge is a part of its record. */
export function readProblem(document: unknown): AcmeProblem {
  const { type, detail, subproblems } = Object(document);
  const parts = Array.isArray(subproblems)
    ? subproblems.map((each) => String(Object(each).detail))
    : [];
  const text = [typeof detail === "string" ? detail : "no reason given", ...parts].join("; ");
  return {
    type: typeof type === "string" ? type.replace(PREFIX, "") : "unknown",
    detail: printable(text).slice(0, DETAIL_LENGTH_MAX),
  };
}

/** Reads `Retry-After`, in milliseconds from now. */
export function retryAfter_ms(headers: Headers): number {
  const text = headers.get("retry-after") ?? "";
  if (/^\d{1,9}$/.test(text)) return 1_000 * Number(text);
  // A date is taken as the distance to the server's own clock: that of this machine may be wrong.
  const sent_ms = Date.parse(headers.get("date") ?? "");
  const wait_ms = Date.parse(text) - (Number.isNaN(sent_ms) ? Date.now() : sent_ms);
  return Number.isNaN(wait_ms) ? 0 : Math.max(0, wait_ms);
}

function printable(text: string): string {
  // deno-lint-ignore no-control-regex
  return text.replaceAll(/[\x00-\x1f\x7f]+/g, " ");
}
