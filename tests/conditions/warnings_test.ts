/** An owner hears of what looks safer than it is, and where a repeat is told from a new delivery. */
import { assertEquals } from "@std/assert";
import { z } from "zod";
import { conditionSchema, conditionWarnings, reviewConditions } from "../../src/conditions/mod.ts";
import {
  hmacPresets,
  signaturePresets,
  tokenPresets,
} from "../../src/conditions/signing/presets/mod.ts";
import { neededSettings } from "../../src/triggers/needs.ts";
import { factsOfAll } from "./fixture.ts";

type Settings = Record<string, unknown>;

const parse = (settings: Settings[]) => z.array(conditionSchema).parse(settings);
const mac = (settings: Settings): Settings => ({
  type: "hmac",
  secrets: ["s3cret"],
  ...(settings.preset === undefined && { algorithm: "sha256", header: "X-Signature" }),
  ...settings,
});
const deduplication: Settings = { type: "deduplication" };
const time = (place: string, name: string): Settings => ({
  type: "timestamp",
  in: place,
  name,
  format: "unix_s",
});
const ownTime = (place: string, name: string) => ({
  timestamp: { in: place, name, format: "unix_s" },
});

const OUTSIDE =
  "No signature covers this timestamp: anyone who has seen a request can send it again with a new one";
const UNSIGNED_ID =
  "No signature covers the delivery's id: anyone who has seen a request can send it again with another one";
const IDLE =
  "This has no effect: the scheme names no timestamp, and a timestamp condition has a tolerance of its own";
const UNSIGNED =
  "No signature covers the timestamp: anyone who has seen a request can send it again with a new one";

