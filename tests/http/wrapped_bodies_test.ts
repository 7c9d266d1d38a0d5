/**
 * Bodies that providers wrap, on one running service: each is signed as its provider does, met by a filter, and
 * read by a value.
 */
import { assertEquals, assertMatch } from "@std/assert";
import { gzipSync } from "node:zlib";
import { signRequest } from "../../src/conditions/sign_request.ts";
import { eventually, startService } from "../data.ts";

const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const FORM = "application/x-www-form-urlencoded";
const BOUNDARY = "of-this-test";
const form = (fields: Record<string, string>) => new URLSearchParams(fields).toString();
const token = { type: "static_token", in: "query", name: "token", secrets: [SECRET] };

interface Case {
  name: string;
  conditions: { type: string; [setting: string]: unknown }[];
  type: string;
  body: string | Uint8Array<ArrayBuffer>;
  headers?: Record<string, string>;
  filter: string;
  value: string;
  expected: string;
  /** Another value of the same place, which the filter refuses. */
  other: string;
  reason?: RegExp;
}

const json = JSON.stringify;
const push = (ref: string) => `{"ref":"${ref}","repository":{"id":9007199254740993}}`;

const cases: Case[] = [
  {
    name: "GitHub, its form",
    conditions: [{ type: "hmac", preset: "github", secrets: [SECRET] }],
    type: FORM,
    body: form({ payload: push("refs/heads/main") }),
    filter: "body.payload.parseJSON().ref == 'refs/heads/main'",
    value: "{body.payload.parseJSON().repository.id}",
    expected: "9007199254740993",
    other: form({ payload: push("refs/heads/other") }),
  },
  {
    name: "Slack, an interaction",
    conditions: [{ type: "hmac", preset: "slack", secrets: [SECRET] }],
    type: FORM,
    body: form({ payload: '{"type":"block_actions","actions":[{"value":"train"}]}' }),
    filter: "body.payload.parseJSON().type == 'block_actions'",
    value: "{body.payload.parseJSON().actions[0].value}",
    expected: "train",
    other: form({ payload: '{"type":"view_closed"}' }),
  },
  {
    name: "Slack, a command",
    conditions: [{ type: "hmac", preset: "slack", secrets: [SECRET] }],
    type: FORM,
    body: form({ command: "/train", text: "resnet 50" }),
    filter: "body.command == '/train'",
    value: "{body.text.split(' ')[1]}",
    expected: "50",
    other: form({ command: "/stop" }),
  },
  {
    name: "Pub/Sub, base64",
    conditions: [token],
    type: "application/json",
    body: json({
      message: { data: btoa('{"kind":"storage#object","name":"a.csv"}'), messageId: "1" },
    }),
    filter: "string(base64.decode(body.message.data)).parseJSON().kind == 'storage#object'",
    value: "{string(base64.decode(body.message.data)).parseJSON().name}",
    expected: "a.csv",
    other: json({ message: { data: btoa('{"kind":"storage#bucket"}') } }),
  },
  {
    name: "Pub/Sub, base64 that is not made a text",
    conditions: [token],
    type: "application/json",
    body: json({ message: { data: "e30=", messageId: "1" } }),
    filter: "body.message.messageId == '1' || base64.decode(body.message.data).parseJSON().a == 1",
    value: "{string(base64.decode(body.message.data))}",
    expected: "{}",
    other: json({ message: { data: "e30=", messageId: "2" } }),
    reason: /parseJSON\(\) of bytes: write string\(…\) around them/,
  },
  {
    name: "SNS, JSON within JSON",
    conditions: [token],
    type: "text/plain; charset=UTF-8",
    body: json({
      Type: "Notification",
      Message: '{"Records":[{"s3":{"object":{"key":"in/a.csv"}}}]}',
    }),
    filter:
      "body.Type == 'Notification' && body.Message.parseJSON().Records[0].s3.object.key.startsWith('in/')",
    value: "{body.Message.parseJSON().Records[0].s3.object.key}",
    expected: "in/a.csv",
    other: json({ Type: "Notification", Message: "plain text" }),
    reason: /parseJSON\(\) of a text that is no JSON/,
  },
  {
    name: "SES, by SNS",
    conditions: [token],
    type: "text/plain; charset=UTF-8",
    body: json({
      Type: "Notification",
      Message:
        '{"eventType":"Bounce","bounce":{"bouncedRecipients":[{"emailAddress":"a@b.example"}]}}',
    }),
    filter: "body.Message.parseJSON().eventType == 'Bounce'",
    value: "{body.Message.parseJSON().bounce.bouncedRecipients[0].emailAddress}",
    expected: "a@b.example",
    other: json({ Type: "Notification", Message: '{"eventType":"Delivery"}' }),
  },
  {
    name: "WeChat, XML",
    conditions: [token],
    type: "text/xml",
    body: "<xml><MsgType><![CDATA[event]]></MsgType><Event><![CDATA[subscribe]]></Event></xml>",
    filter: "body == null && raw.contains('<Event><![CDATA[subscribe]]></Event>')",
    value: "XML",
    expected: "XML",
    other: "<xml><MsgType><![CDATA[text]]></MsgType></xml>",
    reason: /the body is XML, which has no fields here: look into its text, as in raw\.contains/,
  },
  {
    name: "XML, read as if it had fields",
    conditions: [token],
    type: "application/soap+xml; charset=utf-8",
    body: "<Event>a</Event>",
    filter: "raw.contains('<Event>a') || body.Event == 'a'",
    value: "XML",
    expected: "XML",
    other: "<Event>b</Event>",
    reason: /the body is XML/,
  },
  {
    name: "Plex, a form with files",
    conditions: [token],
    type: `multipart/form-data; boundary=${BOUNDARY}`,
    body: plex("media.play"),
    filter: "body.payload.parseJSON().event == 'media.play'",
    value: "{body.payload.parseJSON().Metadata.title} {body.thumb.name} {body.thumb.size}",
    expected: "Eclipse thumb.jpg 4",
    other: plex("media.stop"),
  },
  {
    name: "GitHub, compressed by a gateway that signs what it sends",
    conditions: [{ type: "hmac", preset: "github", secrets: [SECRET] }],
    type: "application/json",
    headers: { "content-encoding": "gzip" },
    body: new Uint8Array(gzipSync(push("refs/heads/main"))),
    filter: "body.ref == 'refs/heads/main'",
    value: "{body.repository.id}",
    expected: "9007199254740993",
    other: "not compressed",
  },
];

