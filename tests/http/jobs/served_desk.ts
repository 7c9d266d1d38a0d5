/** Serves a desk in a folder: `served_desk.ts FOLDER PORT`. Prints its port. */
import { BodyReader } from "../../../src/http/body.ts";
import { jobRoutes } from "../../../src/http/jobs/routes.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import { FolderDesk } from "./desk.ts";

/** Serves a desk, as a service does. */
export function serveDesk(
  desk: FolderDesk,
  options: { port?: number; cert?: string; key?: string } = {},
) {
  const closing = new AbortController();
  const bodies = new BodyReader();
  const deskOf = () => Promise.resolve(desk);
  const routes = jobRoutes({ deskOf, clock: systemClock, bodies, closing: closing.signal });
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", ...options, onListen() {} },
    (request) => {
      const url = new URL(request.url);
      url.pathname = url.pathname.replace(/^\/api\/v0\/jobs/, "");
      return routes.fetch(new Request(url, request));
    },
  );
  return {
    port: server.addr.port,
    async [Symbol.asyncDispose]() {
      closing.abort();
      await server.shutdown();
      bodies[Symbol.dispose]();
    },
  };
}

if (import.meta.main) {
  const [folder = "", port = "0"] = Deno.args;
  console.log(serveDesk(new FolderDesk(folder), { port: Number(port) }).port);
}
