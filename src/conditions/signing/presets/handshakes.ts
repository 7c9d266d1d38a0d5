/**
 * Providers of which a handshake alone is known. Their rows go into a trigger's `handshakes`.
 *
 * @module
 */
import type { HandshakeRow } from "../../handshake/row.ts";
import type { HandshakePreset } from "../preset.ts";

/** Meta's check, which others have taken over. */
const hubChallenge = [{
  method: "GET",
  when: "query['hub.mode'] == 'subscribe' && query['hub.verify_token'] == secret",
  response: { type: "text", text: "{query['hub.challenge']}" },
}] as const satisfies HandshakePreset["handshakes"];

/** A list of events that is empty: the provider looks whether the URL answers. */
export const withoutEvents = tried("has(body.events) && size(body.events) == 0");

/** Makes the answer to a request that only tries the URL, and that the conditions have let pass. */
export function tried(when: string): HandshakeRow {
  return { method: "POST", when, verified: true, response: { type: "text", text: "" } };
}

/** The rows. */
export const handshakesAlone = {
  cloudevents: {
    title: "CloudEvents",
    source: "https://github.com/cloudevents/spec/blob/main/cloudevents/http-webhook.md",
    handshakes: [{
      method: "OPTIONS",
      when: "'webhook-request-origin' in headers",
      response: {
        type: "text",
        text: "",
        headers: {
          "WebHook-Allowed-Origin": "{headers['webhook-request-origin']}",
          "WebHook-Allowed-Rate": "*",
          "Allow": "POST",
        },
      },
    }],
  },
  meta: {
    title: "Meta",
    source: "https://developers.facebook.com/docs/graph-api/webhooks/getting-started",
    note: "The secret is the verify token of the app's dashboard, not the app secret",
    handshakes: hubChallenge,
  },
  monday: {
    title: "monday.com",
    source: "https://developer.monday.com/api-reference/reference/webhooks",
    handshakes: [{
      method: "POST",
      when: "has(body.challenge) && !has(body.event)",
      response: { type: "json", json: { challenge: "{body.challenge}" } },
    }],
  },
  strava: {
    title: "Strava",
    source: "https://developers.strava.com/docs/webhooks/",
    note: "The secret is the verify_token of the subscription",
    handshakes: [{
      ...hubChallenge[0],
      response: { type: "json", json: { "hub.challenge": "{query['hub.challenge']}" } },
    }],
  },
} as const satisfies Record<string, HandshakePreset>;
