/**
 * `matches` finds what the matcher of the CEL package finds, which is a port of RE2: the same texts by
 * the same patterns, and the same patterns are none. That matcher is the measure here, by a list of
 * what the syntax has and by patterns made at random.
 */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { celEnv, isCelError } from "@bufbuild/cel";
import fc from "fast-check";

import { matches, parsePattern, PatternError } from "../../../src/conditions/cel/pattern.ts";

const standard = celEnv().funcs.find("matches");

/** True, false, or "error". */
function byStandard(text: string, pattern: string): unknown {
  const result = standard?.call(0, text, [pattern]);
  return isCelError(result) ? "error" : result;
}

function byOurs(text: string, pattern: string): unknown {
  try {
    return matches(text, pattern);
  } catch (error) {
    assert(error instanceof PatternError, String(error));
    return "error";
  }
}

const syntax: Record<string, string[]> = {
  "literals": ["", "a", "é+", "😀{2}", "a.b", "(?s)a.b", "{", "a{", "a{1", "a{,2}", "{a}"],
  "alternatives": ["a|b", "a||b", "(a|b|)*$", "(^a|b$)", "(a(?i)b|c)d", "(?i)a|b"],
  "repeats": ["a*", "a+?b", "a??", "a{2,3}", "a{2,}b", "x{0}", "(|a)+", "()*", "(a*)*", "(a*)+b"],
  "no repeats": ["a**", "a{2}{3}", "*", "(*)", "|*", "{1}", "a{1001}", "a{3,2}", "^*", "a{01}"],
  "repeats behind flags": [
    ..."a(?)* ab(?i)* a*(?i)* a(?i)(?s)+ (?i)* a|(?i)* (a(?i)*B)+c ^(?)* $(?m)+ \\b(?i)?a".split(
      " ",
    ),
    ..."a(?i){2} a(?)** a(?)*?b (ab)(?i)+ (?i:a)(?s)? [ab](?i)+C a(?i)+B()(?)*".split(" "),
  ],
  "groups": ["(a)", "(?:a)", "(?P<n>a)", "(?<n>a)", "(?i:a)b", "(?i)(a(?-i)b)c", "(?U)a+", "()"],
  "no groups": ["(", "(a", "a)", ")", "(?<n", "(?", "(?x)a", "(?=a)", "(?!a)", "(?<=a)b", "(a)\\1"],
  "classes": ["[a-c]+", "[^a-c]", "[]a]", "[^]a]", "[a-]", "[-a]", "[a\\-z]", "[a-c-e]", "[--a]"],
  "no classes": ["[", "[a", "[]", "[b-a]", "[\\d-z]a", "[a-\\d]", "[[:foo:]]", "[\\q]"],
  "kinds of character": ["\\d+", "\\D", "\\w\\W", "\\s", "\\S+\\s\\S+", "[^\\D]", "[^\\d\\s]"],
  "Posix": ["[[:alpha:]]", "[[:^alpha:]]", "[[:word:]-]", "[[:punct:]]", "[[]", "[[a]", "[[:a]"],
  "Unicode": [
    "\\pL",
    "\\PL",
    "\\p{Lu}",
    "\\P{Lu}",
    "\\p{^Lu}",
    "\\p{Greek}",
    "[\\pL\\d]",
    "\\p{Any}",
  ],
  "no Unicode": ["\\p", "\\p{", "\\p{Foo}", "\\p{Letter}", "\\p{}", "\\p{Lu"],
  "folded case": ["(?i)ABC", "(?i)k", "(?i)[k]", "(?i)[^k]", "(?i)\\W", "(?i)[\\W]", "(?i)ß"],
  "folded kinds": ["(?i)\\p{Lu}", "(?i)\\P{Lu}", "(?i)[^\\P{Lu}]", "(?i-i)A", "(?is)A.B"],
  "places": [
    "^a$",
    "(?m)^b$",
    "(?m)^$",
    "(?m)$\\n^",
    "\\bfoo\\b",
    "\\B.",
    "\\A\\z",
    "^^a",
    "\\b\\b",
  ],
  "escapes": [
    "\\.",
    "[.]",
    "\\t",
    "[\\n]",
    "\\v",
    "\\a",
    "\\x41",
    "\\x{1F600}",
    "\\101",
    "\\01",
    "\\_",
  ],
  "no escapes": ["a\\", "\\1", "\\8", "\\Z", "\\C", "\\é", "\\x{110000}", "\\x4", "\\y"],
  "quotes": ["\\Qa.b\\E", "\\Qa.b\\E*c", "\\Q", "\\Q\\E", "\\\\Qa", "\\Q[a"],
  "quotes beside other things": [
    ..."a\\Q\\E* \\Q\\E* (?i)\\QaB\\E+c \\Qa|b)\\E \\Q\\n\\E \\Q😀é\\E{2} \\Qa\\Eb\\Qc".split(" "),
    ..."\\p\\QL \\x4\\Q1\\E \\0\\Q1 [\\Qa\\E] [\\Q]\\E] \\E a\\E (\\Q)\\E) (?\\Qi\\E)a".split(" "),
  ],
};

