/**
 * Whatever an expression and a request are: the expression is taken or refused when it is saved, and its
 * evaluation comes to an end in time, with an answer that is no throw.
 */
import { assert, assertEquals, assertInstanceOf } from "@std/assert";
import fc from "fast-check";
import { compile, ExpressionError } from "../../../src/conditions/cel/expression.ts";
import { parsePattern, PatternError } from "../../../src/conditions/cel/pattern.ts";
import { filterVariables } from "../../../src/conditions/cel/variables.ts";
import type { Refusal } from "../../../src/conditions/check.ts";
import type { FilterWork } from "../../../src/conditions/filter/job.ts";
import { payloadFilter } from "../../../src/conditions/payload_filter.ts";
import { newHeavyWork } from "../../../src/service/heavy_work.ts";
import { anyText, mutated, pieces } from "../../arbitraries.ts";
import { assertTakesLess } from "../../surroundings.ts";
import { context, json, request } from "../fixture.ts";

const TIMEOUT_MS = 200;
/** How long this thread may be busy with an evaluation that is not worth the Worker: 5 ms are meant. */
const AT_ONCE_MS_MAX = 100;

/** Expressions of every kind of node, most of which have values of the right types. */
const { expression } = fc.letrec<{ expression: string }>((tie) => {
  const part = tie("expression");
  const pair = fc.tuple(part, part);
  return {
    expression: fc.oneof(
      { depthSize: "medium", withCrossShrink: true },
      fc.constantFrom(
        ..."body body.a body.list raw headers query now true false null 0 1u 1.5 x".split(" "),
        ..."'a' b'a' '' [] {} int body.b.c body[0] headers['x'] query.q -1 \"\\ud83d\"".split(" "),
        "9223372036854775807",
        "duration('1h')",
        "timestamp('2023-01-01T00:00:00Z')",
      ),
      fc.tuple(
        pair,
        fc.constantFrom(..."&& || == != < <= > >= + - * / % in".split(" ")),
      ).map(([[left, right], sign]) => `(${left} ${sign} ${right})`),
      fc.tuple(part, fc.constantFrom("!", "-")).map(([operand, sign]) => `${sign}(${operand})`),
      fc.tuple(part, part, part).map(([a, b, c]) => `(${a} ? ${b} : ${c})`),
      fc.array(part, { maxLength: 3 }).map((all) => `[${all.join(", ")}]`),
      fc.array(pair, { maxLength: 2 }).map((all) =>
        `{${all.map((entry) => entry.join(": ")).join(", ")}}`
      ),
      pair.map(([list, index]) => `(${list})[${index}]`),
      part.map((operand) => `(${operand}).a`),
      part.map((operand) => `has(body.a) && (${operand})`),
      fc.tuple(
        fc.constantFrom("size", "int", "string", "type", "bytes", "double", "bool", "dyn", "uint"),
        part,
      ).map(([name, operand]) => `${name}(${operand})`),
      fc.tuple(
        pair,
        fc.constantFrom("contains", "startsWith", "endsWith", "matches", "getHours"),
      ).map(([[target, operand], name]) => `(${target}).${name}(${operand})`),
      fc.tuple(
        pair,
        fc.constantFrom("all", "exists", "exists_one", "map", "filter"),
      ).map(([[list, inner], name]) => `(${list}).${name}(x, ${inner})`),
    ),
  };
});

const valid =
  "body.list.exists(x, x == 'a' && size(raw) > 1u) ? headers['x'].matches('^a+$') : !has(body.a)";
const signs = [
  ..."( ) [ ] { } . , ? : ! - + * / % < > = & | ' \" \\ x 1 body in true e 0x u r b''".split(" "),
  ...[" ", "\n", "//", '"""', "\\u", "\\x", "😀", "\ud800", ".all(", ".map(", "dyn("],
];
const deep = fc.tuple(
  fc.constantFrom("(", "[", "{1:", "!", "-", "size(", "body.all(x,", "true?", "1+", "body."),
  fc.nat(2000),
  fc.constantFrom("", "1", "body"),
).map(([piece, count, end]) => piece.repeat(count) + end);

Deno.test("any text is an expression, or refused as none", () => {
  fc.assert(
    fc.property(
      fc.oneof(anyText, pieces(...signs), mutated(valid, ...signs), expression),
      (text) => {
        compiled(text);
      },
    ),
    { numRuns: 500 },
  );
});

Deno.test("however deep a text is, it is an expression or refused as none", () => {
  fc.assert(fc.property(deep, (text) => void compiled(text)), { numRuns: 8 });
});

function compiled(text: string) {
  try {
    return compile(text, filterVariables);
  } catch (error) {
    assertInstanceOf(error, ExpressionError, text);
    return undefined;
  }
}

const body = fc.oneof(
  fc.record({ a: fc.jsonValue(), b: fc.jsonValue(), list: fc.array(fc.jsonValue()) }),
  fc.jsonValue(),
  fc.array(fc.nat(3), { minLength: 500, maxLength: 1500 }),
);

Deno.test("any expression on any body comes to its end, does not keep others waiting, and says why it refuses", async () => {
  using work = newHeavyWork();
  const heavyWork: FilterWork = {
    run: (kind, input, options) => work.run(kind, input, { ...options, timeout_ms: TIMEOUT_MS }),
  };
  let taken = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(expression, expression.map((text) => `(${text}) == true`)),
      body,
      async (text, value) => {
        const settings = payloadFilter.schema.safeParse({
          type: "payload_filter",
          expression: text,
        });
        if (!settings.success) return;
        taken += 1;
        const check = payloadFilter.prepare(settings.data, context({ heavyWork }));
        const made = request({ ...json(value), query: "q=1" });
        let refusal: Refusal | undefined;
        await assertTakesLess(AT_ONCE_MS_MAX, async () => {
          refusal = await check(made);
        });
        if (refusal) assertEquals(typeof refusal.reason, "string");
      },
    ),
    { numRuns: 200 },
  );
  assert(taken > 20, `${taken} of them could be evaluated`);
});

Deno.test("any text is a pattern, or refused as none", () => {
  const parts = [
    ..."a ( ) [ ] { } | * + ? ^ $ . \\ - , : 1 9 \\p{ \\pL \\Q \\E \\x{ \\b (?i) (?P<n> [: :] {2,} [^"
      .split(" "),
    ...["😀", "\ud800", "\u0000", "{1000}"],
  ];
  const text = fc.oneof(
    anyText,
    pieces(...parts),
    mutated("^(?i:[a-z]+\\d{2,3}|\\pL*)$", ...parts),
  );
  fc.assert(
    fc.property(text, (pattern) => {
      try {
        parsePattern(pattern);
      } catch (error) {
        assertInstanceOf(error, PatternError, pattern);
      }
    }),
    { numRuns: 1000 },
  );
});
