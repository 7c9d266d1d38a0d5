import { assertEquals } from "@std/assert";
import {
  hidePassword,
  hideUserInfo,
  isBaseUrl,
  withBrackets,
} from "../../../src/platform/network/urls.ts";

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

const BRACKETED: [text: string, bracketed: string][] = [
  ["http://fd00::5:8000", "http://[fd00::5]:8000"],
  ["http://2001:DB8:0:0:0:0:0:5:8000", "http://[2001:DB8:0:0:0:0:0:5]:8000"],
  ["http://[fd00::5]:8000", "http://[fd00::5]:8000"],
  ["http://fd00::5", "http://fd00::5"],
  ["http://10.0.0.5:8000", "http://10.0.0.5:8000"],
  ["https://hooks.example.com", "https://hooks.example.com"],
];

Deno.test("an address of IPv6 without brackets gets them, as Kubernetes tells none", () => {
  for (const [text, bracketed] of BRACKETED) assertEquals(withBrackets(text), bracketed);
});

const HIDDEN: [text: string, password: string, userInfo: string][] = [
  ["https://ada:x@a.example/p", "https://********@a.example/p", "https://***@a.example/p"],
  ["https://ada:x@y@a.example", "https://********@a.example", "https://***@a.example"],
  ["https://a.example/p?to=b@c", "https://a.example/p?to=b@c", "https://***@c"],
  ["https://a.example", "https://a.example", "https://a.example"],
  ["ada@a.example", "ada@a.example", "ada@a.example"],
  ["a@b://c", "a@b://c", "a@b://c"],
];

Deno.test("a URL is shown without its user name and password", () => {
  for (const [text, password, userInfo] of HIDDEN) {
    assertEquals(hidePassword(text), password);
    assertEquals(hideUserInfo(text), userInfo);
  }
});
