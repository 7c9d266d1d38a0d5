/** Requests of PayPal pass by its own certificates, and those of one webhook alone. */
import { assert, assertEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import { sign } from "node:crypto";
import { signature, signatureScheme } from "../../../src/conditions/signature.ts";
import { Certificates } from "../../../src/conditions/signing/certificates.ts";
import { prepareCertified } from "../../../src/conditions/signing/certified.ts";
import { TestClock } from "../../surroundings.ts";
import { NOW_MS, request } from "../fixture.ts";
import { PAYPAL_VECTOR } from "./paypal_vector.ts";
import { CERTIFICATE, PRIVATE_KEY } from "./sns_certificate.ts";

const WEBHOOK = "4JH86294D6297924G";
const CERTIFICATE_URL =
  "https://api.sandbox.paypal.com/v1/notifications/certs/CERT-360caa42-fca2a594-df8cd2d5";
const ID = "103e3700-8b0c-11e6-8695-6b62a8a99ac4";
const TIME = "2023-11-14T22:13:20Z";

/** The check value of CRC-32 (ISO 3309) of these nine digits is known: 0xCBF43926. */
const BODY = "123456789";
const CRC32 = 0xcbf43926;

const headers = {
  "PAYPAL-TRANSMISSION-ID": ID,
  "PAYPAL-TRANSMISSION-TIME": TIME,
  "PAYPAL-AUTH-ALGO": "SHA256withRSA",
  "PAYPAL-CERT-URL": CERTIFICATE_URL,
  "PAYPAL-TRANSMISSION-SIG": sign(
    "sha256",
    Buffer.from(`${ID}|${TIME}|${WEBHOOK}|${CRC32}`),
    PRIVATE_KEY,
  ).toString("base64"),
};

async function receive(
  parts: { body?: string; headers?: object; receivedAt_ms?: number },
  identity = WEBHOOK,
  certificate = CERTIFICATE,
) {
  const settings = signature.schema.parse({ type: "signature", preset: "paypal", identity });
  const scheme = signatureScheme(settings);
  assert(scheme.certificate);
  const fetched: string[] = [];
  const certificates = new Certificates({
    clock: new TestClock(NOW_MS),
    signal: new AbortController().signal,
    fetch(url) {
      fetched.push(url.href);
      return Promise.resolve(new TextEncoder().encode(certificate));
    },
  });
  const check = prepareCertified(scheme, scheme.certificate, certificates, {
    runSerially: (_address, run) => run(),
  });
  const sent = request({ body: BODY, ...parts, headers: { ...headers, ...parts.headers } });
  return { refusal: await check(sent), fetched };
}

Deno.test("paypal: a request as PayPal signs it passes, and no change of it", async () => {
  const { refusal, fetched } = await receive({});
  assertEquals(refusal, undefined);
  assertEquals(fetched, [CERTIFICATE_URL]);
  assert((await receive({ body: "123456780" })).refusal);
  assert((await receive({}, "another webhook")).refusal);
  for (const name of ["PAYPAL-TRANSMISSION-ID", "PAYPAL-TRANSMISSION-TIME"]) {
    assert((await receive({ headers: { [name]: "another" } })).refusal, name);
  }
});

Deno.test("paypal: a notification that PayPal has sent passes, and no change of it", async () => {
  const { webhook, certificate, ...sent } = PAYPAL_VECTOR;
  const { refusal, fetched } = await receive(sent, webhook, certificate);
  assertEquals(refusal, undefined);
  assertEquals(fetched, [sent.headers["PAYPAL-CERT-URL"]]);
  const changed = { ...sent, body: sent.body.replace("20.00", "20.01") };
  assert((await receive(changed, webhook, certificate)).refusal);
  assert((await receive(sent, "another webhook", certificate)).refusal);
});

Deno.test("paypal: certificates of other hosts and paths are not fetched", async () => {
  for (
    const url of [
      CERTIFICATE_URL.replace("paypal.com", "paypal.com.example"),
      CERTIFICATE_URL.replace("https:", "http:"),
      CERTIFICATE_URL.replace("/certs/", "/other/"),
      CERTIFICATE_URL.replace("api.", "www."),
      `${CERTIFICATE_URL}/../../x`,
    ]
  ) {
    const { refusal, fetched } = await receive({ headers: { "PAYPAL-CERT-URL": url } });
    assertEquals(
      refusal?.reason,
      "Header PAYPAL-CERT-URL is no URL of the provider's certificates",
    );
    assertEquals(fetched, []);
  }
});
