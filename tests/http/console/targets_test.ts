/** Where the login leads: known pages of the console, whatever a link to it names. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { unicode } from "../../arbitraries.ts";
import { ROUTES } from "../../../src/http/console/mod.ts";
import { Targets } from "../../../src/http/console/targets.ts";

const BASE = "https://console.example/base/";
const targets = new Targets(ROUTES);

/** The addresses of pages, with names in place of parameters. */
const PAGES = ROUTES.filter(({ show }) => show)
  .map(({ path }) => path.slice(1).replaceAll(/:\w+/g, "a-name.1"));
const FORMS = ROUTES.filter(({ submit }) => submit)
  .map(({ path }) => path.slice(1).replaceAll(/:\w+/g, "a-name.1"));

Deno.test("each page and each form is a target of its kind", () => {
  for (const path of PAGES) {
    assertEquals(targets.page(path), path);
    assertEquals(targets.page(`${path}/`), path);
    assertEquals(targets.page(`${path}?a=1&b=x+y`), `${path}?a=1&b=x+y`);
  }
  for (const path of FORMS) assertEquals(targets.form(path), path);
  for (const path of FORMS.filter((path) => !PAGES.includes(path))) {
    assertEquals(targets.page(path), "", path);
  }
});

/** Targets that browsers read as another host, in one of their ways. */
const HOSTILE = [
  ".//evil.example/x",
  "//console//evil.example",
  "..//evil.example",
  "./\t/evil.example",
  "./\n/evil.example",
  "/\t/evil.example",
  "//evil.example",
  "///evil.example",
  "\\\\evil.example",
  "/\\evil.example",
  "https:evil.example",
  "https://evil.example",
  "javascript:alert(1)",
  "deliveries/..//evil.example",
  "deliveries/../../evil",
  "deliveries//evil.example",
  "triggers/..",
  "triggers/%2e%2e",
  "triggers/%2f%2fevil.example",
  " //evil.example",
  "\u0000//evil.example",
  "@evil.example",
  ":@evil.example",
  "deliveries#//evil.example",
  "logout",
  "assets/x",
  "api/v0/triggers",
];

Deno.test("no other text is a target", () => {
  for (const to of HOSTILE) {
    assertEquals([targets.page(to), targets.form(to)], ["", ""], JSON.stringify(to));
  }
});

Deno.test("whatever is asked for, the answer is a known page below the console", () => {
  const piece = fc.oneof(
    fc.constantFrom(...PAGES, ...FORMS, ...HOSTILE),
    fc.constantFrom(
      "/",
      "//",
      "\\",
      ".",
      "..",
      "?",
      "#",
      "@",
      ":",
      "\t",
      "\r\n",
      "%2f",
      "%5c",
      "％",
    ),
    fc.constantFrom("http:", "https://", "data:", "evil.example", "base", "é", "\u2028", "\u0000"),
    unicode({ maxLength: 6 }),
  );
  const address = fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join(""));
  const known = new Set([...PAGES, ...FORMS].map((path) => path.split("/").length));
  fc.assert(
    fc.property(address, (to) => {
      for (const found of [targets.page(to), targets.form(to)]) {
        const url = new URL(found, BASE);
        const [path = ""] = found.split("?");
        assertEquals(url.href.startsWith(BASE), true, found);
        assertEquals(url.pathname, `/base/${path}`);
        assert(known.has(path.split("/").length), found);
      }
    }),
    { numRuns: 3_000 },
  );
});
