/**
 * An expression that could never be true or false, or that is too large, is refused when it is saved,
 * with what is wrong and where.
 */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { payloadFilter } from "../../src/conditions/payload_filter.ts";
import { assertTakesLess } from "../surroundings.ts";
import { context, problemsOf, request } from "./fixture.ts";

const notSaved: { name: string; expression: string; problem: string | RegExp }[] = [
  {
    name: "nothing",
    expression: "",
    problem: "Syntax error at line 1, column 1: found end of input",
  },
  {
    name: "one equals sign",
    expression: "body.x = 1",
    problem: "Syntax error at line 1, column 8: found = but expecting end of input",
  },
  {
    name: "an equals sign on the second line",
    expression: "body.x == 1 &&\n  body.y = 2",
    problem: "Syntax error at line 2, column 10: found = but expecting end of input",
  },
  {
    name: "a number",
    expression: "1 + 1",
    problem: "Must be true or false: this is of type int (line 1, column 3)",
  },
  {
    name: "a string",
    expression: "'x'",
    problem: "Must be true or false: this is of type string (line 1, column 1)",
  },
  {
    name: "a list",
    expression: "[true]",
    problem: "Must be true or false: this is of type list (line 1, column 1)",
  },
  {
    name: "a map",
    expression: "{'a': true}",
    problem: "Must be true or false: this is of type map (line 1, column 1)",
  },
  {
    name: "null",
    expression: "null",
    problem: "Must be true or false: this is of type null (line 1, column 1)",
  },
  {
    name: "a list of a macro",
    expression: "body.map(x, x == 1)",
    problem: "Must be true or false: this is of type list (line 1, column 5)",
  },
  {
    name: "a filtered list",
    expression: "body.filter(x, x == 1)",
    problem: "Must be true or false: this is of type list (line 1, column 5)",
  },
  {
    name: "a size",
    expression: "body.items.size()",
    problem: "Must be true or false: this is of type int (line 1, column 11)",
  },
  {
    name: "headers",
    expression: "headers",
    problem: "Must be true or false: this is of type map (line 1, column 1)",
  },
  {
    name: "a type",
    expression: "int",
    problem: "Must be true or false: this is of type type (line 1, column 1)",
  },
  {
    name: "a clause that is no bool",
    expression: "body.a == 1 && size(body.b)",
    problem: "Must be true or false: this is of type int (line 1, column 16)",
  },
  {
    name: "not of a number",
    expression: "!1",
    problem: "Must be true or false: this is of type int (line 1, column 2)",
  },
  {
    name: "a choice of strings",
    expression: "body.a ? 'x' : 'y'",
    problem: "Must be true or false: this is of type string (line 1, column 10)",
  },
  {
    name: "an unknown variable",
    expression: "bdoy.action == 'x'",
    problem: "Unknown variable 'bdoy': there are body, raw, headers, query, content_type, " +
      "remote_ip, now, jwt (line 1, column 1)",
  },
  {
    name: "a name of JavaScript",
    expression: "constructor == 'x'",
    problem: /^Unknown variable 'constructor'/,
  },
  {
    name: "a macro's variable outside of it",
    expression: "body.exists(x, x == 1) && x == 2",
    problem: /^Unknown variable 'x'/,
  },
  {
    name: "an unknown function",
    expression: "body.a.reversed() == 'x'",
    problem: "Unknown function 'reversed' (line 1, column 7)",
  },
  {
    name: "a pattern that is none",
    expression: "body.a.matches('(')",
    problem: /^Invalid pattern: .*missing closing \)/,
  },
  {
    name: "a pattern that would grow without bounds",
    expression: "body.a.matches('((a{100}){100}){100}')",
    problem: /^Invalid pattern: .*repeat/,
  },
];

for (const { name, expression, problem } of notSaved) {
  Deno.test(`payload_filter cannot be saved: ${name}`, () => {
    const [found = "", ...more] = problemsOf(payloadFilter, { expression });
    assertEquals(more, []);
    if (typeof problem === "string") assertEquals(found, `/expression: ${problem}`);
    else assertMatch(found.replace("/expression: ", ""), problem);
  });
}

for (const name of ["google.protobuf.ListValue{values: body}", "google.protobuf.Value{}"]) {
  Deno.test(`payload_filter cannot be saved with the message ${name}`, () => {
    const [problem = ""] = problemsOf(payloadFilter, { expression: `${name} == body` });
    assertMatch(
      problem,
      /^\/expression: Makes a message, 'google\.protobuf\.\w+': maps can be made \(line 1, column 1\)$/,
    );
  });
}

const nots = (count: number) => "body" + ".a".repeat(count) + " == 1";
const limits: { name: string; within: string; beyond: string; problem: string }[] = [
  {
    name: "4 KiB",
    within: `body == '${"x".repeat(4096 - 10)}'`,
    beyond: `body == '${"ä".repeat(2044)}'`,
    problem: "/expression: Must have at most 4096 bytes",
  },
  {
    name: "32 levels",
    within: nots(30),
    beyond: nots(31),
    problem: "/expression: Is nested deeper than 32 levels (line 1, column 1)",
  },
  {
    name: "1,000 parts",
    within: `body in [${Array(997).fill("1").join()}]`,
    beyond: `body in [${Array(998).fill("1").join()}]`,
    problem: "/expression: Has more than 1000 parts (line 1, column 2004)",
  },
  {
    name: "two macros in one another",
    within:
      "body.all(x, body.all(y, x == y)) && body.filter(x, x.all(y, y)).exists(z, z.all(y, y))",
    beyond: "body.all(x, body.all(y, body.exists(z, x == y)))",
    problem: "/expression: Has macros nested deeper than 2 levels (line 1, column 29)",
  },
];

for (const { name, within, beyond, problem } of limits) {
  Deno.test(`payload_filter takes ${name} and no more`, () => {
    assertEquals(problemsOf(payloadFilter, { expression: within }), []);
    assertEquals(problemsOf(payloadFilter, { expression: beyond }), [problem]);
  });
}

Deno.test("payload_filter: what overflows the parser is refused, and quickly", async () => {
  const shapes = [
    "(".repeat(4000),
    "(".repeat(2000) + "true" + ")".repeat(2000),
    "[".repeat(2000) + "]".repeat(2000),
    "body[".repeat(800) + "0" + "]".repeat(800),
    "body.all(x,".repeat(300) + "true" + ")".repeat(300),
    "true?true:".repeat(400) + "true",
    "body" + "+body".repeat(800),
  ];
  await assertTakesLess(2_000, () => {
    for (const expression of shapes) {
      assertEquals(problemsOf(payloadFilter, { expression }).length, 1, expression.slice(0, 20));
    }
  });
});

Deno.test("payload_filter: an expression that is stored and no longer reads refuses", async () => {
  const stored = { type: "payload_filter" as const, expression: "body.x =" };
  const refusal = await payloadFilter.prepare(stored, context())(request());
  assertStringIncludes(refusal?.reason ?? "", "Payload filter cannot be used: Syntax error");
});
