/**
 * The local engine keeps the contract when it runs commands as processes.
 *
 * @module
 */
import { systemClock } from "../../../src/platform/clock.ts";
import { LocalEngine } from "../../../src/engines/local/mod.ts";
import { checkoutOfContract, CONTRACT_SETTINGS, engineContract } from "../contract.ts";

engineContract("processes", {
  fields: { engine: { type: "local", runner: "process" } },
  makeEngine: (parts) =>
    new LocalEngine({
      ...parts,
      projects: { checkout: checkoutOfContract },
      clock: systemClock,
      settings: CONTRACT_SETTINGS,
    }),
});
