/** Tokens in the keyring of the desktop: stored, given back, removed, and never among the arguments of a program. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import {
  lookUpInKeyring,
  removeFromKeyring,
  storeInKeyring,
} from "../../../src/commands/input/keyring.ts";
import { temporaryFolder } from "../../surroundings.ts";
import { makeKeyring } from "../keyrings.ts";

const URL = "https://hooks.example.com/a'b $(touch c)";
const OTHER = "https://other.example.com";
const TOKEN = "a-token-that-nobody-else-sees";

/** Sets variables of this process until the result is disposed of. */
function withVariables(variables: Record<string, string>): Disposable {
  const before = Object.keys(variables).map((name) => [name, Deno.env.get(name)] as const);
  for (const [name, value] of Object.entries(variables)) Deno.env.set(name, value);
  return {
    [Symbol.dispose]() {
      for (const [name, value] of before) {
        if (value === undefined) Deno.env.delete(name);
        else Deno.env.set(name, value);
      }
    },
  };
}

for (const [os, locked] of [["linux", /Cannot unlock/], ["darwin", /not give it back/]] as const) {
  Deno.test(`a keyring keeps the token of each service: ${os}`, async () => {
    await using folder = await temporaryFolder();
    const keyring = await makeKeyring(folder.path);
    using _ = withVariables(keyring.env);
    assertEquals(lookUpInKeyring(URL, os), undefined);
    assertEquals(await storeInKeyring(URL, "an-earlier-one", os), undefined);
    assertEquals(await storeInKeyring(URL, TOKEN, os), undefined);
    assertEquals(await storeInKeyring(OTHER, "another", os), undefined);
    assertEquals([lookUpInKeyring(URL, os), lookUpInKeyring(OTHER, os)], [TOKEN, "another"]);
    removeFromKeyring(OTHER, os);
    assertEquals(lookUpInKeyring(OTHER, os), undefined);
    assertEquals(await keyring.secrets(), [TOKEN]);
    await keyring.lock(true);
    assertMatch((await storeInKeyring(URL, "a-later-one", os))?.reason ?? "", locked);
    assertEquals(lookUpInKeyring(URL, os), undefined);
    await keyring.lock(false);
    assertEquals(lookUpInKeyring(URL, os), TOKEN);
    const calls = await keyring.calls();
    assertMatch(calls, os === "linux" ? /secret-tool store / : /security -i/);
    assert(!calls.includes(TOKEN), calls);
  });
}

Deno.test("where there is no keyring, nothing is stored, and no reason is told", async () => {
  await using folder = await temporaryFolder();
  // So ends a shell that does not find them; this machine may have them.
  for (const name of ["secret-tool", "security"]) {
    await Deno.writeTextFile(`${folder.path}/${name}`, "#!/bin/sh\nexit 127\n", { mode: 0o755 });
  }
  using _ = withVariables({ PATH: `${folder.path}:${Deno.env.get("PATH")}` });
  for (const os of ["linux", "darwin", "windows"] as const) {
    assertEquals(await storeInKeyring(URL, TOKEN, os), { reason: "" });
    assertEquals(lookUpInKeyring(URL, os), undefined);
  }
});
