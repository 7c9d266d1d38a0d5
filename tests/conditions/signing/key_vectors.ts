/**
 * Requests with a signature that providers publish to test against, or that their own libraries accept.
 *
 * @module
 */
import { independentSignatures } from "./independent_vectors.ts";
import { librarySignatures } from "./library_vectors.ts";
import { standardVector, type Vector } from "./vectors.ts";

/** Requests that a private key has signed. */
export const signatureVectors: Vector[] = [
  {
    preset: "sendgrid",
    source: "sendgrid/sendgrid-nodejs packages/eventwebhook/src/eventwebhook.spec.js",
    settings: {
      public_keys: [
        "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83T4O/n84iotIvIW4mdBgQ/7dAfSmpqIM8kF9mN1flpV" +
        "KS3GRqe62gw+2fNNRaINXvVpiglSI8eNEc6wEA3F+g==",
      ],
    },
    parts: {
      headers: {
        "X-Twilio-Email-Event-Webhook-Signature":
          "MEUCIGHQVtGj+Y3LkG9fLcxf3qfI10QysgDWmMOVmxG0u6ZUAiEAyBiXDWzM+uOe5W0JuG+luQAbPIqHh89M" +
          "15TluLtEZtM=",
        "X-Twilio-Email-Event-Webhook-Timestamp": "1600112502",
      },
      body: '[{"email":"hello@world.com","event":"dropped","reason":"Bounced Address",' +
        '"sg_event_id":"ZHJvcC0xMDk5NDkxOS1MUnpYbF9OSFN0T0doUTRrb2ZTbV9BLTA",' +
        '"sg_message_id":"LRzXl_NHStOGhQ4kofSm_A.filterdrecv-p3mdw1-756b745b58-kmzbl-18-5F5FC76C-9.0",' +
        '"smtp-id":"<LRzXl_NHStOGhQ4kofSm_A@ismtpd0039p1iad1.sendgrid.net>",' +
        '"timestamp":1600112492}]\r\n',
      receivedAt_ms: 1_600_112_502_000,
    },
  },
  ...["standard_webhooks", "svix"].map((preset) => ({
    preset,
    source: "svix/svix-webhooks server/svix-server, test_asymmetric_key_signing",
    settings: { public_keys: ["whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4="] },
    parts: {
      ...standardVector("webhook"),
      headers: {
        ...standardVector("webhook").headers,
        "webhook-signature":
          "v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg==",
      },
    },
  })),
  ...librarySignatures,
  ...independentSignatures,
];
