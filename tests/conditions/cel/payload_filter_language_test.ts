/**
 * Expressions mean what the language says (cel-spec, doc/langdef.md), also where the package that
 * evaluates them has it otherwise. What cannot be converted is an error, so that a filter which says
 * what must not be refuses it too.
 */
import { CONFIG_FLAGS } from "../../surroundings.ts";
import { assert, assertEquals } from "@std/assert";
import { payloadFilter } from "../../../src/conditions/payload_filter.ts";
import { checkOnce, json } from "../fixture.ts";

const body = { at: "2024-02-29T23:59:59.5+01:00", count: "12", empty: "", text: "😀" };

async function whyRefused(expression: string): Promise<string | undefined> {
  return (await checkOnce(payloadFilter, { expression }, json(body)))?.reason;
}

const holding: Record<string, string[]> = {
  "numbers in texts": [
    "int(body.count) == 12 && int('-12') == -12 && int('+012') == 12",
    "int('-9223372036854775808') < 0 && uint('18446744073709551615') > 0u",
    "double('1.5') == 1.5 && double('-.5e1') == -5.0 && double('12') == 12.0",
    "double('-Infinity') < 0.0 && double('NaN') != double('NaN')",
  ],
  "times in texts": [
    "timestamp(body.at) == timestamp('2024-02-29T22:59:59.500Z')",
    "timestamp('9999-12-31T23:59:59.999999999Z') > timestamp('0001-01-01T00:00:00Z')",
    "duration('-1.5h') == duration('-90m') && duration('0') == duration('0s')",
  ],
  "parts of times": [
    "timestamp('2023-05-31T23:59:58.987Z').getDayOfYear() == 150",
    "timestamp('2023-05-31T23:59:58.987Z').getDayOfYear('+01:00') == 151",
    "timestamp('2023-03-26T02:30:00Z').getHours() == 2",
    "timestamp('2023-03-26T01:30:00Z').getHours('01:00') == 2",
    "timestamp('2023-03-26T01:30:00Z').getHours('Europe/Berlin') == 3",
    "timestamp('2023-03-26T01:30:00Z').getMinutes('-02:45') == 45",
    "timestamp('0001-01-01T00:00:00Z').getFullYear() == 1",
    "timestamp('0001-01-01T00:00:00Z').getDayOfWeek() == 1",
    "timestamp('2023-12-25T12:30:15.5Z').getMonth() == 11",
    "timestamp('2023-12-25T12:30:15.5Z').getDate() == 25",
    "timestamp('2023-12-25T00:00:00Z').getDayOfMonth('America/Los_Angeles') == 23",
    "timestamp('2023-12-24T12:30:15.5Z').getDayOfWeek() == 0",
    "timestamp('2023-12-25T12:30:15.5Z').getSeconds() == 15",
    "timestamp('1969-12-31T23:59:59.5Z').getMilliseconds() == 500",
    "duration('1h30m').getMinutes() == 90 && duration('1.234s').getMilliseconds() == 234",
  ],
  "patterns": ["matches(body.count, '^[0-9]+$')", "!matches('foobar', 'x')"],
  "the order of texts": [
    "'\\uffff' < body.text && body.text > '\\ufffd' && body.text <= body.text",
    "!(body.text < '\\ue000') && !('\\ue000' >= body.text) && '\\ud7ff' < body.text",
    "'a' < 'aa' && 'Z' < 'a' && '' <= '' && 'aa' >= 'a' && 'b' > 'aa'",
  ],
  "comments": ["true // so it is", "true // 'one'\n  && true // and another"],
};

/**
 * Time zones in which the service may run, and the hour in them when time began: in one of them some hours of UTC do
 * not exist. All other tests run in that of the machine.
 */
const ZONES: [zone: string, hour: number][] = [
  ["Europe/Berlin", 1],
  ["America/St_Johns", 20],
];

for (const [zone, hour] of ZONES) {
  Deno.test(`payload_filter has everything as the language has it, in ${zone}`, async (t) => {
    const expressions = Object.values(holding).flat();
    const script = import.meta.resolve("../in_time_zone.ts");
    const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "--quiet",
        ...CONFIG_FLAGS,
        "--allow-all",
        script,
        JSON.stringify({ body, expressions }),
      ],
      env: { TZ: zone },
    }).output();
    assert(success, new TextDecoder().decode(stderr));
    const found = JSON.parse(new TextDecoder().decode(stdout));
    assertEquals(found.hour, hour);
    for (const [name, some] of Object.entries(holding)) {
      await t.step(name, () => {
        for (const expression of some) {
          const why = found.reasons[expressions.indexOf(expression)];
          assertEquals([expression, why], [expression, null]);
        }
      });
    }
  });
}

const failing: [expression: string, reason: string][] = [
  ["int(body.empty) < 5", 'int() cannot read ""'],
  ["int(' 1') < 5", 'int() cannot read " 1"'],
  ["int('0x10') < 50", 'int() cannot read "0x10"'],
  ["int('1.5') < 5", 'int() cannot read "1.5"'],
  ["uint(body.empty) < 5u", 'uint() cannot read ""'],
  ["!(double('abc') > 5.0)", 'double() cannot read "abc"'],
  ["double(body.empty) < 5.0", 'double() cannot read ""'],
  ["double('1,5') != 1.5", 'double() cannot read "1,5"'],
  ["duration(body.empty) < duration('1s')", 'duration() cannot read ""'],
  [
    "timestamp('2023-02-29T00:00:00Z') < now",
    'timestamp() cannot read "2023-02-29T00:00:00Z"',
  ],
  [
    "timestamp('2023-01-01T24:00:00Z') < now",
    'timestamp() cannot read "2023-01-01T24:00:00Z"',
  ],
  ["now.getHours('Nowhere/Land') >= 0", 'Unknown time zone "Nowhere/Land"'],
];

for (const [expression, reason] of failing) {
  Deno.test(`payload_filter fails: ${expression}`, async () => {
    assertEquals(await whyRefused(expression), `Payload filter failed: ${reason}`);
  });
}
