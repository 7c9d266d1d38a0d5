/**
 * The check of the certificate that senders are shown.
 *
 * @module
 */
import type { Facts } from "./facts.ts";
import { failure, ok, type Result, warning } from "./result.ts";

const DAY_MS = 86_400_000;
/** A certificate is renewed by then: the last quarter of its lifetime, two weeks at most. */
const RENEWAL_SHARE = 1 / 4;
const RENEWAL_MS_MAX = 14 * DAY_MS;
const RENEW =
  "Renew it: a service with --tls-cert uses renewed files without a restart, and --acme renews by itself";

/** Checks that the certificate is for the host, is trusted, and goes on for a while. */
export async function checkCertificate(facts: Facts): Promise<Result> {
  const now_ms = facts.surroundings.now();
  const { host, names, isForHost, from_ms, until_ms, distrust } = await facts.certificate();
  const until = new Date(until_ms).toISOString();
  if (!isForHost) {
    return failure(
      `The certificate is not for ${host}, but for ${names || "no name"}`,
      `Get one for ${host}, such as by serve --acme ${host}`,
    );
  }
  if (until_ms <= now_ms) return failure(`The certificate has expired at ${until}`, RENEW);
  if (from_ms > now_ms) {
    return failure(
      `The certificate is valid from ${new Date(from_ms).toISOString()} on, which is to come`,
      "Set the clock of this machine, or that on which the certificate was made",
    );
  }
  if (distrust !== undefined) {
    return failure(
      `The certificate is not trusted here: ${distrust}`,
      "Send the whole chain, with those of the authorities between, or name an authority of your own in DENO_CERT",
    );
  }
  const left_ms = until_ms - now_ms;
  const days = Math.floor(left_ms / DAY_MS);
  const text = `The certificate is for ${host} and ends in ${days} days, at ${until}`;
  const isLate = left_ms < Math.min(RENEWAL_MS_MAX, (until_ms - from_ms) * RENEWAL_SHARE);
  return isLate ? warning(text, RENEW) : ok(text);
}
