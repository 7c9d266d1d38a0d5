/**
 * The entry on Deno Deploy. Crons are registered first, and then it listens at once: whatever is missing, the
 * platform gets answers, and they say what is missing.
 *
 * @module
 */
import { setOnCron } from "./hosted/crons.ts";
import { Entry } from "./hosted/entry.ts";

const entry = new Entry(() => import("./hosted/service.ts"));
setOnCron((name) => entry.cron(name));
Deno.serve((request, info) => entry.answer(request, info));
Deno.addSignalListener("SIGINT", () => entry.stop().finally(() => Deno.exit()));
await entry.begin();
