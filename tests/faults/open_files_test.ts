/**
 * A service that may open no more files.
 *
 * @module
 */
import { assertEquals, assertInstanceOf, assertStringIncludes } from "@std/assert";
import { eventually } from "../surroundings.ts";
import { serve, shell } from "./served.ts";
import { workshop } from "./workshop.ts";

/** So few that a test reaches it, and more than an idle service has. */
const FILES_MAX = 120;

Deno.test("a service goes on when it has had as many connections as it may open files", async () => {
  await using shop = await workshop([]);
  let pid = 0;
  await using service = await serve(shop.folder, { onSpawn: (child) => pid = child.pid });
  await shell(`prlimit --pid ${pid} --nofile=${FILES_MAX}`);
  const { port, url } = service;
  const idle: Deno.TcpConn[] = [];
  const isCutOff = () => service.printed().includes("Cannot take connections over");
  await eventually(async () => {
    if (isCutOff()) return true;
    const connection = await Deno.connect({ hostname: "127.0.0.1", port }).catch((error) => {
      // Nobody listens already, and the log is about to say why.
      assertInstanceOf(error, Deno.errors.ConnectionRefused);
    });
    if (connection) idle.push(connection);
    return undefined;
  }, { what: "a connection too many" });
  assertStringIncludes(service.printed(), "Too many open files");
  for (const connection of idle) connection.close();
  const answer = await eventually(
    () => fetch(`${url}/healthz`).catch(() => undefined),
    { what: "an answer when there is room again" },
  );
  assertEquals([answer.status, await answer.text()], [200, "ok\n"]);
  service.signal("SIGTERM");
  assertEquals((await service.end()).code, 0, service.printed());
});
