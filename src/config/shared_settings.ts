/**
 * The settings that all instances of a service are to share, as digests that instances tell each other.
 *
 * @module
 */
import { createHmac } from "node:crypto";
import type { ServiceSettings } from "./settings.ts";

const SECRET_KEY = "HOOKLAUNCH_SECRET_KEY";
/** The part of a digest that tells settings apart. */
const DIGEST_LENGTH = 12;

/** The settings, by the names of their flags or variables. */
function sharedSettings(settings: ServiceSettings): Record<string, unknown> {
  const { publicUrl, trustedProxies, payloadBytesMax, retention_days, storage, agent } = settings;
  return {
    "--public-url": publicUrl,
    "--trusted-proxy": trustedProxies.toSorted(),
    "--max-payload": payloadBytesMax,
    "--retention-days": retention_days,
    "--storage": storage,
    "--agent-url": agent?.url,
    "--no-mcp": settings.mcp === false,
    HOOKLAUNCH_ADMIN_TOKEN: settings.adminToken,
  };
}

/**
 * Returns a digest of each setting that instances are to share. They are keyed: who reads the database learns no
 * secret from them. With another key all of them differ.
 */
export function digestsOfSettings(settings: ServiceSettings): Record<string, string> {
  const digest = (value: unknown) =>
    createHmac("sha256", settings.secretKey ?? "").update(
      JSON.stringify(["settings", value ?? null]),
    )
      .digest("hex").slice(0, DIGEST_LENGTH);
  const entries = Object.entries(sharedSettings(settings));
  return Object.fromEntries([
    [SECRET_KEY, digest(SECRET_KEY)],
    ...entries.map(([name, value]) => [name, digest([name, value])]),
  ]);
}
