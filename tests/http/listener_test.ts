/**
 * The listener: it listens again where Deno's server has ended, as often as it takes.
 */
import { assertEquals } from "@std/assert";
import { Listener } from "../../src/http/listener.ts";

const hostname = "127.0.0.1";

function serve(port: number): Deno.HttpServer<Deno.NetAddr> {
  return Deno.serve({ hostname, port, onListen: () => {} }, () => new Response("here"));
}

/** A server that ends with an error as soon as the test says so, as one that had no file left. */
function endingServer(port: number): {
  server: Deno.HttpServer<Deno.NetAddr>;
  end(): Promise<void>;
} {
  const server = serve(port);
  const { promise: finished, reject } = Promise.withResolvers<void>();
  const end = async () => {
    await server.shutdown();
    reject(new Error("Too many open files"));
  };
  return { server: { ...server, addr: server.addr, finished }, end };
}

/** What is answered at a port; undefined when nobody listens. */
async function answerAt(port: number): Promise<string | undefined> {
  const client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
  try {
    const response = await fetch(`http://${hostname}:${port}/`, { client });
    return await response.text();
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  } finally {
    client.close();
  }
}

Deno.test("a listener listens again at its port, though it cannot at the first try", async () => {
  const first = endingServer(0);
  const tries: string[] = [];
  const { promise: isBack, resolve: comeBack } = Promise.withResolvers<void>();
  const taken: Deno.Listener[] = [];
  const listener = new Listener((port) => {
    if (tries.length === 0) {
      tries.push("first");
      return first.server;
    }
    try {
      const server = serve(port);
      tries.push("listens");
      comeBack();
      return server;
    } catch (error) {
      tries.push(error instanceof Error ? error.name : String(error));
      // Free again for the next try.
      taken.pop()?.close();
      throw error;
    }
  }, 0);
  await first.end();
  taken.push(Deno.listen({ hostname, port: listener.port }));
  await isBack;
  assertEquals(tries, ["first", "AddrInUse", "listens"]);
  assertEquals(await answerAt(listener.port), "here");
  await listener.shutdown();
  assertEquals(await answerAt(listener.port), undefined);
});

Deno.test("a listener that is shut does not listen again", async () => {
  const first = endingServer(0);
  let begun = 0;
  const listener = new Listener((port) => {
    begun++;
    return port === 0 ? first.server : serve(port);
  }, 0);
  const { port } = listener;
  await first.end();
  // The retry is a second away: it is taken back.
  await listener.shutdown();
  assertEquals(begun, 1);
  assertEquals(await answerAt(port), undefined);
});
