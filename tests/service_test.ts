/**
 * The stop of a service, seen by senders whose bodies are just arriving: what comes in time is
 * launched, and who is cut off is told to come again.
 */
import { assertEquals, assertMatch } from "@std/assert";
import { pause } from "../src/pause.ts";
import { startService, type TestService } from "./data.ts";

const encoder = new TextEncoder();

/** Begins a launch, and waits until the service reads its body. */
async function beginLaunch(
  { service }: TestService,
  { id, beginning }: { id: string; beginning: string },
): Promise<Deno.TcpConn> {
  const { triggers } = service.parts;
  const { promise: found, resolve } = Promise.withResolvers<void>();
  const prepared = triggers.prepared.bind(triggers);
  triggers.prepared = async (id) => {
    const trigger = await prepared(id);
    resolve();
    return trigger;
  };
  const connection = await Deno.connect({ hostname: "127.0.0.1", port: service.port });
  const head = `POST /api/v0/launch/${id}/ HTTP/1.1\r\nHost: localhost\r\n`;
  await connection.write(encoder.encode(head + beginning));
  await found;
  // From here to the first bytes of the body nothing is waited for.
  await pause(0);
  return connection;
}

async function answerOn(connection: Deno.Conn): Promise<string> {
  const buffer = new Uint8Array(4_096);
  const count = await connection.read(buffer);
  return new TextDecoder().decode(buffer.subarray(0, count ?? 0));
}

const bodies = [
  { name: "of a declared length", beginning: "Content-Length: 6\r\n\r\nabc", rest: "def" },
  {
    name: "in chunks",
    beginning: "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
    rest: "3\r\ndef\r\n0\r\n\r\n",
  },
];

for (const { name, beginning, rest } of bodies) {
  Deno.test(`a body ${name} that is arriving at a stop is read to its end, and launched`, async () => {
    await using service = await startService();
    const { id } = await service.trigger();
    using connection = await beginLaunch(service, { id, beginning });
    const closed = service.service.close(60_000);
    await connection.write(encoder.encode(rest));
    assertMatch(await answerOn(connection), /^HTTP\/1\.1 200 /);
    await closed;
    await service.restart();
    const { body } = await service.api("GET", `triggers/${id}/runs/`);
    assertEquals(body.results.length, 1);
    assertEquals(body.results[0].payload.size, 6);
  });

  Deno.test(`a body ${name} that never ends is broken off at a stop, to be sent again`, async () => {
    await using service = await startService();
    const { id } = await service.trigger();
    using connection = await beginLaunch(service, { id, beginning });
    const closed = service.service.close(100);
    assertMatch(
      await answerOn(connection),
      /^HTTP\/1\.1 503 [^]*\r\nretry-after: \d+\r\n/,
    );
    await closed;
  });
}
