/**
 * The local engine keeps the contract when it runs commands as processes.
 *
 * @module
 */
import { systemClock } from "../../src/clock.ts";
import { LocalEngine } from "../../src/engines/local/mod.ts";
import { checkoutOfContract, engineContract } from "./contract.ts";
import { QUICK } from "./fixture.ts";

engineContract("processes", {
  fields: { engine: { type: "local", runner: "process" } },
  makeEngine: (parts) =>
    new LocalEngine({
      ...parts,
      projects: { checkout: checkoutOfContract },
      clock: systemClock,
      settings: QUICK,
    }),
});
