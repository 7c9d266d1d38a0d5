/**
 * The floors of answering: the least that a service on the same framework does.
 *
 * Arguments: which one, and a data folder. Prints `ready <port>` when it listens; ends when its
 * standard input does.
 *
 * - `refusing`: what the service answers to a refused launch, without a look at the request
 * - `reading`: a run's status, read by one `kv.get`
 *
 * @module
 */
import { Hono } from "@hono/hono";
import { join } from "node:path";
import { rejected } from "../../src/http/problem.ts";
import { keys } from "../../src/store/keys.ts";
import type { Run } from "../../src/store/records/runs.ts";
import { DATABASE_FILE } from "../../src/store/file/database_file.ts";
import { endedRunOf } from "./requests.ts";

const [mode = "refusing", data = "."] = Deno.args;
using kv = await Deno.openKv(join(data, DATABASE_FILE));
const app = new Hono({ strict: false });
if (mode === "refusing") app.all("/api/v0/launch/:trigger_id", () => rejected());
else {
  app.all("/api/v0/launch/:trigger_id/run", async (context) => {
    const id = endedRunOf(context.req.param("trigger_id"));
    const { value } = await kv.get<Run>(keys.run(id));
    return context.json({ status: value?.status, result: value?.actions }, value ? 200 : 404);
  });
}
const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, app.fetch);
console.log(`ready ${server.addr.port}`);
await Deno.stdin.readable.pipeTo(new WritableStream());
await server.shutdown();
