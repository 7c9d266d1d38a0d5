import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { createHmac } from "node:crypto";
import { ADMIN_TOKEN, SECRET, startService } from "../data.ts";
import { runHosted as run } from "./hosted.ts";

const TOKEN = { HOOKLAUNCH_ADMIN_TOKEN: ADMIN_TOKEN };
const GITHUB = { type: "hmac", preset: "github", secrets: [SECRET] };
const SQUARE = { type: "hmac", preset: "square", secrets: [SECRET] };
const BODY = '{"action": "opened"}';

function mac(text: string, encoding: "hex" | "base64"): string {
  return createHmac("sha256", SECRET).update(text).digest(encoding);
}

Deno.test("diagnose reads a body with its headers, or a whole request, and prints what was found", async (t) => {
  await using service = await startService();
  const github = await service.trigger({ name: "github", conditions: [GITHUB] });
  await service.trigger({ name: "square", conditions: [SQUARE] });
  const write = async (name: string, text: string) => {
    await Deno.writeTextFile(`${service.folder}/${name}`, text);
    return `${service.folder}/${name}`;
  };
  const diagnose = (...args: string[]) => run(["diagnose", ...args, "--url", service.url], TOKEN);
  const signature = `X-Hub-Signature-256: sha256=${mac(BODY, "hex")}`;
  const body = await write("body.json", '{"action":"opened"}');
  const words =
    "matches  conditions/0 hmac: The body was changed on its way, or after it was signed: JSON with " +
    "blanks after commas and colons, as Python writes it would match.";

  await t.step("a file and headers", async () => {
    const { code, printed } = await diagnose("github", body, "--header", signature);
    assertEquals(code, 0, printed);
    assertStringIncludes(printed, words);
    assert(!printed.includes(SECRET));
  });

  await t.step("a whole request, of which what stands behind its length is not read", async () => {
    const path = new URL(github.url).pathname;
    const head = [`POST ${path} HTTP/1.1`, "Host: hooks.example", signature, "Content-Length: 19"];
    const file = await write("request.txt", `${head.join("\r\n")}\r\n\r\n{"action":"opened"}\n\n`);
    const { code, printed } = await diagnose("github", "--request", file);
    assertEquals(code, 0, printed);
    assertStringIncludes(printed, words);
  });

  await t.step(
    "a whole request whose body came in chunks, and one whose header alone says so",
    async () => {
      const chunks = '8;x=1\r\n{"action\r\nb\r\n":"opened"}\r\n0\r\n\r\n';
      for (const sent of [chunks, '{"action":"opened"}']) {
        const head = ["POST / HTTP/1.1", signature, "Transfer-Encoding: chunked"];
        const file = await write("chunked.txt", `${head.join("\r\n")}\r\n\r\n${sent}`);
        const { printed } = await diagnose("github", "--request", file);
        assertStringIncludes(printed, words);
      }
    },
  );

  await t.step("the URL that was called, of its request line or its own option", async () => {
    const called = "https://hooks.example/square?a=1";
    const head = [
      "POST /square?a=1 HTTP/1.1",
      "Host: hooks.example",
      `X-Square-HmacSha256-Signature: ${mac(called.replace("https", "http") + BODY, "base64")}`,
    ];
    const file = await write("square.txt", `${head.join("\n")}\n\n${BODY}`);
    const { printed } = await diagnose("square", "--request", file);
    assertStringIncludes(printed, "Signed for another URL, the one that was called: set `url`");
    const plain = await write("plain.json", BODY);
    const header = `X-Square-HmacSha256-Signature: ${mac(called + BODY, "base64")}`;
    const args = ["square", plain, "--header", header, "--called-url", called];
    assertStringIncludes((await diagnose(...args)).printed, "the one that was called");
  });

  await t.step("JSON", async () => {
    const { printed } = await diagnose("github", body, "--header", signature, "--json");
    const [finding] = JSON.parse(printed);
    assertEquals([finding.certainty, finding.condition, finding.index], ["matches", "hmac", 0]);
  });

  await t.step("what is wrong with the arguments", async () => {
    const wrong: [args: string[], words: string | RegExp][] = [
      [["github"], "Expected either the file with the body"],
      [["github", body, "--request", body], "Expected either the file with the body"],
      [["github", body, "--header", "no header"], 'found "no header"'],
      [["github", body, "--received-at", "noon"], "Expected a date and time"],
      [["nothing", body], 'There is no trigger "nothing"'],
    ];
    for (const [args, words] of wrong) {
      const { code, printed } = await diagnose(...args);
      assertEquals(code, 1, printed);
      assertMatch(printed, words instanceof RegExp ? words : new RegExp(RegExp.escape(words)));
    }
  });
});
