/**
 * The Worker that checks a large database while the service runs. `deno task compile` names this file, as
 * nothing imports it.
 *
 * @module
 */
import { parentPort, workerData } from "node:worker_threads";
import { findDamage } from "./integrity.ts";

parentPort?.postMessage(findDamage(String(workerData)));