const cases: { name: string; conditions: Settings[]; warnings: Record<string, string> }[] = [
  { name: "nothing", conditions: [], warnings: {} },
  {
    name: "a header that nothing signs",
    conditions: [mac({}), time("header", "X-Time")],
    warnings: { "/1": UNSIGNED },
  },
  {
    name: "a token and a time",
    conditions: [
      { type: "static_token", in: "header", name: "X", secrets: ["s"] },
      time("header", "X-Time"),
    ],
    warnings: { "/1": UNSIGNED },
  },
  {
    name: "a time in the body that is signed",
    conditions: [mac({}), time("body", "/time")],
    warnings: {},
  },
  {
    name: "a time that the template names",
    conditions: [mac({ signed_content: "{timestamp}.{body}" }), time("header", "X-Time")],
    warnings: {},
  },
  {
    name: "a time that the template names as a header, in another case",
    conditions: [mac({ signed_content: "{header:x-time}.{body}" }), time("header", "X-Time")],
    warnings: {},
  },
  {
    name: "a time in the query of a URL that is signed",
    conditions: [mac({ signed_content: "{url}{body}" }), time("query", "t")],
    warnings: {},
  },
  {
    name: "a time in the query of a path that is signed",
    conditions: [mac({ signed_content: "{path}{body}" }), time("query", "t")],
    warnings: { "/1": UNSIGNED },
  },
  {
    name: "a time that only one of two templates names",
    conditions: [
      mac({ signed_content: ["{timestamp}{body}", "{body}"] }),
      time("header", "X-Time"),
    ],
    warnings: { "/1": UNSIGNED },
  },
  {
    name: "a preset's time is signed, another is not",
    conditions: [mac({ preset: "slack" }), time("header", "X-Time")],
    warnings: { "/1": UNSIGNED },
  },
  {
    name: "a preset's own time again",
    conditions: [mac({ preset: "slack" }), time("header", "x-slack-request-timestamp")],
    warnings: {},
  },
  {
    name: "a time of its own that is not signed",
    conditions: [mac({ preset: "github", ...ownTime("header", "X-Time") })],
    warnings: { "/0/timestamp": OUTSIDE },
  },
  {
    name: "a time of its own that another signature covers",
    conditions: [
      mac({ preset: "github", ...ownTime("header", "X-Time") }),
      mac({ header: "X-Other", signed_content: "{header:x-time}{body}" }),
      deduplication,
    ],
    warnings: {},
  },
  {
    name: "a time in a signature beside one of the same name that is signed",
    conditions: [
      mac({ preset: "stripe", signed_content: "{body}" }),
      mac({ preset: "stripe", header: "X-Other" }),
    ],
    warnings: { "/0/timestamp": OUTSIDE },
  },
  {
    name: "a body that another signature covers",
    conditions: [mac({ preset: "mailgun" }), mac({})],
    warnings: {},
  },
  {
    name: "a preset without the time in what it signs",
    conditions: [mac({ preset: "stripe", signed_content: "{body}" })],
    warnings: { "/0/timestamp": OUTSIDE },
  },
  {
    name: "a tolerance of no time",
    conditions: [
      mac({ preset: "github", tolerance: 60 }),
      mac({ signed_content: "{timestamp}.{body}", tolerance: 60 }),
      time("header", "X-Time"),
    ],
    warnings: { "/0/tolerance": IDLE, "/1/tolerance": IDLE },
  },
  {
    name: "a tolerance of a preset's time, and of one of its own",
    conditions: [
      mac({ preset: "stripe", tolerance: 60 }),
      mac({ signed_content: "{timestamp}{body}", tolerance: 60, ...ownTime("header", "X-Time") }),
    ],
    warnings: {},
  },
  {
    name: "a delivery's id that the preset's provider signs no more than another's",
    conditions: [mac({ preset: "github" }), deduplication],
    warnings: {},
  },
  {
    name: "the same one by its name",
    conditions: [
      mac({ preset: "github" }),
      { ...deduplication, in: "header", name: "x-github-delivery" },
    ],
    warnings: {},
  },
  {
    name: "another one beside such a preset",
    conditions: [mac({ preset: "github" }), { ...deduplication, in: "header", name: "x-own" }],
    warnings: { "/1": UNSIGNED_ID },
  },
  {
    name: "a place of its own in place of the preset's",
    conditions: [
      mac({ preset: "github", delivery_id: { in: "header", name: "x-own" } }),
      deduplication,
    ],
    warnings: { "/1": UNSIGNED_ID },
  },
  {
    name: "a delivery's id of its own that nothing signs",
    conditions: [mac({}), { ...deduplication, in: "query", name: "id" }],
    warnings: { "/1": UNSIGNED_ID },
  },
  {
    name: "a delivery's id in the body that is signed",
    conditions: [mac({ preset: "pagerduty" }), deduplication],
    warnings: {},
  },
  {
    name: "a delivery's id that the template names",
    conditions: [
      mac({ signed_content: "{id}.{body}", id: { in: "header", name: "x-id" } }),
      { ...deduplication, in: "header", name: "X-Id" },
    ],
    warnings: {},
  },
  {
    name: "a delivery's id that nothing signs, beside a time that is signed",
    conditions: [mac({ preset: "linear" }), deduplication],
    warnings: {},
  },
  {
    name: "a delivery's id that nothing signs, beside a signed time of another condition",
    conditions: [mac({ preset: "github" }), time("body", "/time"), deduplication],
    warnings: {},
  },
  {
    name: "a delivery's id, and a time, that nothing signs",
    conditions: [
      mac({ delivery_id: { in: "header", name: "x-id" } }),
      time("header", "X-Time"),
      deduplication,
    ],
    warnings: { "/1": UNSIGNED, "/2": UNSIGNED_ID },
  },
  {
    name: "a delivery's id where nothing is signed",
    conditions: [{ type: "static_token", preset: "gitlab", secrets: ["s"] }, deduplication],
    warnings: {},
  },
  {
    name: "a filter on what no signature covers",
    conditions: [
      mac({ preset: "github" }),
      { type: "payload_filter", expression: "headers['x-github-event'] == query.a" },
    ],
    warnings: {
      "/1/expression": "The filter looks at headers and query, which no signature covers",
    },
  },
  {
    name: "a filter that is a list, on what no signature covers",
    conditions: [
      mac({ preset: "github" }),
      {
        type: "payload_filter",
        all: [
          { path: "headers.X-GitHub-Event", op: "eq", value: "push" },
          { path: "body.a", op: "exists" },
        ],
      },
    ],
    warnings: { "/1": "The filter looks at headers, which no signature covers" },
  },
  {
    name: "a filter on what is signed",
    conditions: [
      mac({ preset: "square" }),
      { type: "payload_filter", expression: "body.a == query.a" },
    ],
    warnings: {},
  },
  {
    name: "a filter where nothing is signed",
    conditions: [{ type: "payload_filter", expression: "headers.a == 'b'" }],
    warnings: {},
  },
  {
    name: "a header that no request has, as its name has capitals",
    conditions: [{
      type: "payload_filter",
      expression: "headers['x-a'] == 'b' || headers.X == '1' || 'x-b' in headers || 'X' in headers",
    }],
    warnings: {
      "/0/expression": 'The filter never finds the header "X": write its name in lower case, "x"',
    },
  },
  {
    name: "a name with capitals that is no header's",
    conditions: [{ type: "payload_filter", expression: "body['X'] == headers['x-b']" }],
    warnings: {},
  },
  ...[["stripe", "Stripe"], ["shopify", "Shopify"], ["slack", "Slack"]].map((
    [preset, provider],
  ) => ({
    name: `a filter on what ${provider} sends, which disables endpoints that answer with errors`,
    conditions: [mac({ preset }), { type: "payload_filter", expression: "body.a == 1" }],
    warnings: {
      "/1/expression":
        `${provider} disables an endpoint that answers with errors, and a filtered request is ` +
        "answered 400: set refused: { filter: 200 } in the trigger",
    },
  })),
  {
    name: "a schema for what Stripe sends, which disables endpoints that answer with errors",
    conditions: [
      mac({ preset: "stripe" }),
      { type: "json_schema", schema: { type: "object", additionalProperties: true } },
    ],
    warnings: {
      "/1":
        "Stripe disables an endpoint that answers with errors, and a filtered request is answered 400: set " +
        "refused: { filter: 200 } in the trigger",
    },
  },
  {
    name: "a preset whose provider signs no body",
    conditions: [mac({ preset: "mailgun" })],
    warnings: {},
  },
  {
    name: "a content of its own that leaves the body out, in place of a preset's",
    conditions: [mac({ preset: "mailgun", signed_content: "{timestamp}" })],
    warnings: {
      "/0":
        "No signature covers the body: anyone who has seen a request can send its signature with another body",
    },
  },
];

