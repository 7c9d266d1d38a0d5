/** What a service is told is taken, or refused by the name that it was told under. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { InvalidInputError } from "../../src/platform/errors.ts";
import { digestsOfSettings } from "../../src/config/shared_settings.ts";
import { checkSettings, type ServiceSettings } from "../../src/config/settings.ts";

const SETTINGS: ServiceSettings = {
  host: "127.0.0.1",
  port: 0,
  data: "data",
  trustedProxies: [],
  dev: false,
  payloadBytesMax: 1,
  retention_days: 1,
  executionsMax: 1,
  stopTimeout_ms: 0,
};
const SECRET = { secretKey: "0".repeat(64) };

const taken: Partial<ServiceSettings>[] = [
  {},
  { adminToken: "x".repeat(16) },
  { adminToken: "~!".repeat(256) },
  { host: "0.0.0.0" },
  { dev: true, host: "127.0.0.2" },
  { dev: true, host: "::1" },
  { dev: true, host: "localhost" },
  { trustedProxies: ["10.0.0.0/8", "::1"] },
  { publicUrl: "https://hooks.example.com/in/" },
  { kv: "https://kv.example.com", ...SECRET },
];
for (const told of taken) {
  Deno.test(`settings are taken: ${JSON.stringify(told).slice(0, 60)}`, () => {
    checkSettings({ ...SETTINGS, ...told });
  });
}

const refused: [told: Partial<ServiceSettings>, name: string, found: string][] = [
  [{ adminToken: "x".repeat(15) }, "HOOKLAUNCH_ADMIN_TOKEN", "15 characters"],
  [{ adminToken: "x".repeat(513) }, "HOOKLAUNCH_ADMIN_TOKEN", "513 characters"],
  [{ adminToken: `${"x".repeat(16)}\n` }, "HOOKLAUNCH_ADMIN_TOKEN", "17 characters"],
  [{ dev: true, host: "192.0.2.1" }, "--dev", '"192.0.2.1"'],
  [{ dev: true, host: "::" }, "--dev", '"::"'],
  [{ trustedProxies: ["::1", "proxy"] }, "--trusted-proxy", '"proxy"'],
  [{ publicUrl: "https://a:secret@h" }, "--public-url", '"https://***@h"'],
  [{ publicUrl: "https://a:top#secret@h" }, "--public-url", '"https://***@h"'],
  [{ instanceUrl: "http://a:top/secret@h" }, "--instance-url", '"http://***@h"'],
  [{ kv: "data/kv", ...SECRET }, "--kv", "something else"],
  [{ kv: "https://kv.example.com" }, "HOOKLAUNCH_SECRET_KEY", "found none"],
];
for (const [told, name, found] of refused) {
  Deno.test(`settings are refused: ${JSON.stringify(told).slice(0, 60)}`, () => {
    const check = () => checkSettings({ ...SETTINGS, ...told });
    const { message } = assertThrows(check, InvalidInputError, found);
    assertEquals(message.includes(name), true, message);
    assertEquals(message.includes("secret@"), false, message);
  });
}

Deno.test("instances tell each other digests of settings, which nobody makes without the key", () => {
  const settings = { ...SETTINGS, adminToken: "a-token-of-operators" };
  const digests = digestsOfSettings({ ...settings, ...SECRET });
  assertEquals(digestsOfSettings({ ...settings, ...SECRET, port: 1 }), digests);
  const others = digestsOfSettings({ ...settings, secretKey: "1".repeat(64) });
  for (const [name, digest] of Object.entries(digests)) assert(others[name] !== digest, name);
  const changed = digestsOfSettings({ ...settings, ...SECRET, adminToken: "another-token" });
  const differing = Object.keys(digests).filter((name) => digests[name] !== changed[name]);
  assertEquals(differing, ["HOOKLAUNCH_ADMIN_TOKEN"]);
  // They are named as on the page that says which they are.
  const page = Deno.readTextFileSync(new URL("../../src/docs/monitoring.md", import.meta.url));
  assertEquals(Object.keys(digests).filter((name) => !page.includes(`\`${name}\``)), []);
});
