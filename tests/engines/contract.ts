/**
 * What every engine keeps, as tests: {@linkcode engineContract} registers them for one. Commands are for a
 * POSIX shell with the usual small programs; nothing is known of the engine but its interface.
 *
 * @module
 */
import { atOnce } from "../at_once.ts";
import { isLong } from "../surroundings.ts";
import { type Case, type ContractOptions, ContractService } from "./contract_case.ts";
import { ends } from "./contract_ends.ts";
import { runs } from "./contract_runs.ts";
import { retries } from "./contract_retries.ts";
import { values } from "./contract_values.ts";
import { ofSecrets } from "./contract_secrets.ts";

export { checkoutOfContract, CONTRACT_SETTINGS, type ContractOptions } from "./contract_case.ts";

/** Registers the tests of the contract for an engine, or for a slow one in the suite its short form. */
export function engineContract(name: string, options: ContractOptions): void {
  const isOf = (each: Case) => {
    if (isLong) return true;
    if (options.isCluster) return each.isOnClusters;
    if (options.isContainer) return each.isShort || each.isOnContainers;
    return !options.isSlow || each.isShort;
  };
  const cases = [...runs, ...values, ...ends, ...retries, ...ofSecrets].filter(isOf);
  const add = atOnce(`contract of ${name}`);
  for (const { name: what, executionsMax = 2, test } of cases) {
    add({
      name: what,
      ignore: options.ignore ?? false,
      async fn() {
        await using service = new ContractService(
          await Deno.makeTempDir(),
          options,
          executionsMax,
        );
        await service.begin();
        await test(service);
      },
    });
  }
}
