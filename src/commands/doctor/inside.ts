/**
 * Checks from inside: what the service tells of itself.
 *
 * @module
 */
import { isIP } from "node:net";
import type { ServiceState } from "../../http/api/service.ts";
import { hostOf, isLocalHost } from "../../platform/network/public_addresses.ts";
import type { Project } from "../../store/records/projects.ts";
import type { ListedToken } from "../../store/records/tokens.ts";
import { ApiError } from "../api/client.ts";
import { firstNames } from "./first_names.ts";
import { type Facts, FORBIDDEN } from "./facts.ts";
import { failure, NotCheckedError, ok, type Result, warning } from "./result.ts";

/** Senders and tokens are checked with some minutes of tolerance; a schedule and a log with none. */
const CLOCK_WARNING_MS = 5_000;
const CLOCK_FAILURE_MS = 60_000;
/** A larger range is that of others, too. */
const PROXY_PREFIX_MIN = 8;
const ROOT = 0;

/** Checks that the API answers, and knows the token. */
export async function checkApi(facts: Facts): Promise<Result> {
  const api = facts.client();
  try {
    const { version }: ServiceState = await api.request("GET", "service/");
    return ok(`The API answers, of version ${version}`);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== FORBIDDEN) throw error;
    // A limited token may ask for its triggers alone. Plain HTTP gets 403 for them, too.
    await api.request("GET", "triggers/?limit=1");
    return ok("The API answers");
  }
}

/** Checks the clocks of the service, of its public URL and of this machine against each other. */
export async function checkClock(facts: Facts): Promise<Result> {
  const answers = await Promise.all([
    facts.ownHealth().catch(() => undefined),
    facts.publicHealth().catch(() => undefined),
  ]);
  const [own, outer] = answers.map((answer) => answer?.ahead_ms);
  const known: [who: string, ahead_ms: number][] = [];
  if (own !== undefined) known.push(["the service", own]);
  if (outer !== undefined) known.push(["the public URL", outer]);
  if (known.length === 0) throw new NotCheckedError("No answer has a time");
  const off_ms = Math.max(...known.map(([, ahead_ms]) => Math.abs(ahead_ms)));
  const said = known.map(([who, ahead_ms]) => `${who} ${differenceText(ahead_ms)}`).join(", ");
  const text = `By this machine's clock: ${said}`;
  const advice =
    "Let NTP set the clocks, such as by systemd-timesyncd: signatures with a time fail otherwise";
  if (off_ms >= CLOCK_FAILURE_MS) return failure(text, advice);
  return off_ms >= CLOCK_WARNING_MS ? warning(text, advice) : ok(text);
}

function differenceText(ahead_ms: number): string {
  const seconds = Math.round(Math.abs(ahead_ms) / 1_000);
  if (seconds <= 1) return "is right to a second";
  return `is ${seconds} s ${ahead_ms > 0 ? "ahead" : "behind"}`;
}

/** Checks that nothing from elsewhere may come without TLS. */
export async function checkPlainHttp(facts: Facts): Promise<Result> {
  const { settings: { dev, host = "" }, url } = await facts.service();
  const isOpen = !isLocalHost(hostOf(url)) || !isLocalHost(String(host));
  if (dev === true && isOpen) {
    return failure(
      `--dev accepts plain HTTP, and the service is for others: ${url}`,
      "Start it without --dev: with --acme, with --tls-cert, or with --trusted-proxy for a proxy that has TLS",
    );
  }
  if (url.startsWith("http:") && isOpen) {
    return failure(
      `Launch URLs begin with ${url}: what senders send there is not encrypted`,
      "Give --public-url the https address, or start the service with --acme",
    );
  }
  return ok(
    dev === true ? "Plain HTTP from this machine alone" : "Nothing is taken over plain HTTP",
  );
}

/** Checks that the trusted proxies are few: each may say who the sender is, and that it came by HTTPS. */
export async function checkProxies(facts: Facts): Promise<Result> {
  const { settings } = await facts.service();
  const ranges = String(settings["trusted-proxy"] ?? "").split(",").map((each) => each.trim())
    .filter((each) => each !== "");
  if (ranges.length === 0) return ok("No proxy is trusted");
  const wide = ranges.filter((range) => prefixOf(range) < PROXY_PREFIX_MIN);
  if (wide.length === 0) return ok(`Trusted: ${ranges.join(", ")}`);
  const text =
    `--trusted-proxy trusts ${
      wide.join(", ")
    }: whoever is there may say who the sender is, and that it ` +
    "came by HTTPS";
  const advice = "Name the addresses of your proxies alone";
  return wide.some((range) => prefixOf(range) === 0)
    ? failure(text, advice)
    : warning(text, advice);
}

function prefixOf(range: string): number {
  const [address = "", prefix] = range.split("/");
  if (prefix !== undefined) return Number(prefix);
  return isIP(address) === 6 ? 128 : 32;
}

/** Checks that root does not run the commands of steps. */
export async function checkUser(facts: Facts): Promise<Result> {
  const { user_id } = await facts.service();
  if (user_id === undefined) throw new NotCheckedError("The service does not know its user");
  if (user_id !== ROOT) return ok(`The service runs as user ${user_id}`);
  const projects = await facts.ask((api) => api.list<Project>("projects/"));
  const asRoot = projects.filter(({ engine: { type, runner = "process" } }) =>
    type === "local" && runner === "process"
  );
  if (asRoot.length === 0) return ok("The service runs as root, but no step does");
  return warning(
    `Root runs the steps of ${
      firstNames("project", asRoot)
    }: who may change their code may do anything here`,
    "Run the service as a user of its own, or set the runner docker or podman",
  );
}

/** Checks that operators' tokens end. */
export async function checkTokens(facts: Facts): Promise<Result> {
  const tokens = await facts.ask((api) => api.list<ListedToken>("tokens/"));
  const endless = tokens.filter(({ expires_at }) => expires_at === undefined);
  if (tokens.length === 0) return ok("No token is stored");
  if (endless.length === 0) return ok("Each stored token has an end");
  return warning(
    `Without an end: ${firstNames("token", endless)}`,
    "Create others with token create --expires, or use login, and revoke these",
  );
}