const texts = [
  ..."ab|αΩéß😀kKſsẞ!-][^\\{}_1\0\t\n\v\u00a0".match(/./gsu) ?? [],
  ...["", "aab", "abc", "ABC", "foo bar", "a\nb", "b\n", "A1_", "😀😀", "\ud800", "a.b", "a.bc"],
  ...[
    "{1}",
    "a{,2}",
    "a{1",
    "{a}",
    "aaa",
    "cd",
    "bd",
    "Bd",
    "Cd",
    "aBc",
    "abC",
    "é ü",
    "[a",
    "\\Qa",
  ],
];

for (const [name, patterns] of Object.entries(syntax)) {
  Deno.test(`matches reads ${name} as RE2 does`, () => {
    for (const pattern of patterns) {
      for (const text of texts) {
        const told = `${JSON.stringify(pattern)} in ${JSON.stringify(text)}`;
        assertEquals([told, byOurs(text, pattern)], [told, byStandard(text, pattern)]);
      }
    }
  });
}

const atoms = [
  ..."abc.^$é",
  ..."[ab] [^a] [é-ü] [[:^lower:]] \\b \\B \\w \\W \\d \\n \\z \\A \\PL \\p{Lu}".split(" "),
  ..."(?i) (?m) (?s) (?i:A) \\Qa+\\E".split(" "),
];
const { pattern } = fc.letrec<{ pattern: string }>((tie) => ({
  pattern: fc.oneof(
    { depthSize: "small" },
    fc.constantFrom("", ...atoms),
    fc.tuple(tie("pattern"), tie("pattern")).map((parts) => parts.join("")),
    fc.tuple(tie("pattern"), tie("pattern")).map((parts) => `(${parts.join("|")})`),
    fc.tuple(tie("pattern"), fc.constantFrom("*", "+", "?", "{2}", "{1,3}", "{2,}", "*?", "{0}"))
      .map(([part, repeat]) => `(?:${part})${repeat}`),
  ),
}));
const text = fc.string({ unit: fc.constantFrom(..."abcAB\néÜ1 _+"), maxLength: 12 });

Deno.test("matches finds what RE2 finds, by any pattern in any text", () => {
  fc.assert(
    fc.property(pattern, text, (pattern, text) => {
      assertEquals(byOurs(text, pattern), byStandard(text, pattern));
    }),
    { numRuns: 3000 },
  );
});

Deno.test("matches takes for a pattern what RE2 takes for one", () => {
  const signs = "ab(){}[]|*+?\\^$.-,:12dpPLQEimsn<>=!é";
  const junk = fc.string({ unit: fc.constantFrom(...signs), maxLength: 10 })
    // Here the port is not as RE2 is: it repeats no brace, and reads `[:]` as a class.
    .filter((pattern) => !/\{[*+?{]|\[:\]/.test(pattern));
  fc.assert(
    fc.property(junk, text, (pattern, text) => {
      assertEquals(byOurs(text, pattern), byStandard(text, pattern));
    }),
    { numRuns: 5000 },
  );
});

Deno.test("matches finds the same when there is more to a text than it can keep", () => {
  let state = 1;
  const noise = Array.from({ length: 20_000 }, () => {
    state = Math.imul(state, 1_103_515_245) + 12_345;
    return state & 0x10000 ? "a" : "b";
  }).join("");
  const pattern = "(a|b)*a(a|b){16}[cd]";
  const found = [noise, `${noise}a${"b".repeat(16)}d`].map((text) => matches(text, pattern));
  assertEquals(found, [false, true]);
});

const tooLarge: { name: string; within: string; beyond: string; problem: string }[] = [
  {
    name: "4096 characters",
    within: "a".repeat(4096),
    beyond: "a".repeat(4097),
    problem: "has more than 4096 characters",
  },
  {
    name: "repeats of 1000",
    within: "a{1000}",
    beyond: "a{1001}",
    problem: "invalid repeat count: `{1001}`",
  },
  {
    name: "10,000 parts",
    within: "a{1000}".repeat(9),
    beyond: "a{1000}".repeat(11),
    problem: "has repeats that make more than 10000 parts",
  },
  {
    name: "10,000 parts in groups",
    within: "(?:abc){1000}".repeat(3),
    beyond: "(?:abc){1000}".repeat(4),
    problem: "has repeats that make more than 10000 parts",
  },
  {
    name: "groups 999 deep",
    within: "(".repeat(999) + ")".repeat(999),
    beyond: "(".repeat(1000) + ")".repeat(1000),
    problem: "expression nests too deeply",
  },
];

for (const { name, within, beyond, problem } of tooLarge) {
  Deno.test(`matches takes a pattern of ${name} and no more`, () => {
    parsePattern(within);
    assertThrows(() => parsePattern(beyond), PatternError, `Invalid pattern: ${problem}`);
  });
}
