/** A hosted service whose database is lost while it opens. */
import { assertEquals } from "@std/assert";
import { systemClock } from "../../src/platform/clock.ts";
import { HostedService } from "../../src/hosted/service.ts";
import { hostedSettings } from "../../src/hosted/settings.ts";
import { Service } from "../../src/service/service.ts";
import type { Runtime } from "../../src/service/runtime.ts";

const VARIABLES: Record<string, string> = {
  HOOKLAUNCH_SECRET_KEY: btoa("a key of the tests, 32 bytes lon"),
  HOOKLAUNCH_ADMIN_TOKEN: "an-operators-token-for-tests",
};

Deno.test("what was taken for gone while it opened is opened anew by the next request", async () => {
  const hosted = new HostedService(hostedSettings((name) => VARIABLES[name]), undefined);
  let opened = 0;
  let closed = 0;
  const start = (settings: { secretKey?: string }, { runtime }: { runtime: Runtime }) => {
    const number = ++opened;
    const lost = number === 1 ? AbortSignal.abort() : new AbortController().signal;
    const parts = Object({ store: { lost }, clock: systemClock, isWorking: () => false });
    const { listener } = runtime.listen(
      settings as Parameters<Runtime["listen"]>[0],
      () => Promise.resolve(new Response(`by ${number}`)),
      parts,
    );
    const close = async () => {
      closed++;
      await listener.shutdown();
    };
    return Promise.resolve({ parts, close });
  };
  const { start: real } = Service;
  using _stub = { [Symbol.dispose]: () => void Object.assign(Service, { start: real }) };
  Object.assign(Service, { start });
  const remoteAddr = { transport: "tcp", hostname: "127.0.0.1", port: 1 } as const;
  const ask = async () => {
    const request = new Request("https://hooks.example.com/");
    const answer = await hosted.answer(request, { remoteAddr, completed: Promise.resolve() });
    return await answer.text();
  };
  assertEquals(await ask(), "by 1");
  assertEquals(await ask(), "by 2");
  await hosted.stop();
  assertEquals([opened, closed], [2, 2]);
});