function plex(event: string): string {
  const payload = `{"event":"${event}","Metadata":{"title":"Eclipse"}}`;
  return [
    `--${BOUNDARY}`,
    'Content-Disposition: form-data; name="payload"',
    "Content-Type: application/json",
    "",
    payload,
    `--${BOUNDARY}`,
    'Content-Disposition: form-data; name="thumb"; filename="thumb.jpg"',
    "Content-Type: image/jpeg",
    "",
    "JPEG",
    `--${BOUNDARY}--`,
    "",
  ].join("\r\n");
}

async function send(url: string, { conditions, type, headers }: Case, body: Case["body"]) {
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const signed = await signRequest(conditions, {
    url,
    headers: { "content-type": type, ...headers },
    body: bytes,
    now_ms: Date.now(),
    env: () => undefined,
  });
  assertEquals(signed.problems, []);
  const answer = await fetch(signed.url, { method: "POST", headers: signed.headers, body: bytes });
  return { status: answer.status, text: await answer.text() };
}

Deno.test("bodies that providers wrap: from the request to a filter and a value", async (t) => {
  await using service = await startService();
  for (const [index, one] of cases.entries()) {
    await t.step(one.name, async () => {
      const name = `case-${index}`;
      const { url } = await service.trigger({
        name,
        conditions: [...one.conditions, { type: "payload_filter", expression: one.filter }],
        actions: [{ type: "fetch_repository", if: "false" }],
        response: { type: "text", text: one.value },
      });
      assertEquals(await send(url, one, one.body), { status: 200, text: one.expected });
      const isCoded = one.headers !== undefined;
      assertEquals((await send(url, one, one.other)).status, isCoded ? 415 : 400);
      const { reason } = await eventually(async () => {
        const { body } = await service.api("GET", `deliveries/?trigger=${name}`);
        return body.results.find((each: { outcome: string }) => each.outcome !== "accepted");
      });
      assertMatch(reason, one.reason ?? (isCoded ? /malformed/ : /^Payload filter is false/));
    });
  }
});
