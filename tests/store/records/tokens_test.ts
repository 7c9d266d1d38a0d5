/** Operators' tokens: whoever reads the database learns none. */
import { assert, assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import {
  createToken,
  getToken,
  hasTokens,
  removeToken,
  tokenHash,
  tokenId,
} from "../../../src/store/records/tokens.ts";
import { contents, storeInMemory } from "../fixture.ts";

const FIRST = { name: "first", created_at: "2026-01-01T00:00:00.000Z" };

Deno.test("a token is known by itself alone, and nothing of it is stored", async () => {
  await using store = await storeInMemory();
  assertEquals(await hasTokens(store), false);
  const token = await createToken(store, FIRST);
  assertMatch(token, /^hl_[A-Za-z0-9_-]{43}$/);
  assertEquals(await hasTokens(store), true);
  assertEquals(await getToken(store, tokenHash(token)), FIRST);
  for (const other of ["", token.slice(0, -1), `${token}x`, token.slice(3), token.toUpperCase()]) {
    assertEquals(await getToken(store, tokenHash(other)), undefined, other);
  }
  const [[key, value] = ["", ""]] = await contents(store);
  assertEquals(value, FIRST);
  assert(!key.includes(token) && !key.includes(token.slice(3)), key);
  assertEquals(
    await getToken(store, tokenHash(JSON.parse(key)[1])),
    undefined,
    "its hash is no token",
  );
});

Deno.test("each token is another one", async () => {
  await using store = await storeInMemory();
  assertNotEquals(await createToken(store, FIRST), await createToken(store, FIRST));
  assertEquals((await contents(store)).size, 2);
});

Deno.test("a token is removed by its id, and no other one with it", async () => {
  await using store = await storeInMemory();
  const tokens: string[] = [];
  for (let made = 0; made < 3; made++) tokens.push(await createToken(store, FIRST));
  for (
    const token of tokens.toSorted((a, b) => tokenId(tokenHash(a)) < tokenId(tokenHash(b)) ? 1 : -1)
  ) {
    assertEquals(await removeToken(store, "0".repeat(16)), false);
    assertEquals(await getToken(store, tokenHash(token)), FIRST);
    assertEquals(await removeToken(store, tokenId(tokenHash(token))), true);
    assertEquals(await getToken(store, tokenHash(token)), undefined);
  }
});
