/**
 * The ways to prove a name: an answer over plain HTTP, which any instance gives, or a record of the DNS, which a command
 * of the operator sets.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { shell } from "../platform/run_script.ts";
import { putChallenge } from "../store/records/acme.ts";
import type { Store } from "../store/store.ts";
import { AcmeError } from "./error.ts";
import type { Challenge, Prover } from "./order.ts";

/** Time that the command of a DNS record gets: until the record can be seen. */
const HOOK_MS = 10 * 60_000;
const SAID_LENGTH_MAX = 300;

/** Proves names by answers over plain HTTP, which are in the database. */
export function httpProver(store: Store): Prover {
  return {
    type: "http-01",
    present: ({ token, keyAuthorization }) => putChallenge(store, token, keyAuthorization),
    cleanUp: ({ token }) => putChallenge(store, token, undefined),
  };
}

/**
 * Proves names by DNS records. The shell runs the command with `present` or `cleanup`, the name of the record and its
 * value, and with no variables but `PATH`.
 */
export function dnsProver(hook: string, signal: AbortSignal): Prover {
  const run = async (verb: string, { name, keyAuthorization }: Challenge, until: AbortSignal) => {
    const value = createHash("sha256").update(keyAuthorization).digest("base64url");
    const record = `_acme-challenge.${name}`;
    const { success, code, stdout, stderr } = await shell(`${hook} "$@"`, [verb, record, value], {
      signal: until,
    });
    if (success) return;
    const said = [stderr, stdout].map((bytes) => new TextDecoder().decode(bytes).trim()).find(
      Boolean,
    );
    throw new AcmeError(
      `The command of --acme-dns-hook ends with ${code} for ${verb} ${record}: ` +
        (said ?? "it says nothing").slice(-SAID_LENGTH_MAX),
      { advice: "Run it by hand: it gets no variables but PATH" },
    );
  };
  const limit = () => AbortSignal.timeout(HOOK_MS);
  return {
    type: "dns-01",
    present: (challenge) => run("present", challenge, AbortSignal.any([signal, limit()])),
    // Also when the service stops.
    cleanUp: (challenge) => run("cleanup", challenge, limit()),
  };
}