for (const { name, conditions, warnings } of cases) {
  Deno.test(`conditionWarnings: ${name}`, () => {
    const found = conditionWarnings(parse(conditions));
    assertEquals(Object.fromEntries(found.map((one) => [one.pointer, one.detail])), warnings);
    assertEquals(reviewConditions(parse(conditions)), []);
  });
}

Deno.test("conditionWarnings: with filtered, no provider disables the endpoint for a filter", () => {
  const conditions = parse([mac({ preset: "stripe" }), {
    type: "payload_filter",
    expression: "headers['X-A'] == '1'",
  }]);
  const details = (ignoresFiltered: boolean) =>
    conditionWarnings(conditions, ignoresFiltered).map(({ detail }) => detail.split(":")[0]);
  const others = [
    "The filter looks at headers, which no signature covers",
    'The filter never finds the header "X-A"',
  ];
  assertEquals(details(true), others);
  assertEquals(details(false), [
    ...others,
    "Stripe disables an endpoint that answers with errors, and a filtered request is answered 400",
  ]);
});

Deno.test("neededSettings: a schema needs the answer that a filter needs", () => {
  for (
    const filter of [{ type: "json_schema", schema: true }, {
      type: "payload_filter",
      expression: "true",
    }]
  ) {
    const conditions = parse([mac({ preset: "stripe" }), filter]);
    assertEquals(neededSettings({ conditions }), { refused: { filter: 200 } }, filter.type);
  }
});

Deno.test("conditionWarnings: every preset is without a warning", () => {
  for (const preset of Object.keys(hmacPresets)) {
    // A text, some base64 and some hex.
    const secrets = ["44782DEF547AAA06C910C43932B1EB0C"];
    const conditions = parse([{ type: "hmac", preset, secrets }]);
    assertEquals(conditionWarnings(conditions), [], preset);
    assertEquals(reviewConditions(conditions), [], preset);
  }
});

Deno.test("reviewConditions: a secret that is not of its encoding is found when it is saved", () => {
  const problems = (secret: string) =>
    reviewConditions(parse([{ type: "hmac", preset: "svix", secrets: ["{env:X}", secret] }]));
  assertEquals(problems("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), []);
  assertEquals(problems("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), []);
  for (const wrong of ["whsec_not base64!", "whsec_"]) {
    assertEquals(problems(wrong), [{
      pointer: "/0/secrets/1",
      detail: "Expected a secret in base64, found another string",
    }]);
  }
});

const deliveries: { name: string; conditions: Settings[]; field?: unknown }[] = [
  { name: "no condition", conditions: [] },
  { name: "no preset", conditions: [mac({})] },
  {
    name: "github",
    conditions: [time("header", "X"), mac({ preset: "github" })],
    field: { in: "header", name: "X-GitHub-Delivery" },
  },
  {
    name: "gitlab's token",
    conditions: [{ type: "static_token", preset: "gitlab", secrets: ["s"] }],
    field: { in: "header", name: "Idempotency-Key" },
  },
  {
    name: "the owner's own",
    conditions: [mac({ preset: "stripe", delivery_id: { in: "body", name: "/data/id" } })],
    field: { in: "body", name: "/data/id" },
  },
  {
    name: "a scheme of its own",
    conditions: [mac({ delivery_id: { in: "header", name: "X-Id" } })],
    field: { in: "header", name: "X-Id" },
  },
  { name: "zoom, which has none", conditions: [mac({ preset: "zoom" })] },
  {
    name: "woocommerce, where events of one second share theirs",
    conditions: [mac({ preset: "woocommerce" })],
  },
];

for (const { name, conditions, field } of deliveries) {
  Deno.test(`the delivery id of ${name}`, () => {
    assertEquals(factsOfAll(parse(conditions)).deliveryId, field);
  });
}

Deno.test("every preset cites its source", () => {
  const all = [hmacPresets, signaturePresets, tokenPresets].flatMap(Object.entries);
  for (const [name, { source, title }] of all) {
    assertEquals(new URL(source).protocol, "https:", name);
    assertEquals(title === "", false, name);
  }
});
