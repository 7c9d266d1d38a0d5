/** Messages of SNS pass by certificates of amazonaws.com alone, and those of one topic alone. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { Buffer } from "node:buffer";
import { sign } from "node:crypto";
import type { Refusal } from "../../../src/conditions/check.ts";
import { signature, signatureScheme } from "../../../src/conditions/signature.ts";
import { Certificates } from "../../../src/conditions/signing/certificates.ts";
import { prepareCertified } from "../../../src/conditions/signing/certified.ts";
import { UnavailableError } from "../../../src/platform/errors.ts";
import { TestClock } from "../../surroundings.ts";
import { json, NOW_MS, request } from "../fixture.ts";
import { CERTIFICATE, PRIVATE_KEY } from "./sns_certificate.ts";

type Message = Record<string, unknown>;

const TOPIC = "arn:aws:sns:us-west-2:123456789012:MyTopic";
const HOST = "https://sns.us-west-2.amazonaws.com";
const CERTIFICATE_URL = `${HOST}/SimpleNotificationService-f3ecfb7224c7233fe7bb5f59f96de52f.pem`;

const notification: Message = {
  Type: "Notification",
  MessageId: "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324",
  TopicArn: TOPIC,
  Message: "Hello\nworld, Grüße!",
  Timestamp: "2023-11-14T22:13:20.000Z",
  UnsubscribeURL: `${HOST}/?Action=Unsubscribe`,
};
const withSubject = { ...notification, Subject: "My First Message" };
const confirmation: Message = {
  Type: "SubscriptionConfirmation",
  MessageId: "165545c9-2a5c-472c-8df2-7ff2be2b3b1b",
  Token: "2336412f37",
  TopicArn: TOPIC,
  Message: "You have chosen to subscribe to the topic",
  SubscribeURL: `${HOST}/?Action=ConfirmSubscription&Token=2336412f37`,
  Timestamp: "2023-11-14T22:13:20.000Z",
};

/** Messages that the library of AWS takes (sns-validator 0.3.5, `validate`), by the certificate of these tests. */
const validated: Message[] = [
  {
    Type: "Notification",
    MessageId: "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324",
    TopicArn: TOPIC,
    Timestamp: "2023-11-14T22:13:20.000Z",
    Message: "Grüße\n",
    SignatureVersion: "1",
    Signature:
      "NrWZJ+TKHFrFul8EFDojNYjp1g29a4iJaJ7PbZSSQ39D/oo3AauZ0GE+WX9oACka//czw8ywxxgVf3BwGCW+IQoo" +
      "lYv+RDBCUmnRvDCsi85ymHh5xiCuNXnsdlBuDNHDiSa4SgKMzxhopFwGCkbyF5p9Pn++y7YbhDjYaWt81/790ddn" +
      "IYxxARHgHQRbM4kDzbUSaxc4qfSYKduJnCvhHjJQ1IkdFZ0g42A/z609zpOS5hkUfE9Sd8XoWkCiRIgdN7HZT819" +
      "T4XnkmhZWH/Yanx3Gp/WRnor7UlZVKOMkzR7Au6X1doa1XACFjQpTELLY+LT5LxFmI7pL+0CfQJodA==",
    SigningCertURL: CERTIFICATE_URL,
  },
  {
    Type: "Notification",
    MessageId: "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324",
    TopicArn: TOPIC,
    Timestamp: "2023-11-14T22:13:20.000Z",
    Message: "Grüße\n",
    Subject: "a",
    SignatureVersion: "2",
    Signature:
      "X46PlyB9NwA1tQsjw3iR/bIpuzPH934sOHirbTu2HgjvxV0se3wh6TBejJFafgSjSU/2MIJSjjbDR8mprooG1h+C" +
      "7NVNClmWUA5IiNa3q0p3AV5f9ZHFfijVa9uymPyOwabtwRffGZwkjHb58a6ERfRw3VxuO5pqTQhqNNsvkD3eLRSn" +
      "SyBUrvgfnK/uQzPm6XncaliVBHenXHpbf9cA6/bQlWL6m/WR5BI/VDixFaqq2aIp3/P2x3XId8IGWdWmzpff+Z4M" +
      "ncfYWWSN+0UNbIhfSYQmudHgvpTa7CtbEBsIlHSB8VMswWhT1E1i+Iivbd3dNQCawtr7E2fU++qxDw==",
    SigningCertURL: CERTIFICATE_URL,
  },
  {
    Type: "SubscriptionConfirmation",
    MessageId: "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324",
    TopicArn: TOPIC,
    Timestamp: "2023-11-14T22:13:20.000Z",
    Message: "Grüße\n",
    Token: "2336412f37",
    SubscribeURL:
      "https://sns.us-west-2.amazonaws.com/?Action=ConfirmSubscription&Token=2336412f37",
    SignatureVersion: "2",
    Signature:
      "HQkhNNC+HX00c+MHYclXduoZwYRbiR8c0whOTbqe6CYB2l8Y52RK2U6UmOCQWfHGMKNZSXHAgFcD1N5umfGBKjsA" +
      "hf2jhRBXZNKCF5NP27gsnEf8yNvC+vKdwOEO8d5Pd7iEEuUVUquqoYwsbDgtorGiBMWcLXqVg9BIWgzA+Xe5RTWY" +
      "Jj4rAEhI7v1FUo7J5Qw9JuVNPd4Au6JywVtQUJQSv4qHP4CoOIlNC55IBrtow2AqsFIF2mGjQbhSGTtH4dhix3Dh" +
      "2Kn0BIzaIOGhTILkqETP+RYBVL5AJgebNX3nvNF/GOTNIethjHZa6EJiZuNJv+R1VTCUyhbvwbCWmw==",
    SigningCertURL: CERTIFICATE_URL,
  },
];

