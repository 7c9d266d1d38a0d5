/** What the command line says when there is no answer, or one that more can be said of. */
import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { ApiClient, ApiError, unreachable } from "../../src/commands/api_client.ts";
import { ADMIN_TOKEN, startService } from "../data.ts";
import { run } from "./process.ts";

const pem = (name: string) =>
  Deno.readTextFileSync(new URL(`../http/localhost_${name}.pem`, import.meta.url));

/** Asks a service and expects that it fails and says this. */
async function expectFailure(url: string, says: string): Promise<void> {
  const api = new ApiClient({ url, token: ADMIN_TOKEN });
  await assertRejects(() => api.request("GET", "triggers/"), ApiError, says);
}

Deno.test("a service that cannot be reached: why", async (t) => {
  await t.step("nobody listens", async () => {
    const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const { port } = listener.addr;
    listener.close();
    const url = `http://127.0.0.1:${port}`;
    await expectFailure(url, `Cannot reach the service at ${url}: tcp connect error: Connection`);
  });
  await t.step("an unknown name", async () => {
    // As a process of its own: tests may reach this machine alone.
    const { code, printed } = await run(["trigger", "list", "--url", "http://nowhere.invalid"], {
      HOOKLAUNCH_ADMIN_TOKEN: ADMIN_TOKEN,
    });
    assertEquals(code, 1);
    assertMatch(
      printed,
      /Cannot reach the service at http:\/\/nowhere\.invalid: dns error: failed/,
    );
  });
  await t.step("a certificate that is not trusted", async () => {
    const options = { hostname: "127.0.0.1", port: 0, onListen() {} };
    const tls = { cert: pem("cert"), key: pem("key") };
    await using server = Deno.serve({ ...options, ...tls }, () => new Response());
    await expectFailure(
      `https://localhost:${server.addr.port}`,
      "UnknownIssuer. Its certificate is not trusted: DENO_CERT=ca.pem names",
    );
  });
});

Deno.test("a certificate that is an authority's own: told how to make another", () => {
  const url = "https://localhost:8443/api/v0/triggers/";
  const cause = new Error("invalid peer certificate: Other(OtherError(CaUsedAsEndEntity))");
  const { message } = unreachable(url, new TypeError("error sending request", { cause }));
  assertMatch(message, /^Cannot reach the service at https:\/\/localhost:8443: .*CA:FALSE$/);
});

Deno.test("something else than the service answers: told as that", async (t) => {
  const answers = ["<html>hello</html>", "{}", "null", '{"results":null,"next":null}', ""];
  for (const text of answers) {
    await t.step(text, async () => {
      const options = { hostname: "127.0.0.1", port: 0, onListen() {} };
      await using server = Deno.serve(options, () => new Response(text));
      const url = `http://127.0.0.1:${server.addr.port}`;
      const api = new ApiClient({ url, token: ADMIN_TOKEN });
      const says = `What answers at ${url}/api/v0/ is not Hooklaunch`;
      await assertRejects(() => api.list("triggers/"), ApiError, says);
    });
  }
});

Deno.test("a service that wants HTTPS can be reached by its public address", async () => {
  await using service = await startService();
  const { Service } = await import("../../src/service.ts");
  const { settings, clock, env } = service.service.parts;
  await service.service.close(0);
  const strict = await Service.start({ ...settings, dev: false }, { clock, env });
  try {
    await expectFailure(strict.url, "address, --url or HOOKLAUNCH_URL can name that");
  } finally {
    await strict.close(0);
  }
});
