/**
 * Requests to identity providers: by HTTPS, without redirects, and with limits of time and size.
 *
 * @module
 */
import { joinedBytes } from "../platform/joined_bytes.ts";
import { isLoopbackHost } from "./issuer_url.ts";
import { LoginError } from "./failure.ts";
import { messageOf } from "../platform/errors.ts";

const TIMEOUT_MS = 10_000;
const ANSWER_BYTES_MAX = 1024 * 1024;

/** The requests to one issuer. */
export interface IssuerRequests {
  /** The difference of the issuer's clock to that of this machine, as its last answer tells; undefined where none does. */
  readonly ahead_ms: number | undefined;
  /**
   * Sends a request, and reads the answer whole.
   *
   * @throws {LoginError} when there is no answer, or a redirect
   */
  fetch(url: string, init?: IssuerRequest): Promise<Response>;
  /** @throws {LoginError} when an address is not HTTPS, and not of this machine with `--dev` */
  check(url: string): void;
}

/** The parts of a request. */
interface IssuerRequest {
  method?: string;
  headers?: HeadersInit;
  body?: BodyInit | null | undefined;
}

/**
 * Makes the requests to an issuer.
 *
 * @param options `http`: plain HTTP is allowed to this machine
 */
export function issuerRequests(
  { name, http, now }: { name: string; http: boolean; now: () => number },
): IssuerRequests {
  let ahead_ms: number | undefined;
  const check = (written: string) => {
    const { protocol, hostname, origin } = new URL(written);
    if (protocol === "https:" || protocol === "http:" && http && isLoopbackHost(hostname)) return;
    throw new LoginError(
      "http_refused",
      `${name} names an address that is not HTTPS: ${origin}`,
      "Plain HTTP is for this machine alone, with --dev.",
    );
  };
  return {
    check,
    get ahead_ms() {
      return ahead_ms;
    },
    async fetch(written, init = {}) {
      check(written);
      const url = new URL(written);
      const answer = await exchange(name, url, init);
      const date_ms = Date.parse(answer.headers.get("date") ?? "");
      if (!Number.isNaN(date_ms)) ahead_ms = date_ms - now();
      return answer;
    },
  };
}

function unreachable(name: string, { host }: URL, why: string): LoginError {
  return new LoginError(
    "issuer_unreachable",
    `${name} cannot be reached at ${host}`,
    "Try again in a minute. If it stays so, log in with a token, and look at the service's log.",
    why,
  );
}

async function exchange(
  name: string,
  url: URL,
  { body: sent, ...init }: IssuerRequest,
): Promise<Response> {
  try {
    const answer = await fetch(url, {
      ...init,
      body: sent ?? null,
      redirect: "manual",
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const body = await readBody(answer);
    if (body === undefined) {
      throw unreachable(name, url, `it sends more than ${ANSWER_BYTES_MAX} bytes`);
    }
    const { status, headers } = answer;
    if (status >= 500) throw unreachable(name, url, `status ${status}`);
    if (status >= 300 && status < 400) {
      throw new LoginError(
        "discovery_wrong",
        `${name} redirects ${url.origin}${url.pathname} to another address`,
        "Write the address behind the redirect as issuer in hooklaunch.yaml.",
        headers.get("location") ?? "",
      );
    }
    return new Response(status === 204 ? null : body, { status, headers });
  } catch (error) {
    throw error instanceof LoginError ? error : unreachable(name, url, messageOf(error));
  }
}

/** Reads an answer; undefined where it is too long. */
async function readBody({ body }: Response): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body ?? []) {
    length += chunk.length;
    if (length > ANSWER_BYTES_MAX) return undefined;
    chunks.push(chunk);
  }
  return joinedBytes(chunks);
}
