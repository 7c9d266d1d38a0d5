import { assertEquals, assertGreater } from "@std/assert";
import { delay } from "@std/async/delay";
import { temporaryFolder } from "../../data.ts";
import { hooklaunch } from "../process.ts";

const TOKEN = "an-operators-token-for-tests";

Deno.test("a signal that comes twice at once, as Ctrl-C through deno task, is one; a later one ends at once", async () => {
  await using folder = await temporaryFolder();
  await using service = hooklaunch(
    ["serve", "--dev", "--port", "0", "--data", folder.path, "--stop-timeout", "60"],
    { HOOKLAUNCH_ADMIN_TOKEN: TOKEN },
  );
  const [, port = ""] = await service.expect(/reached as http:\/\/127\.0\.0\.1:(\d+)/);
  // A request whose body does not come is under way for as long as a stop may take.
  using connection = await Deno.connect({ port: Number(port) });
  const request = `POST /api/v0/projects/ HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n` +
    `authorization: Bearer ${TOKEN}\r\ncontent-type: application/json\r\n` +
    `expect: 100-continue\r\n\r\n{`;
  await connection.write(new TextEncoder().encode(request));
  // The body is asked for once the request is there.
  assertGreater(await connection.read(new Uint8Array(64)) ?? 0, 0);
  // Of the same signal twice the system may keep one. Nothing is waited for between them: they are to come at once.
  service.child.kill("SIGINT");
  service.child.kill("SIGTERM");
  await service.expect(/Stopping after SIG/);
  const ended = service.child.status.then(() => "ended");
  assertEquals(await Promise.race([ended, delay(1_500)]), undefined, service.printed());
  service.child.kill("SIGINT");
  assertEquals((await service.end()).code, 1, service.printed());
});
