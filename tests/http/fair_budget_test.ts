/** Whatever is taken and given back, the whole is never exceeded, and no owner takes all of it. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { FairBudget } from "../../src/http/fair_budget.ts";

const takes = fc.array(
  fc.record({
    amount: fc.integer({ min: 1, max: 60 }),
    owners: fc.uniqueArray(fc.constantFrom("a", "b", "c"), { maxLength: 2 }),
    isGivenBack: fc.boolean(),
  }),
  { maxLength: 40 },
);

Deno.test("no owner has more than was free for the others, and all comes back", () => {
  fc.assert(fc.property(takes, (all) => {
    const budget = new FairBudget(100);
    const held: { amount: number; owners: string[]; share: Disposable }[] = [];
    const sum = (of: typeof held) => of.reduce((total, { amount }) => total + amount, 0);
    for (const { amount, owners, isGivenBack } of all) {
      if (isGivenBack) held.shift()?.share[Symbol.dispose]();
      const free = 100 - sum(held);
      const own = owners.map((owner) => sum(held.filter(({ owners }) => owners.includes(owner))));
      const share = budget.take(amount, owners);
      const isFair = [0, ...own].every((most) => most + amount <= free);
      assertEquals(share !== undefined, isFair);
      if (share) held.push({ amount, owners, share });
    }
    for (const { share } of held) share[Symbol.dispose]();
    assert(budget.take(100, ["a", "b", "c"]));
  }));
});

Deno.test("an owner that takes all it can get leaves half, two leave a third", () => {
  const taken = (owners: string[]) => {
    const budget = new FairBudget(600);
    const amounts = owners.map(() => 0);
    for (let turn = 0; turn < 600; turn++) {
      for (const [index, owner] of owners.entries()) {
        if (budget.take(1, [owner])) amounts[index] = (amounts[index] ?? 0) + 1;
      }
    }
    return amounts;
  };
  assertEquals(taken(["a"]), [300]);
  assertEquals(taken(["a", "b"]), [200, 200]);
});

Deno.test("a share grows by what is free, stays as it is where that is too little, and others are told when it shrinks", async () => {
  const budget = new FairBudget(100);
  const share = budget.take(10, ["a"]);
  assert(share);
  assert(share.resize(50));
  assertEquals(share.resize(101), false);
  assertEquals(budget.take(51, ["b"]), undefined);
  assert(budget.take(50, ["b"]));
  let isTold = false;
  const told = budget.released.then(() => isTold = true);
  assertEquals(share.resize(51), false);
  await Promise.resolve();
  assertEquals(isTold, false);
  assert(share.resize(20));
  await told;
  assert(budget.take(30));
});
