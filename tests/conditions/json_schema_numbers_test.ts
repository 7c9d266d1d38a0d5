/** A JSON Schema and the numbers of a body that JavaScript's numbers do not hold. */
import { assertEquals, assertMatch } from "@std/assert";
import fc from "fast-check";
import { jsonSchema } from "../../src/conditions/json_schema.ts";
import { checkOnce } from "./fixture.ts";

const ofProperty = (name: string, schema: unknown) => ({ properties: { [name]: schema } });

/** Integers that doubles round: of these three, the last two are one double. */
const [EVEN, ODD, NEXT] = ["9007199254740992", "9007199254740993", "9007199254740994"];
const ID = "1234567890123456789";

/** Schemas for the bodies that they take, and for those that they refuse, by the keyword. */
const exact: [schema: unknown, passes: string[], refused?: { by: string; bodies: string[] }][] = [
  [
    { type: "array", uniqueItems: true },
    [`[${EVEN},${ODD},${NEXT}]`, `[{"a":${EVEN}},{"a":${ODD}}]`, `[${ID},3,1234567890123456788]`],
    { by: "uniqueItems", bodies: [`[${ODD},1,${ODD}]`, `[[${ID}],[${ID}]]`] },
  ],
  [{ multipleOf: 2 }, [EVEN, NEXT, `-${NEXT}`], { by: "multipleOf", bodies: [ODD, `-${ODD}`, ID] }],
  [{ multipleOf: 7 }, ["9007199254740995"], { by: "multipleOf", bodies: [ID, EVEN] }],
  [
    { multipleOf: 2.5 },
    ["9007199254740995", "1152921504606846975"],
    { by: "multipleOf", bodies: [ODD, "1152921504606846976"] },
  ],
  [{ multipleOf: 0.01 }, [ODD, ID, "1152921504606846976"]],
  [
    { properties: { id: { type: "integer", minimum: 1 }, price: { multipleOf: 0.05 } } },
    [`{"id":${ID},"price":0.15}`, `{"id":9223372036854775807}`],
    { by: "minimum", bodies: [`{"id":-${ID},"price":0.15}`] },
  ],
  [{ exclusiveMinimum: 9007199254740990 }, [ODD, ID], {
    by: "exclusiveMinimum",
    bodies: [`-${ODD}`],
  }],
  [{ minimum: 1e18 }, [ID, "1000000000000000000"], { by: "minimum", bodies: [ODD] }],
  [{ maximum: 1e18 }, [ODD, `-${ID}`], { by: "maximum", bodies: [ID, "1000000000000000001"] }],
  [{ const: 1e18 }, ["1000000000000000000"], { by: "const", bodies: ["1000000000000000001"] }],
  [{ enum: [3, 1e18] }, ["3", "1e18"], { by: "enum", bodies: ["1000000000000000001", ODD] }],
  [{ not: { const: 1e18 } }, ["999999999999999999"]],
  [{ const: { a: [1e18] } }, ['{"a":[1000000000000000000]}'], {
    by: "const",
    bodies: ['{"a":[1000000000000000001]}'],
  }],
  [{ type: "integer" }, [ODD, "-9223372036854775808"]],
  [{ type: "number" }, [ODD]],
  [{ type: "string" }, [], { by: "type", bodies: [ODD] }],
  [{ patternProperties: { "^i": { multipleOf: 5 } } }, [`{"id":9007199254740995,"other":${ODD}}`], {
    by: "multipleOf",
    bodies: [`{"id":${ODD}}`],
  }],
];

Deno.test("json_schema compares integers of up to 64 bits with all their digits", async () => {
  for (const [schema, passes, refused] of exact) {
    const judge = async (body: string) => {
      const parts = { headers: { "content-type": "application/json" }, body };
      // A longer one is judged in the Worker.
      const refusals = [parts, { ...parts, body: body + " ".repeat(70_000) }].map((each) =>
        checkOnce(jsonSchema, { schema }, each)
      );
      return await Promise.all(refusals);
    };
    for (const body of passes) {
      assertEquals(await judge(body), [undefined, undefined], `${JSON.stringify(schema)} ${body}`);
    }
    for (const body of refused?.bodies ?? []) {
      for (const refusal of await judge(body)) {
        const [, by] =
          /^The body does not match the schema at .*: (\w+)$/.exec(refusal?.reason ?? "") ?? [];
        assertEquals(by, refused?.by, `${JSON.stringify(schema)} ${body} ${refusal?.reason}`);
      }
    }
  }
});

Deno.test("json_schema: the refusal of a large integer shows its digits", async () => {
  const refusal = await checkOnce(jsonSchema, { schema: ofProperty("id", { maximum: 5 }) }, {
    headers: { "content-type": "application/json" },
    body: `{"id":${ID}}`,
  });
  assertEquals(refusal, {
    reason: "The body does not match the schema at /id: maximum",
    expected: "at most 5",
    found: ID,
  });
});

Deno.test("json_schema: a number beyond 64 bits is refused where a schema is for it, and nowhere else", async () => {
  const check = (schema: unknown, body: string) =>
    checkOnce(jsonSchema, { schema }, { headers: { "content-type": "application/json" }, body });
  const numbers = ["9223372036854775808", "-9223372036854775809", "1e400", "-1e400"];
  for (const number of numbers) {
    const body = `{"id":${number},"n":1}`;
    assertEquals(await check(ofProperty("n", { type: "integer" }), body), undefined);
    for (const keyword of [{ type: "integer" }, { maximum: 1e30 }, { not: { const: 1 } }]) {
      const refusal = await check(ofProperty("id", keyword), body);
      assertMatch(refusal?.reason ?? "", /^The body cannot be checked: .* beyond 64 bits.*: \/id$/);
    }
  }
  // No double lies between these.
  const near = await check({ exclusiveMinimum: 2 ** 53, maximum: 2 ** 53 + 2 }, ODD);
  assertMatch(near?.reason ?? "", /too near to its own numbers: the body$/);
});

Deno.test("json_schema: an integer beyond 2^53 is judged as an exact check judges it", async () => {
  const schemaOf = fc.record({
    minimum: fc.integer({ min: -10, max: 10 }),
    exclusiveMaximum: fc.constantFrom(5, 2 ** 40, 2 ** 52),
    multipleOf: fc.constantFrom(1, 2, 3, 10, 0.5, 1.5),
  }, { requiredKeys: [] });
  const integers = fc.array(
    fc.oneof(fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n), fc.bigInt(2n ** 53n, 2n ** 53n + 30n)),
    { minLength: 1, maxLength: 6 },
  );
  const isIn = (
    integer: bigint,
    { minimum = -Infinity, exclusiveMaximum = Infinity, multipleOf = 1 }: {
      minimum?: number;
      exclusiveMaximum?: number;
      multipleOf?: number;
    },
  ) =>
    integer >= minimum && integer < exclusiveMaximum &&
    integer * 2n % BigInt(multipleOf * 2) === 0n;
  await fc.assert(
    fc.asyncProperty(schemaOf, integers, async (items, list) => {
      const expected = list.every((integer) => isIn(integer, items)) &&
        new Set(list).size === list.length;
      const refusal = await checkOnce(jsonSchema, { schema: { items, uniqueItems: true } }, {
        headers: { "content-type": "application/json" },
        body: `[${list.join(",")}]`,
      });
      assertEquals(refusal === undefined, expected, refusal?.reason);
    }),
  );
});
