/**
 * Requests to slurmrestd.
 *
 * @module
 */
import { HooklaunchError } from "../../platform/errors.ts";
import { parseJson } from "../../platform/text/parse_json.ts";
import { readCredential } from "../shared/credential.ts";
import type { SlurmSettings } from "./settings.ts";

const TEXT_LENGTH_MAX = 300;

/** An error that Slurm names. */
interface SlurmFault {
  error?: string;
  description?: string;
  error_code?: number;
  error_number?: number;
}

/** An answer of slurmrestd. */
interface SlurmAnswer {
  errors?: SlurmFault[];
  [field: string]: unknown;
}

/** Slurm answers with an error, or with none of its answers. */
export class SlurmError extends HooklaunchError {
  override readonly code = "slurm_failed";

  /** @param faults the errors that Slurm names; empty when the answer is not Slurm's */
  constructor(message: string, readonly faults: readonly SlurmFault[]) {
    super(message);
  }
}

/** Sends requests in the name of one user. */
export class RestClient {
  readonly #settings: SlurmSettings;
  #client: Deno.HttpClient | undefined;

  constructor(settings: SlurmSettings) {
    this.#settings = settings;
  }

  /**
   * Sends a request.
   *
   * @throws {SlurmError} when the answer is not one of success, unless it names a job
   */
  async send(
    method: "GET" | "POST" | "DELETE",
    path: string,
    { body, signal }: { body?: unknown; signal: AbortSignal },
  ): Promise<SlurmAnswer> {
    const { url, api, user, token, ca } = this.#settings;
    // Not before: certificates that cannot be read concern who asks this cluster alone.
    if (ca !== undefined) this.#client ??= Deno.createHttpClient({ caCerts: [ca] });
    const answer = await fetch(`${url.replace(/\/+$/, "")}/slurm/${api}/${path}`, {
      method,
      signal,
      redirect: "manual",
      headers: {
        "x-slurm-user-name": user,
        "x-slurm-user-token": readCredential(token),
        accept: "application/json",
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(this.#client === undefined ? {} : { client: this.#client }),
    });
    const text = await answer.text();
    const parsed = parse(text);
    const faults = parsed?.errors ?? [];
    if (parsed !== undefined && faults.length === 0 && answer.ok) return parsed;
    // Slurm warns of some jobs that it takes.
    if (parsed !== undefined && Number(parsed.job_id) > 0) return parsed;
    const said = faults.map(({ error, description }) => description ?? error).filter(Boolean);
    const found = said.length > 0 ? said.join("; ") : text.slice(0, TEXT_LENGTH_MAX);
    throw new SlurmError(`slurmrestd answers ${answer.status} ${found}`.trim(), faults);
  }
}

function parse(text: string): SlurmAnswer | undefined {
  const value = parseJson(text);
  return typeof value === "object" && value !== null ? { ...value } : undefined;
}
