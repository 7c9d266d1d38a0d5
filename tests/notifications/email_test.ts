/** Mail to a real SMTP server: with STARTTLS, TLS and neither, slow, refusing, and on a private address. */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { Buffer } from "node:buffer";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";
import { email } from "../../src/notifications/targets/email.ts";
import { systemClock } from "../../src/platform/clock.ts";
import type { Notification } from "../../src/store/records/notifications.ts";

const file = (name: string) => Deno.readTextFileSync(new URL(`../http/${name}`, import.meta.url));
const CERTIFICATE = { cert: file("localhost_cert.pem"), key: file("localhost_key.pem") };
const CA = file("localhost_ca.pem");
const MESSAGE: Notification = {
  id: "0190a000-0000-7000-8000-000000000001",
  notifier: "ops",
  status: "pending",
  created_at: "2026-01-31T12:00:00.000Z",
  attempts: 1,
  title: "New: run_error of trigger ä",
  text: "a run failed\n  https://hooks.example.com/deliveries/1",
  causes: [],
};

/** A mail server on a port of its own. */
interface MailServer extends AsyncDisposable {
  port: number;
  mails: string[];
  users: string[];
}

async function startMailServer(options: SMTPServerOptions): Promise<MailServer> {
  const mails: string[] = [];
  const users: string[] = [];
  const server = new SMTPServer({
    ...CERTIFICATE,
    authOptional: true,
    disableReverseLookup: true,
    name: "localhost",
    onAuth({ username = "", password }, _session, done) {
      users.push(username);
      if (password === "right") return done(null, { user: username });
      done(new Error("Wrong password"));
    },
    onData(stream, _session, done) {
      Array.fromAsync(stream).then((chunks) => {
        mails.push(Buffer.concat(chunks).toString());
        done();
      });
    },
    ...options,
  });
  // A client that goes away early is no failure of the server.
  server.on("error", () => {});
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  return {
    port: Number(Object(server.server.address()).port),
    mails,
    users,
    [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

function send(
  port: number,
  settings: Record<string, unknown>,
  { timeout_ms = 20_000, ca = [CA] } = {},
) {
  const whole = email.schema.parse({
    type: "email",
    host: "localhost",
    port,
    from: "Hooklaunch <hooks@example.com>",
    to: ["ops@example.com"],
    private_networks: true,
    ...settings,
  });
  return email.send(MESSAGE, whole, {
    clock: systemClock,
    network: {
      resolve: () => Promise.resolve(["127.0.0.1"]),
      isPublic: () => false,
      caCerts: ca,
    },
    reveal: (secret) => secret,
    signal: new AbortController().signal,
    timeout_ms,
  });
}

Deno.test({
  name: "a mail arrives by STARTTLS, by TLS, and without either",
  // Node's sockets close a moment behind the server.
  sanitizeOps: false,
  sanitizeResources: false,
  async fn(t) {
    await using starttls = await startMailServer({});
    await using tls = await startMailServer({ secure: true });
    await using plain = await startMailServer({ disabledCommands: ["STARTTLS"] });
    const login = { user: "hooks", password: "right" };
    for (const [security, server] of [["starttls", starttls], ["tls", tls]] as const) {
      await t.step(security, async () => {
        assertEquals(await send(server.port, { security, ...login }), { isSent: true });
        const [mail = ""] = server.mails;
        assertStringIncludes(
          mail,
          "Message-ID: <0190a000-0000-7000-8000-000000000001@example.com>",
        );
        assertMatch(mail, /Subject: =\?UTF-8\?/);
        assertStringIncludes(mail, "a run failed");
        assertEquals(server.users, ["hooks"]);
      });
    }
    await t.step("none", async () => {
      assertEquals(await send(plain.port, { security: "none" }), { isSent: true });
      assertEquals(plain.mails.length, 1);
    });
    await t.step("one recipient of two is not known", async () => {
      await using server = await startMailServer({
        onRcptTo: ({ address }, _session, done) =>
          done(address.startsWith("gone") ? new Error("No such user") : null),
      });
      const sent = await send(server.port, { to: ["ops@example.com", "Gone <gone@example.com>"] });
      assertEquals(server.mails.length, 1);
      assertEquals(sent, {
        isSent: false,
        isFinal: true,
        reason: "It has not reached gone@example.com: 550 No such user",
      });
    });
    const wrong: [name: string, server: MailServer, settings: object, ca: string[], RegExp][] = [
      [
        "no STARTTLS",
        plain,
        { security: "starttls" },
        [CA],
        /STARTTLS.*\. It offers no STARTTLS: set security to tls, or to none/,
      ],
      [
        "no TLS",
        plain,
        { security: "tls" },
        [CA],
        /\. It does not begin with TLS: set security to/,
      ],
      ...[starttls, tls].flatMap((server): typeof wrong => {
        const security = server === tls ? "tls" : "starttls";
        return [
          [
            `a certificate of an unknown issuer, by ${security}`,
            server,
            { security },
            [],
            /verify the first certificate\. Name the authority of its certificate in DENO_CERT/,
          ],
          [
            `a certificate of another name, by ${security}`,
            server,
            { security, host: "mail.example.com" },
            [CA],
            /DNS:localhost.*\. Set host to a name that its certificate has$/,
          ],
        ];
      }),
      [
        "a wrong password, which is not shown",
        starttls,
        { user: "hooks", password: "wrong-password" },
        [CA],
        /^It cannot be sent: Invalid login: 535 Wrong password\. Check user and password$/,
      ],
    ];
    for (const [name, server, settings, ca, reason] of wrong) {
      await t.step(`no mail is sent, and it says what to do: ${name}`, async () => {
        const sent = await send(server.port, { ...settings }, { ca });
        assertEquals([sent.isSent, server.mails.length], [false, 1]);
        assertMatch("reason" in sent ? sent.reason : "", reason);
      });
    }
    await t.step("a private address is reached where it is allowed alone", async () => {
      const sent = send(plain.port, { security: "none", private_networks: false });
      const message = await sent.then(() => "", (error) => error.message);
      assertMatch(message, /no public address/);
    });
    await t.step("a server that says nothing has its time", async () => {
      using silent = Deno.listen({ hostname: "127.0.0.1", port: 0 });
      const sent = await send(silent.addr.port, { security: "none" }, { timeout_ms: 200 });
      assertEquals(sent.isSent, false);
    });
  },
});
