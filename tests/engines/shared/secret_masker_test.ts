/** Masks of secrets: in the forms that programs print, wherever a line is cut, and fast enough for any log. */
import { assert, assertEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import { assertTakesLess } from "../../surroundings.ts";
import { SecretMasker } from "../../../src/engines/shared/secret_masker.ts";

const SECRET = `hf_AbC/+12'34 "quo\\te" $x <ü&>`;
const KEY = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\r\nAQEFAASCBKcwggSjAgEAAoIB\nshort\n";
const LONG = Array.from({ length: 3_000 }, (_, index) => (index * 7_919 % 97).toString(36)).join(
  "",
);

/** What is printed, and what the log has of it. */
const cases: [name: string, printed: string, expected: string | RegExp][] = [
  ["as it is", `a ${SECRET} b ${SECRET}${SECRET}`, "a ******** b ********"],
  ["in JSON", JSON.stringify({ a: SECRET }), '{"a":"********"}'],
  [
    "in JSON of Python",
    `"${JSON.stringify(SECRET).slice(1, -1).replace("ü", "\\u00fc")}"`,
    '"********"',
  ],
  ["in JSON of PHP", JSON.stringify(SECRET).replace("/", "\\/"), '"********"'],
  ["in a URL", `?q=${encodeURIComponent(SECRET)}&`, "?q=********&"],
  ["in a form", `q=${new URLSearchParams({ q: SECRET }).toString().slice(2)}`, "q=********"],
  ["in XML", SECRET.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"), "********"],
  [
    "of a shell that shows its commands",
    `+ echo '${SECRET.replace("'", "'\\''")}'`,
    "+ echo '********'",
  ],
  ["in base64", Buffer.from(SECRET).toString("base64"), /^\*{8}=*.?=*$/],
  ["in base64, with a line break", Buffer.from(`${SECRET}\n`).toString("base64"), /^\*{8}..?=*$/],
  [
    "in a header of Basic",
    Buffer.from(`user:${SECRET}`).toString("base64"),
    /^dXNlcj.?\*{8}[^=]{0,2}=*$/,
  ],
  [
    "in base64url, within others",
    Buffer.from(`ab${SECRET}cd`).toString("base64url"),
    /^.{2,4}\*{8}.{2,5}$/,
  ],
  ["in hexadecimal digits", Buffer.from(SECRET).toString("hex"), "********"],
  ["a line of several", "x MIIEvQIBADANBgkqhkiG9w0B y", "x ******** y"],
  ["several lines", KEY, "********\n********\r\n********\nshort\n"],
  ["a long one", `<${LONG}>`, "<********>"],
  [
    "the lines of base64",
    Buffer.from(LONG).toString("base64").replace(/.{76}/g, "$&\n"),
    /^(\*+\n)*\*+$/,
  ],
  ["something else", "epoch 1 of 10, hf_AbC, short", "epoch 1 of 10, hf_AbC, short"],
];

Deno.test("a secret is masked in the forms that programs print", () => {
  const masker = new SecretMasker([SECRET, KEY, LONG]);
  for (const [name, printed, expected] of cases) {
    const bytes = masker.mask(Buffer.from(printed));
    const found = Buffer.from(bytes).toString();
    if (typeof expected === "string") assertEquals(found, expected, name);
    else assert(expected.test(found), `${name}: ${found}`);
    assert(bytes.length <= Buffer.byteLength(printed), name);
  }
});

Deno.test("of a secret where a line is cut nothing is left, however little is there", () => {
  const masker = new SecretMasker([SECRET, LONG]);
  for (const secret of [Buffer.from(SECRET), Buffer.from(LONG)]) {
    for (let length = 1; length < Math.min(secret.length, 300); length++) {
      const cut = Buffer.concat([
        Buffer.from("token: "),
        secret.subarray(0, length),
        Buffer.from("\n"),
      ]);
      const found = Buffer.from(masker.mask(cut, { isCut: true })).toString();
      assert(/^token: \*+\n$/.test(found), `${length}: ${found}`);
    }
  }
  const other = Buffer.from("nothing of it is here.\n");
  assertEquals(masker.mask(other, { isCut: true }), other);
});

Deno.test("a log is searched in a time that the secrets hardly change", async () => {
  const masker = new SecretMasker([`${"A".repeat(30_000)}B`, `${"AB".repeat(15_000)}C`]);
  const content = Buffer.alloc(16 * 1024 * 1024, "A");
  // By comparing all of a secret at each place it would take minutes.
  await assertTakesLess(5_000, () => void masker.mask(content));
});