/** Signs as the page of SNS says: each name and value in byte order, each on a line. */
function signed(message: Message, version: "1" | "2", url = CERTIFICATE_URL): Message {
  const names = message.Type === "Notification"
    ? ["Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"]
    : ["Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"];
  const text = names.filter((name) => typeof message[name] === "string")
    .map((name) => `${name}\n${message[name]}\n`).join("");
  const hash = version === "1" ? "sha1" : "sha256";
  const value = sign(hash, Buffer.from(text), PRIVATE_KEY).toString("base64");
  return { ...message, SignatureVersion: version, Signature: value, SigningCertURL: url };
}

/** A condition whose certificates come from a table, and the URLs that were fetched. */
function receiver(
  files: Record<string, string> = { [CERTIFICATE_URL]: CERTIFICATE },
  preset = "sns",
) {
  const fetched: string[] = [];
  const clock = new TestClock(NOW_MS);
  const certificates = new Certificates({
    clock,
    signal: new AbortController().signal,
    fetch(url) {
      fetched.push(url.href);
      const file = files[url.href];
      if (file === undefined) return Promise.reject(new TypeError("the answer is 404"));
      return Promise.resolve(new TextEncoder().encode(file));
    },
  });
  const settings = signature.schema.parse({
    type: "signature",
    preset,
    identity: TOPIC,
  });
  const scheme = signatureScheme(settings);
  assert(scheme.certificate);
  const check = prepareCertified(scheme, scheme.certificate, certificates, {
    runSerially: (_address, run) => run(),
  });
  const receive = async (message: Message, receivedAt_ms = NOW_MS): Promise<Refusal | undefined> =>
    await check(request({ ...json(message), receivedAt_ms }));
  return { receive, fetched, clock };
}

for (const version of ["1", "2"] as const) {
  for (
    const [name, message] of Object.entries({
      "a notification": notification,
      "one with a subject": withSubject,
      "one whose subject is null": { ...notification, Subject: null },
      "one with attributes": { ...notification, MessageAttributes: { a: { Type: "String" } } },
      "a subscription": confirmation,
      "the end of one": { ...confirmation, Type: "UnsubscribeConfirmation" },
    })
  ) {
    Deno.test(`sns, version ${version}: ${name} passes, and no change of it`, async () => {
      const { receive, fetched } = receiver();
      const own = signed(message, version);
      assertEquals(await receive(own), undefined);
      const others: Message[] = [
        { ...own, Message: "Hello" },
        { ...own, MessageId: "another" },
        { ...own, Timestamp: "2023-11-14T22:13:21.000Z" },
        { ...own, Subject: "Another subject" },
        { ...own, SubscribeURL: `${HOST}/?Action=ConfirmSubscription&Token=other` },
        { ...own, Type: own.Type === "Notification" ? "SubscriptionConfirmation" : "Notification" },
        { ...own, SignatureVersion: version === "1" ? "2" : "1" },
        { ...own, SignatureVersion: "3", Signature: signed(message, "1").Signature },
        { ...own, Signature: "AAAA" },
        { ...own, Extra: "what SNS does not send" },
        signed({ ...message, TopicArn: `${TOPIC}2` }, version),
      ];
      for (const other of others) assert(await receive(other), JSON.stringify(other));
      const { Subject: _subject, ...without } = own;
      if (typeof own.Subject === "string") assert(await receive(without));
      assertEquals(fetched, [CERTIFICATE_URL]);
    });
  }
}

for (const preset of ["sns", "ses"]) {
  Deno.test(`${preset}: what the library of AWS takes passes, and no change of it`, async () => {
    const { receive } = receiver(undefined, preset);
    for (const message of validated) {
      assertEquals(await receive(message), undefined);
      assert(await receive({ ...message, Message: `${message.Message}x` }));
    }
  });
}

