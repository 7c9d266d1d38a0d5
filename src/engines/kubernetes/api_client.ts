/**
 * Requests to the API server of a Kubernetes cluster.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/
 *
 * @module
 */
import { HooklaunchError, messageOf } from "../../platform/errors.ts";
import { parseJson } from "../../platform/text/parse_json.ts";
import { type Access, readAccess } from "./access.ts";
import type { JsonObject } from "./pod_template.ts";
import type { KubernetesSettings } from "./settings.ts";

/** The number of objects that a list brings at once. */
const PAGE = 500;
const MESSAGE_LENGTH_MAX = 400;

/** Kubernetes cannot be reached, or refuses a request. */
export class KubernetesError extends HooklaunchError {
  override readonly code = "kubernetes_failed";
  readonly reason: string | undefined;

  /**
   * @param status the status of the answer; undefined without one
   * @param reason Kubernetes' own word for it, such as `AlreadyExists`
   */
  constructor(
    message: string,
    readonly status?: number,
    { reason, ...options }: ErrorOptions & { reason?: string | undefined } = {},
  ) {
    super(message, options);
    this.reason = reason;
  }
}

/** A request. */
interface ApiRequest {
  /** The path behind the server's address. */
  path: string;
  query?: Readonly<Record<string, string>>;
  body?: JsonObject;
  signal: AbortSignal;
}

/** Asks one cluster. */
export class ApiClient {
  readonly #settings: KubernetesSettings;
  #client: { of: string; http: Deno.HttpClient } | undefined;

  constructor(settings: KubernetesSettings) {
    this.#settings = settings;
  }

  /**
   * Sends a request.
   *
   * @returns the answer's JSON
   * @throws {KubernetesError} when there is no answer, or one that refuses
   */
  async send(method: string, { path, query = {}, body, signal }: ApiRequest): Promise<unknown> {
    const access = await accessOf(this.#settings);
    const url = new URL(`${access.server.replace(/\/+$/, "")}${path}`);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    let response: Response;
    try {
      response = await fetch(url, {
        method,
        client: this.#httpClient(access),
        // The token goes to nobody else.
        redirect: "error",
        headers: {
          accept: "application/json",
          ...(access.token === undefined ? {} : { authorization: `Bearer ${access.token}` }),
          ...(body === undefined ? {} : { "content-type": "application/json" }),
        },
        body: body === undefined ? null : JSON.stringify(body),
        signal,
      });
    } catch (error) {
      throw new KubernetesError(`no answer of ${url.origin}: ${messageOf(error)}`, undefined, {
        cause: error,
      });
    }
    if (!response.ok) throw await refusalOf(response);
    return await response.json();
  }

  /** Lists all objects of a kind that a query selects. */
  async list(
    path: string,
    query: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<unknown[]> {
    const items: unknown[] = [];
    let next = "";
    do {
      const page = {
        ...query,
        limit: String(PAGE),
        ...(next === "" ? {} : { continue: next }),
      };
      // The form of all lists.
      const list = await this.send("GET", { path, query: page, signal }) as {
        items?: unknown[];
        metadata?: { continue?: string };
      };
      items.push(...list.items ?? []);
      next = list.metadata?.continue ?? "";
    } while (next !== "");
    return items;
  }

  /** Closes all connections. */
  close(): void {
    this.#client?.http.close();
    this.#client = undefined;
  }

  /** Returns the client for an access: the same one until its certificates change. */
  #httpClient({ ca, client }: Access): Deno.HttpClient {
    const of = JSON.stringify([ca, client]);
    if (this.#client?.of !== of) {
      // It throws for certificates that cannot be read, such as those that are just being replaced.
      const http = Deno.createHttpClient({
        ...(ca === undefined ? {} : { caCerts: [ca] }),
        ...client,
      });
      this.close();
      this.#client = { of, http };
    }
    return this.#client.http;
  }
}

async function refusalOf(response: Response): Promise<KubernetesError> {
  const text = await response.text().catch(() => "");
  const { message = text, reason } = statusIn(text);
  const said = message.slice(0, MESSAGE_LENGTH_MAX);
  return new KubernetesError(
    `Kubernetes answers ${response.status}${said === "" ? "" : `: ${said}`}`,
    response.status,
    { reason },
  );
}

/** Returns the texts of a Status object. */
function statusIn(text: string): { message?: string; reason?: string } {
  const { message, reason } = Object(parseJson(text));
  return {
    ...(typeof message === "string" && { message }),
    ...(typeof reason === "string" && { reason }),
  };
}

/** Reads the access that a project's settings describe, with a kubeconfig or without. */
async function accessOf(settings: KubernetesSettings): Promise<Access> {
  const { kubeconfig, context } = settings;
  if (kubeconfig === undefined) return await readAccess(settings);
  const { kubeconfigAccess } = await import("./kubeconfig.ts");
  return await kubeconfigAccess(kubeconfig, context);
}
