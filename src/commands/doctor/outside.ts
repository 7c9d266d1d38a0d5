/**
 * Checks from outside: the way of senders to the service.
 *
 * @module
 */
import { hostOf } from "../../platform/network/public_addresses.ts";
import type { Facts } from "./facts.ts";
import { failure, ok, type Result, warning } from "./result.ts";

const OK = 200;
const FORBIDDEN = 403;

/** Checks that the name of the service leads to an address of the internet. */
export async function checkDns(facts: Facts): Promise<Result> {
  const { href } = await facts.publicUrl();
  const host = hostOf(href);
  const addresses = await facts.addresses();
  if (addresses.length === 0) {
    return failure(
      `${host} has no address`,
      "Add an A or AAAA record with the address of the service or its proxy, or correct --public-url",
    );
  }
  const { isPublic } = facts.surroundings.network;
  const inner = addresses.filter((address) => !isPublic(address));
  if (inner.length === 0) return ok(`${host} leads to ${addresses.join(", ")}`);
  return warning(
    `${host} leads to ${inner.join(", ")}, which the internet does not reach`,
    "Give the name a public address where senders are on the internet",
  );
}

/** Checks that the port of the public URL takes connections. */
export async function checkPort(facts: Facts): Promise<Result> {
  const { port, addresses, failures } = await facts.reached();
  const [first] = failures;
  if (first === undefined) return ok(`Port ${port} takes connections at ${addresses.join(", ")}`);
  const [address, why] = first;
  const text = `Port ${port} cannot be reached at ${
    [...failures.keys()].join(", ")
  } from here: ${why}`;
  if (addresses.length === 0) {
    return failure(
      text,
      "Open the port in firewalls and in the cloud's rules, forward it at the router, and see that the service or " +
        "its proxy listens on it",
    );
  }
  return warning(
    text,
    `Remove the record of ${address} if nothing listens there, or try from a machine with its kind of address`,
  );
}

/** Checks that Hooklaunch answers at the public URL, and takes what comes there for HTTPS. */
export async function checkPublic(facts: Facts): Promise<Result> {
  const { origin } = await facts.knownUrl();
  const { addresses } = await facts.reached();
  if (addresses.length === 0) return failure(`Nothing answers at ${origin}`, "See port");
  const health = await facts.publicHealth();
  if (health.status !== OK || health.text !== "ok") {
    return failure(
      `${origin}/healthz answers ${health.status} and not Hooklaunch's "ok"`,
      "Look at the proxy: it must pass all paths on to the service",
    );
  }
  const ready = await facts.askPublic("/readyz");
  if (ready.status === FORBIDDEN) {
    return failure(
      `${origin} is refused as plain HTTP`,
      "Name the proxy in --trusted-proxy, and let it set X-Forwarded-Proto and append to X-Forwarded-For",
    );
  }
  return readiness(ready.status, `${origin}/readyz`);
}

/** Checks that the service answers at the address of `--url`. */
export async function checkReady(facts: Facts): Promise<Result> {
  const { url } = facts.surroundings;
  const health = await facts.ownHealth();
  if (health.status !== OK || health.text !== "ok") {
    return failure(`${url} answers ${health.status} and not Hooklaunch's "ok"`, "Check --url");
  }
  const { status } = await facts.askOwn("/readyz");
  if (status === FORBIDDEN) {
    return failure(
      `${url} is refused as plain HTTP`,
      "Give the https address as --url, or run doctor on the service's machine with HOOKLAUNCH_DATA",
    );
  }
  return readiness(status, "/readyz");
}

function readiness(status: number, place: string): Result {
  if (status === OK) return ok(`${place} says that launches are accepted`);
  return failure(
    `${place} answers ${status}: launches are turned away`,
    "Look at the log and at attention: the disk is full, the database does not answer, or too many runs wait",
  );
}
