import { assertEquals } from "@std/assert";
import { isBaseUrl } from "../../../src/platform/network/urls.ts";

const CASES: [text: string, isBase: boolean][] = [
  ["https://hooks.example.com", true],
  ["http://127.0.0.1:8000/", true],
  ["http://[::1]:8000", true],
  ["https://example.com/hooks", true],
  ["hooks.example.com", false],
  ["localhost:8000", false],
  ["ftp://hooks.example.com", false],
  ["http://127.0.0.1:99999", false],
  ["https://hooks.example.com?a=b", false],
  ["https://hooks.example.com/?", false],
  ["https://hooks.example.com/#", false],
  ["https://user@hooks.example.com", false],
  ["https://user:password@hooks.example.com", false],
  ["", false],
];

for (const [text, isBase] of CASES) {
  Deno.test(`${isBase ? "paths" : "no paths"} can be put behind "${text}"`, () => {
    assertEquals(isBaseUrl(text), isBase);
  });
}
