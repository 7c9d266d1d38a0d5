/**
 * The answers until the service has started, and where it cannot start. The platform's warm-up has neither secrets
 * nor the database, and an older Deno cannot load the rest. So this imports little, in syntax that every Deno reads.
 *
 * @module
 */
import type { CronName } from "./crons.ts";
import { missingAnswer } from "./missing.ts";
import type { HostedService } from "./service.ts";

/** The oldest Deno that runs the service. */
const DENO_NEEDED = "2.9.6";
const ENDPOINT = /\/(healthz|readyz)\/?$/;

/** Loads the service. */
type LoadService = () => Promise<{ hostedService(): Promise<HostedService> }>;

/** The first part of a hosted service. */
export class Entry {
  readonly #load: LoadService;
  #begun: Promise<HostedService | undefined> | undefined;
  #missing: readonly string[] = [];

  constructor(load: LoadService) {
    this.#load = load;
  }

  /** Loads the service, and logs what is missing. Never rejects. */
  begin(): Promise<HostedService | undefined> {
    return this.#begun ??= this.#begin();
  }

  /** Answers a request. */
  async answer(
    request: Request,
    info: Deno.ServeHandlerInfo<Deno.NetAddr>,
  ): Promise<Response> {
    const [, endpoint] = ENDPOINT.exec(new URL(request.url).pathname) ?? [];
    if (endpoint === "healthz") return new Response("ok\n");
    const service = await this.begin();
    const missing = service?.missing ?? this.#missing;
    if (service !== undefined && missing.length === 0) return await service.answer(request, info);
    return missingAnswer(request, missing);
  }

  /** Does what a cron is for. */
  async cron(name: CronName): Promise<void> {
    await (await this.begin())?.cron(name);
  }

  /** Stops the service. What is accepted is on disk already. */
  async stop(): Promise<void> {
    await (await this.#begun)?.stop();
  }

  async #begin(): Promise<HostedService | undefined> {
    this.#missing = missingOfDeno(Deno);
    try {
      if (this.#missing.length === 0) {
        const { hostedService } = await this.#load();
        return await hostedService();
      }
    } catch (error) {
      this.#missing = [`The service cannot be loaded: ${error}`];
    }
    for (const sentence of this.#missing) console.error(`hooklaunch: ${sentence}`);
    return undefined;
  }
}

/** Returns what a Deno does not have, each as a sentence without a full stop. */
export function missingOfDeno(
  deno: { version: { deno: string }; openKv?: unknown; cron?: unknown },
): string[] {
  const { version: { deno: version } } = deno;
  if (version.localeCompare(DENO_NEEDED, "en", { numeric: true }) < 0) {
    return [`Deno ${DENO_NEEDED} or later is needed, and this is Deno ${version}`];
  }
  return [["Deno.openKv", deno.openKv, "kv"], ["Deno.cron", deno.cron, "cron"]].flatMap(
    ([name, found, feature]) =>
      typeof found === "function"
        ? []
        : [`${name} is missing: "unstable" in deno.json has to name "${feature}"`],
  );
}
