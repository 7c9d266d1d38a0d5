/** What providers ask before they send, and the answers that they expect. */
import { assertEquals } from "@std/assert";
import { prepareHandshakes } from "../../../src/conditions/handshake/collect.ts";
import { context, json, request, type RequestParts } from "../fixture.ts";
import { mac } from "./recipes.ts";

interface Question {
  preset: string;
  /** The secret, where the owner sets one. */
  secret?: string;
  asks: RequestParts;
  body: string;
  headers?: Record<string, string>;
  /** Another request, which is none. */
  not?: RequestParts;
}

const KEY = "the consumer secret";
const origin = { "webhook-request-origin": "eventemitter.example.com" };

const questions: Question[] = [
  {
    preset: "x",
    secret: KEY,
    asks: { method: "GET", query: "crc_token=challenge_string" },
    body: JSON.stringify({
      response_token: `sha256=${mac("sha256", KEY, "challenge_string", "base64")}`,
    }),
    // Signed, this could be the body of a request.
    not: { method: "GET", query: "crc_token=%7B%7D" },
  },
  {
    preset: "linkedin",
    secret: KEY,
    asks: { method: "GET", query: "challengeCode=890e4665-4dfe-4ab1-b689-ed553bceeed0" },
    body: JSON.stringify({
      challengeCode: "890e4665-4dfe-4ab1-b689-ed553bceeed0",
      challengeResponse: mac("sha256", KEY, "890e4665-4dfe-4ab1-b689-ed553bceeed0", "hex"),
    }),
    not: { method: "GET", query: "challengeCode=%7B%7D" },
  },
  {
    preset: "whatsapp",
    secret: "verify me",
    asks: {
      method: "GET",
      query: "hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=verify+me",
    },
    body: "1158201444",
    not: {
      method: "GET",
      query: "hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=verify",
    },
  },
  {
    preset: "lark",
    asks: json({ challenge: "ajls384kdjx98XX", token: "xxxxxx", type: "url_verification" }),
    body: '{"challenge":"ajls384kdjx98XX"}',
    not: json({ challenge: "ajls384kdjx98XX", token: "xxxxxx", type: "event_callback" }),
  },
  {
    preset: "nylas",
    asks: { method: "GET", query: "challenge=bc609b38-c81f-47fb-a275-1d9bd61be968" },
    body: "bc609b38-c81f-47fb-a275-1d9bd61be968",
    not: { method: "GET", query: "challenge=" },
  },
  { preset: "mandrill", asks: { method: "HEAD" }, body: "", not: { method: "GET" } },
  { preset: "mailchimp", asks: { method: "GET" }, body: "", not: { method: "HEAD" } },
  { preset: "trello", asks: { method: "HEAD" }, body: "" },
  { preset: "minio", asks: { method: "HEAD" }, body: "" },
  {
    preset: "asana",
    asks: { headers: { "X-Hook-Secret": "b537207f20cbfa02357cf448134da559" }, body: "{}" },
    body: "",
    headers: { "X-Hook-Secret": "b537207f20cbfa02357cf448134da559" },
    not: json({ events: [{ action: "added" }] }),
  },
  {
    preset: "terraform",
    asks: json({
      run_id: null,
      notifications: [{ message: "Verification of ci", trigger: "verification" }],
    }),
    body: "",
    not: json({ run_id: "run-1", notifications: [{ trigger: "run:completed" }] }),
  },
  {
    preset: "ashby",
    asks: json({ action: "ping", data: {} }),
    body: "",
    not: json({ action: "candidateHire", data: {} }),
  },
  {
    preset: "cloudflare",
    asks: json({
      text: "Hello World! This is a test message sent from https://cloudflare.com. " +
        "If you can see this, your webhook is configured properly.",
    }),
    body: "",
    not: json({
      text: "Health Check is Unhealthy",
      alert_type: "health_check_status_notification",
    }),
  },
  {
    preset: "figma",
    asks: json({ event_type: "PING", passcode: "secret", webhook_id: "1" }),
    body: "",
    not: json({ event_type: "FILE_UPDATE", passcode: "secret", webhook_id: "1" }),
  },
  {
    preset: "viber",
    asks: json({ event: "webhook", timestamp: 1457764197627, message_token: 241256543215 }),
    body: "",
    not: json({ event: "message", message_token: 241256543215 }),
  },
  {
    preset: "sparkpost",
    asks: json([{ msys: {} }]),
    body: "",
    not: json([{ msys: {} }, { msys: { message_event: { type: "delivery" } } }]),
  },
  {
    preset: "woocommerce",
    asks: {
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: "webhook_id=7",
    },
    body: "",
    not: json({ webhook_id: 7, id: 1 }),
  },
  ...["asana", "line", "xero"].map((preset): Question => ({
    preset,
    asks: json({ events: [] }),
    body: "",
    not: json({ events: [{}] }),
  })),
  {
    preset: "smartsheet",
    asks: {
      headers: { "smartsheet-hook-challenge": "5e85a2f1", "content-type": "application/json" },
      body: '{"challenge":"5e85a2f1","webhookId":1}',
    },
    body: '{"smartsheetHookResponse":"5e85a2f1"}',
    headers: { "Smartsheet-Hook-Response": "5e85a2f1" },
    not: json({ challenge: "5e85a2f1", webhookId: 1 }),
  },
  {
    preset: "ringcentral",
    asks: { headers: { "Validation-Token": "4aa5b6f0-6e2b-4d3a" }, body: "" },
    body: "",
    headers: { "Validation-Token": "4aa5b6f0-6e2b-4d3a" },
    not: {
      headers: { "Validation-Token": "hello-world", "content-type": "application/json" },
      body: '{"uuid":"1","event":"/restapi/v1.0/account/~"}',
    },
  },
  {
    preset: "notion",
    asks: json({ verification_token: "secret_tMrlL1qK5vuQAh1b6cZGhFChZTSYJlce98V0pYn7yBl" }),
    body: "",
    not: json({ verification_token: "secret_tMrlL1qK5vuQAh1b6cZGhFCh", type: "page.created" }),
  },
  {
    preset: "okta",
    asks: { method: "GET", headers: { "X-Okta-Verification-Challenge": "my verification" } },
    body: '{"verification":"my verification"}',
    not: { method: "GET" },
  },
  ...["cloudevents", "azure_event_grid_cloudevents"].map((preset): Question => ({
    preset,
    asks: { method: "OPTIONS", headers: origin },
    body: "",
    headers: {
      "WebHook-Allowed-Origin": "eventemitter.example.com",
      "WebHook-Allowed-Rate": "*",
      "Allow": "POST",
    },
    not: { method: "OPTIONS" },
  })),
];

for (const { preset, secret, asks, body, headers = {}, not } of questions) {
  Deno.test(`preset ${preset}: its question is answered, and nothing else`, async () => {
    const own = [{ preset, ...(secret !== undefined && { secret }) }];
    const handshakes = await prepareHandshakes(own, [], context());
    const ask = async (parts: RequestParts) => {
      const asked = request(parts);
      for (const handshake of handshakes.filter(({ row }) => row.method === asked.method)) {
        const answered = await handshake.answer(asked);
        if (answered) return answered.answer;
      }
      return undefined;
    };
    const answer = await ask(asks);
    assertEquals([answer?.status, answer?.body], [200, body]);
    assertEquals(answer?.headers, headers);
    if (not) assertEquals(await ask(not), undefined);
  });
}
