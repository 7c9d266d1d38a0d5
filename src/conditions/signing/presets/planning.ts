/**
 * Providers of issues, tables, customers and hiring.
 *
 * @module
 */
import type { PresetGroup } from "../preset.ts";
import { tried, withoutEvents } from "./handshakes.ts";

/** The rows. */
export const planning = {
  title: "Issues, tables, customers and hiring",
  hmac: {
    confluence: {
      title: "Confluence Data Center",
      source: "https://confluence.atlassian.com/doc/managing-webhooks-1021225606.html",
      setup: "Open General configuration > Webhooks > Create a webhook. Enter a secret.",
      vector: { none: "its page, which shows no value; public code that names its header" },
      event: { in: "body", name: "event" },
      scheme: { algorithm: "sha256", header: "X-Hub-Signature", prefix: "sha256=" },
    },
    clickup: {
      title: "ClickUp",
      source: "https://developer.clickup.com/docs/webhooksignature",
      setup: "Create the webhook by the API, and copy `webhook.secret` of the answer.",
      disablesEndpoints: true,
      vector: "independent",
      event: { in: "body", name: "event" },
      scheme: { algorithm: "sha256", header: "X-Signature" },
    },
    asana: {
      title: "Asana",
      source: "https://developers.asana.com/docs/webhooks-guide",
      setup: "Create the webhook by the API. The secret is `X-Hook-Secret` of its answer.",
      disablesEndpoints: true,
      vector: "independent",
      event: { in: "body", name: "/events/0/action" },
      handshakes: [{
        method: "POST",
        when: "'x-hook-secret' in headers",
        response: {
          type: "text",
          text: "",
          headers: { "X-Hook-Secret": "{headers['x-hook-secret']}" },
        },
        // A heartbeat comes every eight hours. Asana deletes a webhook that answers none for a day.
      }, withoutEvents],
      scheme: { algorithm: "sha256", header: "X-Hook-Signature" },
    },
    trello: {
      title: "Trello",
      source: "https://developer.atlassian.com/cloud/trello/guides/rest-api/webhooks/",
      setup: "Create the webhook by the API. The secret is the OAuth secret of the Power-Up.",
      note: "Signs the URL as it is registered",
      disablesEndpoints: true,
      vector: "independent",
      event: { in: "body", name: "/action/type" },
      handshakes: [{ method: "HEAD", response: { type: "text", text: "" } }],
      scheme: {
        algorithm: "sha1",
        encoding: "base64",
        header: "X-Trello-Webhook",
        signed_content: "{body}{url}",
        delivery_id: { in: "body", name: "/action/id" },
      },
    },
    shortcut: {
      title: "Shortcut",
      source: "https://help.shortcut.com/hc/en-us/articles/34734717380756",
      setup:
        "Create the webhook by the API, `POST /api/v3/integrations/webhook`, with `webhook_url` and `secret`.",
      vector: { none: "its page; public code that names its header" },
      event: { in: "body", name: "/actions/0/action" },
      scheme: {
        algorithm: "sha256",
        header: "Payload-Signature",
        delivery_id: { in: "body", name: "id" },
      },
    },
    airtable: {
      title: "Airtable",
      source: "https://airtable.com/developers/web/api/webhooks-overview",
      setup: "Create the webhook by the API, and copy `macSecretBase64` of the answer.",
      note: "Sends no data: read the changes by the API",
      needs: { response: { text: "" } },
      disablesEndpoints: true,
      vector: "independent",
      scheme: {
        algorithm: "sha256",
        header: "X-Airtable-Content-MAC",
        prefix: "hmac-sha256=",
        key_encoding: "base64",
      },
    },
    smartsheet: {
      title: "Smartsheet",
      source: "https://developers.smartsheet.com/api/smartsheet/guides/webhooks",
      setup: "Create the webhook by the API, and copy `sharedSecret` of the answer.",
      disablesEndpoints: true,
      vector: {
        none:
          "its page; smartsheet 5.3.0, which has nothing for webhooks; public code that names its header",
      },
      event: { in: "body", name: "/events/0/eventType" },
      handshakes: [{
        method: "POST",
        when: "'smartsheet-hook-challenge' in headers",
        response: {
          type: "json",
          json: { smartsheetHookResponse: "{headers['smartsheet-hook-challenge']}" },
          headers: { "Smartsheet-Hook-Response": "{headers['smartsheet-hook-challenge']}" },
        },
      }],
      scheme: {
        algorithm: "sha256",
        header: "Smartsheet-Hmac-SHA256",
      },
    },
    attio: {
      title: "Attio",
      source: "https://docs.attio.com/rest-api/guides/webhooks",
      setup: "Create the webhook by the API, and copy `secret` of the answer.",
      vector: { none: "its page; public code that names its header" },
      event: { in: "body", name: "/events/0/event_type" },
      scheme: {
        algorithm: "sha256",
        header: ["Attio-Signature", "X-Attio-Signature"],
        delivery_id: { in: "header", name: "Idempotency-Key" },
      },
    },
    ashby: {
      title: "Ashby",
      source: "https://developers.ashbyhq.com/docs/authenticating-webhooks",
      setup: "Open Admin > Integrations > Webhooks > New. Enter a secret token.",
      disablesEndpoints: true,
      vector: { none: "its page; public code that names its header" },
      event: { in: "body", name: "action" },
      // developers.ashbyhq.com/docs/setting-up-webhooks: an error leaves the webhook disabled.
      handshakes: [tried("body.action == 'ping'")],
      scheme: {
        algorithm: "sha256",
        header: "Ashby-Signature",
        prefix: "sha256=",
        delivery_id: { in: "body", name: "webhookActionId" },
      },
    },
    cal_com: {
      title: "Cal.com",
      source: "https://cal.com/docs/developing/guides/automation/webhooks",
      setup: "Open Settings > Developer > Webhooks > New. Enter a secret.",
      vector: "independent",
      event: { in: "body", name: "triggerEvent" },
      scheme: { algorithm: "sha256", header: "X-Cal-Signature-256" },
    },
  },
  static_token: {
    figma: {
      title: "Figma",
      source: "https://developers.figma.com/docs/rest-api/webhooks-security/",
      setup: "Create the webhook by the API, with a `passcode`.",
      note: "An answer of 400 stops the webhook",
      disablesEndpoints: true,
      event: { in: "body", name: "event_type" },
      // developers.figma.com/docs/rest-api/webhooks-events: sent when the webhook is created.
      handshakes: [tried("body.event_type == 'PING'")],
      token: { in: "body", name: "passcode" },
    },
    pipedrive: {
      title: "Pipedrive",
      source: "https://pipedrive.readme.io/docs/guide-for-webhooks-v2",
      setup:
        "Open Tools and integrations > Webhooks > Create. Enter the secret as the HTTP Auth password.",
      disablesEndpoints: true,
      event: { in: "body", name: "/meta/action" },
      token: { in: "header", name: "Authorization", basic: {} },
      delivery_id: { in: "body", name: "/meta/id" },
    },
    salesforce: {
      title: "Salesforce, outbound messages",
      source:
        "https://developer.salesforce.com/docs/atlas.en-us.api.meta/api/sforce_api_om_outboundmessaging_understanding.htm",
      setup:
        "Open Setup > Outbound Messages > New. Enter the URL with `?token=` and the secret at its end.",
      note:
        "Signs nothing: the secret is a parameter of the URL. Sends XML, and sends again until the answer is XML with `<Ack>true</Ack>`: give the trigger such a response of the type xml",
      needs: {
        response: {
          content_type: "application/xml",
          text: '<?xml version="1.0" encoding="UTF-8"?>' +
            '<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/"><soapenv:Body>' +
            '<notificationsResponse xmlns="http://soap.sforce.com/2005/09/outbound"><Ack>true</Ack>' +
            "</notificationsResponse></soapenv:Body></soapenv:Envelope>",
        },
      },
      token: { in: "query", name: "token" },
    },
  },
} as const satisfies PresetGroup;
