import { assertEquals, assertRejects } from "@std/assert";
import { prepareHandshake } from "../../../src/conditions/handshake/prepare.ts";
import { UnavailableError } from "../../../src/platform/errors.ts";
import { systemNetwork } from "../../../src/platform/network/connection.ts";
import { json, request } from "../fixture.ts";

const row = {
  method: "POST",
  when: "body.Type == 'SubscriptionConfirmation'",
  verified: true,
  confirm: { url: "{body.SubscribeURL}", host: /^sns\.[a-z0-9-]+\.amazonaws\.com$/ },
  response: { type: "text", text: "" },
} as const;

/** Hosts of others, other schemes and ports: none of them is even looked up. */
const FOREIGN = [
  "http://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription",
  "https://sns.eu-west-1.amazonaws.com.example/",
  "https://sns.eu-west-1.amazonaws.com:8443/",
  "https://user@sns.eu-west-1.amazonaws.com/",
  "https://example.com/sns.eu-west-1.amazonaws.com",
  "https://s3.amazonaws.com/",
  "https://169.254.169.254/",
  "file:///etc/passwd",
  "no URL",
  "",
];

Deno.test("a handshake is confirmed at the provider's hosts alone", async () => {
  const resolved: string[] = [];
  const network = {
    ...systemNetwork,
    resolve(host: string) {
      resolved.push(host);
      return Promise.resolve(["169.254.169.254"]);
    },
  };
  const { answer } = prepareHandshake(row, { name: "SNS", network });
  const ask = (SubscribeURL: string) =>
    answer(request(json({ Type: "SubscriptionConfirmation", SubscribeURL })));
  for (const url of FOREIGN) assertEquals(await ask(url), undefined, url);
  assertEquals(resolved, []);
  // The provider's name leads to an address that is not public.
  await assertRejects(
    () => ask("https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&Token=x"),
    UnavailableError,
    "Cannot confirm the handshake: sns.eu-west-1.amazonaws.com does not answer",
  );
  assertEquals(resolved, ["sns.eu-west-1.amazonaws.com"]);
});