Deno.test("ses: an event that SES publishes to its topic passes, and no other topic's", async () => {
  const { receive } = receiver(undefined, "ses");
  const event: Message = {
    ...notification,
    Subject: "Amazon SES Email Event Notification",
    Message: '{"eventType":"Bounce","bounce":{"bounceType":"Permanent"},"mail":{"tags":{}}}',
  };
  assertEquals(await receive(signed(event, "1")), undefined);
  assertEquals(await receive(signed(event, "2")), undefined);
  assert(await receive({ ...signed(event, "2"), Message: '{"eventType":"Delivery"}' }));
  assert(await receive(signed({ ...event, TopicArn: `${TOPIC}2` }, "2")));
});

Deno.test("sns: certificates of other hosts and paths are not fetched", async () => {
  const { receive, fetched } = receiver();
  for (
    const url of [
      CERTIFICATE_URL.replace("https:", "http:"),
      CERTIFICATE_URL.replace(".amazonaws.com", ".amazonaws.com.example"),
      CERTIFICATE_URL.replace("sns.us-west-2.", "sns.us-west-2.s3."),
      CERTIFICATE_URL.replace("sns.", "s3."),
      CERTIFICATE_URL.replace(".com/", ".com:8443/"),
      CERTIFICATE_URL.replace("https://", "https://user@"),
      CERTIFICATE_URL.replace(".com/", ".com/bucket/"),
      `${CERTIFICATE_URL}?a=1`,
      `https://example.com/#${CERTIFICATE_URL}`,
      "file:///etc/passwd",
      "",
    ]
  ) {
    const refusal = await receive(signed(notification, "2", url));
    assertEquals(
      refusal?.reason,
      "Body field SigningCertURL is no URL of the provider's certificates",
    );
  }
  const { SigningCertURL: _url, ...none } = signed(notification, "2");
  assertEquals((await receive(none))?.reason, "Body field SigningCertURL is missing");
  assertEquals(fetched, []);
});

Deno.test("sns: a certificate is fetched once, and is used while it is valid", async () => {
  const other = CERTIFICATE_URL.replace("f3ec", "0000");
  const { receive, fetched, clock } = receiver({
    [CERTIFICATE_URL]: CERTIFICATE,
    [other]: "no certificate",
  });
  const own = signed(notification, "2");
  const all = await Promise.all([receive(own), receive(own), receive(own)]);
  assertEquals(all, [undefined, undefined, undefined]);
  for (const at of ["2022-12-31T23:59:59Z", "2024-01-01T00:00:01Z"]) {
    const refusal = await receive(own, Date.parse(at));
    assert(refusal?.reason.includes("it is valid from 2023-01-01T00:00:00.000Z"), refusal?.reason);
  }
  assertEquals(fetched, [CERTIFICATE_URL]);
  const bad = signed(notification, "2", other);
  assert((await receive(bad))?.reason.includes("it is no certificate"));
  assert((await receive(bad))?.reason.includes("it is no certificate"));
  assertEquals(fetched, [CERTIFICATE_URL, other]);
  clock.time_ms += 30_000;
  assert(await receive(bad));
  assertEquals(fetched, [CERTIFICATE_URL, other, other]);
});

Deno.test("sns: a certificate that cannot be fetched now is no refusal", async () => {
  const { receive } = receiver({});
  await assertRejects(
    () => receive(signed(notification, "2")),
    UnavailableError,
    `Cannot get ${CERTIFICATE_URL}: the answer is 404`,
  );
});

Deno.test("sns: five URLs at once are too many", async () => {
  const wait = Promise.withResolvers<Uint8Array>();
  const certificates = new Certificates({
    clock: new TestClock(NOW_MS),
    signal: new AbortController().signal,
    fetch: () => wait.promise,
  });
  const ask = (at: number) => certificates.keyOf(new URL(`${HOST}/${at}.pem`), NOW_MS);
  const four = [0, 1, 2, 3].map(ask);
  await assertRejects(() => ask(4), UnavailableError, "too many are fetched");
  wait.resolve(new TextEncoder().encode(CERTIFICATE));
  assertEquals((await Promise.all(four)).map((key) => typeof key), Array(4).fill("object"));
});

Deno.test("sns: the topic is named, and no key", () => {
  const problems = (settings: object) =>
    signature.schema.safeParse({ type: "signature", ...settings }).error?.issues
      .map(({ path, message }) => `${path.join(".")}: ${message}`);
  assertEquals(problems({ preset: "sns" }), [
    "identity: Expected the name that Amazon SNS has for what sends, such as a topic's ARN",
  ]);
  assertEquals(
    problems({ preset: "sns", identity: TOPIC, public_keys: [CERTIFICATE] })?.[0],
    "public_keys: Must not stand beside this preset: Amazon SNS names its certificate",
  );
  assertEquals(problems({ preset: "wise" }), ["public_keys: Expected at least one public key"]);
  assertEquals(problems({ preset: "sns", identity: TOPIC }), undefined);
});
