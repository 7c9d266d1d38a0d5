/**
 * The checks of `hooklaunch doctor`, in their order. A check is one entry here.
 *
 * @module
 */
import { HooklaunchError } from "../../platform/errors.ts";
import { checkFailures, checkSecrets, checkSenders, checkTriggers } from "./attention.ts";
import { checkCertificate } from "./certificate.ts";
import { checkBackup, checkDisk, checkFsync } from "./disk.ts";
import { Facts, type Surroundings } from "./facts.ts";
import {
  checkApi,
  checkClock,
  checkPlainHttp,
  checkProxies,
  checkTokens,
  checkUser,
} from "./inside.ts";
import { checkDns, checkPort, checkPublic, checkReady } from "./outside.ts";
import { NotCheckedError, type Result } from "./result.ts";

type Check = (facts: Facts) => Promise<Result>;

const CHECKS: Readonly<Record<string, Check>> = {
  ready: checkReady,
  api: checkApi,
  dns: checkDns,
  port: checkPort,
  certificate: checkCertificate,
  public: checkPublic,
  clock: checkClock,
  plain_http: checkPlainHttp,
  proxies: checkProxies,
  user: checkUser,
  disk: checkDisk,
  fsync: checkFsync,
  backup: checkBackup,
  tokens: checkTokens,
  senders: checkSenders,
  secrets: checkSecrets,
  triggers: checkTriggers,
  failures: checkFailures,
};

/** A result, with the name of its check. */
export interface NamedResult extends Result {
  check: string;
}

/**
 * Makes checks at once, and returns their results in the order of the list.
 *
 * @param isWanted picks the checks by their names; all by default
 */
export async function runChecks(
  surroundings: Surroundings,
  isWanted: (name: string) => boolean = () => true,
): Promise<NamedResult[]> {
  using facts = new Facts(surroundings);
  return await Promise.all(
    Object.entries(CHECKS).filter(([name]) => isWanted(name)).map(async ([check, run]) => ({
      check,
      ...await resultOf(run, facts),
    })),
  );
}

async function resultOf(run: Check, facts: Facts): Promise<Result> {
  try {
    return await run(facts);
  } catch (error) {
    if (!(error instanceof HooklaunchError)) throw error;
    const { message: text } = error;
    if (!(error instanceof NotCheckedError)) return { state: "failure", text };
    const { advice } = error;
    return { state: "not_checked", text, ...(advice !== undefined && { advice }) };
  }
}
