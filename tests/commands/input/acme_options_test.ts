/** The settings of the account that a certificate authority wants first, as a command gives them. */
import { assertEquals, assertRejects } from "@std/assert";
import { Command } from "commander";
import { acmeOf, acmeOptions, publicAddress } from "../../../src/commands/input/acme_options.ts";
import { option } from "../../../src/commands/input/options.ts";
import { InvalidInputError } from "../../../src/platform/errors.ts";
import { temporaryFolder } from "../../surroundings.ts";

Deno.test("the key of an account at an authority is in a file, a variable, or the option", async (t) => {
  await using folder = await temporaryFolder();
  const [file, empty] = [`${folder.path}/key`, `${folder.path}/empty`];
  await Deno.writeTextFile(file, "aGVsbG8\n");
  await Deno.writeTextFile(empty, "\n");
  Deno.env.set("EAB_KEY_OF_A_TEST", "aGVsbG8");
  const of = async (acmeEabKid?: string, acmeEabHmac?: string, acme = ["hooks.example.com"]) =>
    (await acmeOf({
      acme,
      acmePort: 80,
      ...(acmeEabKid !== undefined && { acmeEabKid }),
      ...(acmeEabHmac !== undefined && { acmeEabHmac }),
    }))?.eab;
  assertEquals(await of(), undefined);
  for (const written of ["aGVsbG8", "aGVsbG8=", `{file:${file}}`, "{env:EAB_KEY_OF_A_TEST}"]) {
    await t.step(`taken: ${written.split(":")[0]}`, async () => {
      const { kid, hmac = "" } = await of("kid", written) ?? {};
      assertEquals([kid, hmac.trim().replace(/=$/, "")], ["kid", "aGVsbG8"]);
    });
  }
  Deno.env.delete("EAB_KEY_OF_A_TEST");
  const refused: [says: string, given: Parameters<typeof of>][] = [
    ["--acme-eab-hmac: Expected both", ["kid"]],
    ["--acme-eab-kid: Expected both", [undefined, "aGVsbG8"]],
    ["--acme-eab-hmac: Expected a key in {env:EAB_KEY_OF_A_TEST}", [
      "kid",
      "{env:EAB_KEY_OF_A_TEST}",
    ]],
    ["--acme-eab-hmac: Expected a key in {file:", ["kid", `{file:${empty}}`]],
    ["--acme-eab-hmac: Expected base64url", ["kid", "no-base64!"]],
    ["--acme-eab-kid: Expected printable ASCII", ["a kid", "aGVsbG8"]],
    ["--acme: Expected a domain", ["kid", "aGVsbG8", []]],
  ];
  for (const [says, given] of refused) {
    await t.step(`refused: ${says}`, async () => {
      await assertRejects(() => of(...given), InvalidInputError, says);
    });
  }
});

Deno.test("a service listens where the names of its certificate lead", async () => {
  const cases: [args: string[], at: object][] = [
    [[], {}],
    [["--acme", "hooks.example.com"], { host: "0.0.0.0", port: 443 }],
    [["--acme", "203.0.113.7"], { host: "0.0.0.0", port: 443 }],
    [["--acme", "2001:db8::7"], { host: "::", port: 443 }],
    [["--acme", "hooks.example.com", "--acme", "[2001:db8::7]"], { host: "::", port: 443 }],
    [["--acme", "2001:db8::7", "--host", "2001:db8::7"], { port: 443 }],
  ];
  for (const [args, at] of cases) {
    const command = new Command().addOption(option("--host <address>", "").default("127.0.0.1"))
      .addOption(option("--port <number>", "").default(8_000));
    for (const each of acmeOptions()) command.addOption(each);
    await command.parseAsync(args, { from: "user" });
    assertEquals(publicAddress(command.opts(), command), at, args.join(" "));
  }
});
