/** What the command line says when there is no answer, or one that more can be said of. */
import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { addressOf } from "../../../src/commands/api/address.ts";
import { ApiClient, ApiError, unreachable } from "../../../src/commands/api/client.ts";
import { ADMIN_TOKEN, startService } from "../../data.ts";
import { runHosted as run } from "../hosted.ts";

const pem = (name: string) =>
  Deno.readTextFileSync(new URL(`../../http/localhost_${name}.pem`, import.meta.url));

/** Asks a service and expects that it fails and says this. */
async function expectFailure(url: string, says: string): Promise<void> {
  const api = new ApiClient({ url, token: ADMIN_TOKEN });
  await assertRejects(() => api.request("GET", "triggers/"), ApiError, says);
}

Deno.test("a URL with a password is refused, and the password not shown", async () => {
  const { code, printed } = await run(["trigger", "list", "--url", "https://me:secret@h.example"], {
    HOOKLAUNCH_ADMIN_TOKEN: ADMIN_TOKEN,
  });
  assertEquals(code, 1);
  assertMatch(printed, /--url or HOOKLAUNCH_URL: .*without a password, found "https.*@h\./);
  assertEquals(printed.includes("secret"), false);
});

Deno.test("a service that cannot be reached: why", async (t) => {
  await t.step("nobody listens", async () => {
    // No port that was free a moment ago: another test could listen there by now.
    const url = "http://127.0.0.1:2";
    await expectFailure(url, `Cannot reach the service at ${url}: tcp connect error: Connection`);
    await expectFailure(url, "Does the service run? Give another address with --url");
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
      "UnknownIssuer. Its certificate is not trusted: name a file with its authority in DENO_CERT",
    );
  });
});

Deno.test("something else than the service answers what is read as it comes: told as that", async () => {
  const options = { hostname: "127.0.0.1", port: 0, onListen() {} };
  const headers = { "content-type": "text/html" };
  await using server = Deno.serve(options, () => new Response("<html>hello</html>", { headers }));
  const url = `http://127.0.0.1:${server.addr.port}`;
  const id = "01900000-0000-7000-8000-000000000000";
  const asked = [["run", "payload", id], ["execution", "log", "-f", id], ["execution", "log", id]];
  for (const args of asked) {
    const { code, printed } = await run([...args, "--url", url], {
      HOOKLAUNCH_ADMIN_TOKEN: ADMIN_TOKEN,
    });
    assertEquals([code, printed], [
      1,
      `hooklaunch: The answer at ${url}/api/v0/ is not from Hooklaunch: check the URL\n`,
    ]);
  }
});

Deno.test("failures that are not told as the service tells them: the status and the text", async (t) => {
  const texts = ["null", '{"detail":[{"loc":["body"]}]}', '{"errors":["no"]}', '{"errors":[null]}'];
  for (const text of texts) {
    await t.step(text, async () => {
      const options = { hostname: "127.0.0.1", port: 0, onListen() {} };
      await using server = Deno.serve(options, () => new Response(text, { status: 422 }));
      const url = `http://127.0.0.1:${server.addr.port}`;
      await expectFailure(url, `The service answered 422: ${text}`);
    });
  }
});

Deno.test("what stands before the service fails, or does not know it: told in one line", async (t) => {
  const page = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<hr>nginx</html>\r\n";
  const look = ". Check the URL, and the proxy in front of the service";
  for (const [text, says] of [[page, ": 502 Bad Gateway nginx"], ["", ""]] as const) {
    for (const status of [401, 502]) {
      await t.step(`${status}${says}`, async () => {
        const options = { hostname: "127.0.0.1", port: 0, onListen() {} };
        await using server = Deno.serve(options, () => new Response(text, { status }));
        const api = new ApiClient({
          url: `http://127.0.0.1:${server.addr.port}`,
          token: ADMIN_TOKEN,
        });
        const error = await assertRejects(() => api.request("GET", "triggers/"), ApiError);
        assertEquals(error.message, `The service answered ${status}${says}${look}`);
      });
    }
  }
});

