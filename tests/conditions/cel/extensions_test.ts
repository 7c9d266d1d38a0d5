/** The functions beside those of the language, over the fields of a body. */
import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { isCelError } from "@bufbuild/cel";
import { costOf, isShortWork } from "../../../src/conditions/cel/cost.ts";
import { compile, compileTerm, parseExpression } from "../../../src/conditions/cel/expression.ts";
import { fromJson } from "../../../src/conditions/cel/json.ts";
import { parseTemplate } from "../../../src/conditions/cel/template.ts";
import { compileValue } from "../../../src/conditions/values/compile.ts";

const BODY = {
  json: '{"a": [1, 2], "id": 9007199254740993, "t": "é"}',
  text: " a/b/C ",
  base64: "aGVsbG8/",
  base64url: "aGVsbG8_",
  words: ["x", "y"],
  none: [],
  faces: "😀a😀b",
  labels: { "x-y": "z", list: [{}, { name: "n" }] },
};

/** Expressions, each of which is true. */
const TRUE = [
  "body.json.parseJSON().a[1] == 2",
  "parseJSON(body.json).id == 9007199254740993",
  "body.json.parseJSON().t == 'é'",
  "body.json.parseJSON().?none.orValue('d') == 'd'",
  String.raw`r'\' + '.?b' == '\\' + '.' + '?b' && body.?missing.orValue(r"\") == '\\'`,
  `"""it's""" + '.?b' == 'it' + "'s." + '?b'`,
  "body.?words[1].orValue('d') == 'y' && body.?words[2].orValue('d') == 'd'",
  "body.?none[0].?name.orValue('d') == 'd' && body.?missing[0].orValue('d') == 'd'",
  "body.?labels['x-y'].orValue('d') == 'z' && body.?labels['a-b'].orValue('d') == 'd'",
  "body.?labels['list'][1].name.orValue('d') == 'n' && body.?labels.list[0].name.orValue('d') == 'd'",
  "body.?words[body.words.size() - 1].orValue('d') == 'y'",
  "string(base64.decode(body.base64)) == 'hello?'",
  "string(base64.decode(body.base64url)) == 'hello?'",
  "base64.encode(b'hello?') == body.base64",
  "base64.encode(b'hello?').size() == 8",
  "body.text.trim() == 'a/b/C'",
  "body.text.trim().split('/') == ['a', 'b', 'C']",
  "body.words.join('-') == 'x-y'",
  "body.text.replace('/', '.').trim() == 'a.b.C'",
  "body.text.substring(1, 2) == 'a'",
  "body.text.lowerAscii() == ' a/b/c '",
  "body.text.upperAscii() == ' A/B/C '",
  "body.text.indexOf('/') == 2",
  "body.faces.substring(1) == 'a😀b' && body.faces.substring(0, 1) == '😀'",
  "body.faces.substring(4) == '' && body.faces.substring(2, 2) == ''",
  "body.faces.indexOf('b') == 3 && body.faces.indexOf('😀', 1) == 2",
  "body.faces.indexOf('a', 2) == -1 && body.faces.indexOf('a', 9) == -1",
  "body.faces.indexOf('a', 4) == -1 && body.faces.indexOf('a', 5) == -1",
  "body.faces.split('') == ['😀', 'a', '😀', 'b'] && ''.split('') == []",
  "'a,b,c'.split(',', 2) == ['a', 'b,c'] && 'a,b,c'.split(',', 1) == ['a,b,c']",
  "'a,b,c'.split(',', -1) == ['a', 'b', 'c'] && 'a,b'.split(',', 0) == []",
  "'a,b'.split(',', 9) == ['a', 'b'] && ''.split(',') == ['']",
  "'lolo'.replace('l', 'll', 1) == 'llolo' && 'lolo'.replace('l', '$&', -1) == '$&o$&o'",
  "'ab'.replace('a', 'x', 0) == 'ab' && 'ab'.replace('a', 'x', 9) == 'xb'",
  "'ab'.replace('', '-') == '-a-b-' && 'ab'.replace('', '-', 2) == '-a-b'",
  "'%s of %d'.format([body.words[0], 3]) == 'x of 3'",
];

for (const source of TRUE) {
  Deno.test(`functions: ${source}`, () => {
    compile(source, { body: "dyn" });
    const bindings = Object.assign(Object.create(null), { body: fromJson(BODY) });
    assertEquals(compileTerm(source).evaluate(bindings), true);
  });
}

const ERRORS: [source: string, message: RegExp][] = [
  ["body.text.parseJSON()", /no JSON/],
  ["base64.decode('*')", /no base64/],
  ["body.faces.substring(5)", /substring\(\) of a text of 4 characters: there is no place 5/],
  ["body.faces.substring(2, 1)", /substring\(\) from 2 to 1/],
  ["body.faces.substring(-1)", /there is no place -1/],
  ["body.faces.indexOf('a', -1)", /indexOf\(\) of a text of 4 characters: there is no place -1/],
  ["body.words.parseJSON()", /no matching overload/],
  ["base64.decode('e30=').parseJSON()", /parseJSON\(\) of bytes: write string\(…\) around them/],
  ["parseJSON(b'{}')", /parseJSON\(\) of bytes: write string\(…\) around them/],
];

for (const [source, message] of ERRORS) {
  Deno.test(`functions: the error of ${source}`, () => {
    const bindings = Object.assign(Object.create(null), { body: fromJson(BODY) });
    const value = compileTerm(source).evaluate(bindings);
    assert(isCelError(value));
    assertMatch(value.message, message);
  });
}

Deno.test("functions: a name that there is not is told when an expression is compiled", () => {
  for (const source of ["base64.nothing(body.a) == ''", "body.text.charAt(0) == 'a'"]) {
    assertThrows(() => compile(source, { body: "dyn" }), Error, "Unknown function");
  }
});

Deno.test("functions: what may grow is evaluated in the Worker, what only reads is not", () => {
  const isShort = (source: string) =>
    isShortWork(costOf(parseExpression(source).expr), { values: 10, text: 1_000 });
  assertEquals(isShort("body.a.lowerAscii() == 'x'"), true);
  assertEquals(isShort("body.a.parseJSON().b == 'x'"), false);
  assertEquals(isShort("body.a.replace('a', 'aaaa') == 'x'"), false);
});

Deno.test("an expression in a text ends behind its strings, of any kind", () => {
  const sources = [
    String.raw`body.path.split(r'\')[0]`,
    `body.text.replace("""it's }""", '')`,
    `body.text.replace('''"}''', "")`,
    String.raw`body.text == '\'}' || body.text == "\"}"`,
    `body.text + '' + ""`,
  ];
  for (const source of sources) {
    assertEquals(parseTemplate(`a {${source}} b`), ["a ", { source }, " b"]);
    compileValue(source);
  }
});