Deno.test("a URL that is nearly right: told what to look at", async (t) => {
  await using service = await startService();
  await t.step(
    "https where there is no TLS",
    () =>
      expectFailure(
        service.url.replace("http:", "https:"),
        "It does not speak TLS: check the URL",
      ),
  );
  await t.step("http where there is TLS", async () => {
    const options = { hostname: "127.0.0.1", port: 0, onListen() {} };
    const tls = { cert: pem("cert"), key: pem("key") };
    await using server = Deno.serve({ ...options, ...tls }, () => new Response());
    await expectFailure(
      `http://localhost:${server.addr.port}`,
      "It may speak TLS: check the URL",
    );
  });
  await t.step(
    "with the path of the API",
    () => expectFailure(`${service.url}/api/v0`, "The service answered 404: {"),
  );
  await t.step(
    "with the path of the API: what to do",
    () => expectFailure(`${service.url}/api/v0`, ". Check the URL"),
  );
  await t.step("what sends on to https", async () => {
    const options = { hostname: "127.0.0.1", port: 0, onListen() {} };
    const location = "https://hooks.example.com/";
    await using server = Deno.serve(
      options,
      () => new Response(null, { status: 301, headers: { location } }),
    );
    await expectFailure(
      `http://127.0.0.1:${server.addr.port}`,
      "It redirects to another address: give that one as --url or HOOKLAUNCH_URL",
    );
  });
});

Deno.test("a token that no header can hold is refused, and not shown", async () => {
  for (const token of [`${ADMIN_TOKEN}\r`, `${ADMIN_TOKEN}\n`, `${ADMIN_TOKEN}é€`, "two words"]) {
    const { code, printed } = await run(["trigger", "list", "--url", "http://127.0.0.1:9"], {
      HOOKLAUNCH_ADMIN_TOKEN: token,
    });
    assertEquals(code, 1);
    assertMatch(printed, /Cannot accept HOOKLAUNCH_ADMIN_TOKEN: Expected letters, digits/);
    assertEquals(printed.includes(token.trim()), false);
  }
});

Deno.test("a certificate that is an authority's own: told how to make another", () => {
  const url = "https://localhost:8443";
  const cause = new Error("invalid peer certificate: Other(OtherError(CaUsedAsEndEntity))");
  const { message } = unreachable(
    addressOf(url),
    new TypeError("error sending request", { cause }),
  );
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
      const says = `The answer at ${url}/api/v0/ is not from Hooklaunch`;
      await assertRejects(() => api.list("triggers/"), ApiError, says);
    });
  }
});

Deno.test("JSON that is no record: something else than the service answers", async () => {
  const options = { hostname: "127.0.0.1", port: 0, onListen() {} };
  await using server = Deno.serve(options, () => new Response("null"));
  const api = new ApiClient({ url: `http://127.0.0.1:${server.addr.port}`, token: ADMIN_TOKEN });
  await assertRejects(() => api.request("GET", "triggers/x/"), ApiError, "is not from Hooklaunch");
});

Deno.test("a service that wants HTTPS can be reached by its public address", async () => {
  await using service = await startService();
  const { Service } = await import("../../../src/service/service.ts");
  const { settings, clock, env } = service.service.parts;
  await service.service.close(0);
  const strict = await Service.start({ ...settings, dev: false }, { clock, env });
  try {
    await expectFailure(strict.url, "address, give that as --url or HOOKLAUNCH_URL");
  } finally {
    await strict.close(0);
  }
});

Deno.test("a list is read as far as it is wanted, at the address that the service is reached by", async () => {
  const options = { hostname: "127.0.0.1", port: 0, onListen() {} };
  const asked: string[] = [];
  const count = 410;
  await using server = Deno.serve(options, ({ url }) => {
    const { pathname, search, searchParams } = new URL(url);
    asked.push(pathname + search);
    const [limit, start] = [Number(searchParams.get("limit") ?? 50), searchParams.get("cursor")];
    const end = Math.min(count, Number(start) + limit);
    const results = Array.from(
      { length: end - Number(start) },
      (_, index) => Number(start) + index,
    );
    const next = `https://hooks.example.com${pathname}?limit=${limit}&cursor=${end}`;
    return Response.json({ results, next: end < count ? next : null });
  });
  const url = `http://127.0.0.1:${server.addr.port}`;
  const api = new ApiClient({ url: `${url}/`, token: ADMIN_TOKEN });
  const query = { project: undefined, status: "error" };
  const some = await api.list<number>("executions/", { query, limit: 250 });
  assertEquals(some, Array.from({ length: 250 }, (_, index) => index));
  const path = "/api/v0/executions/";
  assertEquals(asked, [`${path}?status=error&limit=200`, `${path}?limit=200&cursor=200`]);
  assertEquals((await api.list("executions/")).length, count);
  assertEquals((await api.list("executions/", { limit: 3 })).length, 3);
  assertEquals(asked.at(-1), `${path}?limit=3`);
});
