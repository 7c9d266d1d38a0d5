/**
 * A renewed certificate: it is served as soon as its files are looked at, and nobody's request is lost.
 */
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { TlsFiles } from "../../../src/commands/input/tls_files.ts";
import { InvalidInputError } from "../../../src/platform/errors.ts";
import { Service, type Tls } from "../../../src/service/service.ts";
import { startService, temporaryFolder } from "../../data.ts";
import { collectLog } from "../../log_records.ts";

const pem = (name: string) => new URL(`../../http/${name}.pem`, import.meta.url);
const FIRST_CA = Deno.readTextFileSync(pem("localhost_ca"));
const RENEWED_CA = Deno.readTextFileSync(pem("renewed_ca"));

/** A service that serves TLS with certificate files of its own. */
async function startSecure() {
  const plain = await startService();
  const { id } = await plain.trigger({ response: { type: "text", text: "launched" } });
  const { settings, clock } = plain.service.parts;
  await plain.service.close(0);
  const paths = { cert: `${plain.folder}/cert.pem`, key: `${plain.folder}/key.pem` };
  await Deno.copyFile(pem("localhost_cert"), paths.cert);
  await Deno.copyFile(pem("localhost_key"), paths.key);
  const files = new TlsFiles(paths);
  const service = await Service.start(
    { ...settings, dev: false, tls: await files.read() },
    { clock, env: () => undefined },
  );
  const path = `/api/v0/launch/${id}/`;
  return {
    service,
    files,
    paths,
    path,
    /** Launches over a new connection; undefined when the certificate is none of this authority. */
    async launch(ca: string): Promise<string | undefined> {
      using client = Deno.createHttpClient({ caCerts: [ca] });
      const url = `https://localhost:${service.port}${path}`;
      const answer = await fetch(url, { method: "POST", client }).catch((error) => {
        assertStringIncludes(String(error.cause ?? error), "UnknownIssuer");
      });
      return await answer?.text();
    },
    async [Symbol.asyncDispose]() {
      await service.close(5_000);
      await plain[Symbol.asyncDispose]();
    },
  };
}

Deno.test("a renewed certificate is served when both of its files are there", async () => {
  await using secure = await startSecure();
  const { service, files, paths, launch } = secure;
  // What is in the files is served already: no listener is made anew for it, minute by minute.
  let renewals = 0;
  await files.renew({ renewTls: () => void renewals++ });
  assertEquals(renewals, 0);
  assertEquals(await launch(FIRST_CA), "launched");

  await Deno.copyFile(pem("renewed_cert"), paths.cert);
  await files.renew(service);
  assertEquals(await launch(FIRST_CA), "launched");

  await Deno.copyFile(pem("renewed_key"), paths.key);
  await files.renew(service);
  assertEquals(await launch(FIRST_CA), undefined);
  assertEquals(await launch(RENEWED_CA), "launched");

  await Deno.remove(paths.key);
  await files.renew(service);
  assertEquals(await launch(RENEWED_CA), "launched");
});

Deno.test("a renewed certificate that could not be served for a moment is served the next time", async () => {
  await using secure = await startSecure();
  const { service, files, paths, launch } = secure;
  await using log = await collectLog("error");
  await Deno.copyFile(pem("renewed_cert"), paths.cert);
  await Deno.copyFile(pem("renewed_key"), paths.key);
  const failing = {
    renewTls() {
      throw new Error("Too many open files");
    },
  };
  for (let minute = 0; minute < 3; minute++) await files.renew(failing);
  const said = log.lines();
  assertEquals(said.length, 1);
  assertStringIncludes(said[0] ?? "", "the old one stays: Too many open files");
  await files.renew(service);
  assertEquals(await launch(RENEWED_CA), "launched");
});

Deno.test("a certificate is taken up when it or its key is another one, and once", async () => {
  await using folder = await temporaryFolder();
  const paths = { cert: `${folder.path}/cert.pem`, key: `${folder.path}/key.pem` };
  const taken: Tls[] = [];
  const service = { renewTls: (tls: Tls) => void taken.push(tls) };
  const files = new TlsFiles(paths);
  for (const [cert, key] of [["1", "1"], ["2", "1"], ["2", "2"], ["2", "2"]] as const) {
    await Deno.writeTextFile(paths.cert, cert);
    await Deno.writeTextFile(paths.key, key);
    await files.renew(service);
  }
  assertEquals(taken.map(({ cert, key }) => cert + key), ["11", "21", "22"]);
});

Deno.test("a certificate that cannot be served is refused, and the one before stays", async () => {
  await using secure = await startSecure();
  const { service, launch } = secure;
  const cert = await Deno.readTextFile(pem("renewed_cert"));
  const key = await Deno.readTextFile(pem("localhost_key"));
  const error = assertThrows(() => service.renewTls({ cert, key }), InvalidInputError);
  assertStringIncludes(error.message, "--tls-key: ");
  assertThrows(() => service.renewTls({ cert: key, key }), InvalidInputError);
  assertEquals(await launch(FIRST_CA), "launched");
});

Deno.test("a request under way is answered though the certificate changes meanwhile", async (t) => {
  await using secure = await startSecure();
  const { service, files, paths, path } = secure;
  const connect = async (length: number) => {
    const { port } = service;
    const connection = await Deno.connectTls({
      hostname: "localhost",
      port,
      caCerts: [FIRST_CA],
    });
    const send = (text: string) => connection.write(new TextEncoder().encode(text));
    await send(
      `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${length}\r\n` +
        "Expect: 100-continue\r\nConnection: close\r\n\r\n",
    );
    // So says a server that waits for the body.
    const start = new Uint8Array(1_024);
    const size = await connection.read(start) ?? 0;
    assertStringIncludes(new TextDecoder().decode(start.subarray(0, size)), " 100 Continue");
    await send("begin");
    return { send, answered: new Response(connection.readable).text() };
  };
  const arrives = await connect(8);
  const stays = await connect(9);
  // Nothing is under way on it: it ends when its server does.
  using idle = await Deno.connectTls({
    hostname: "localhost",
    port: service.port,
    caCerts: [FIRST_CA],
  });
  await idle.handshake();
  await Deno.copyFile(pem("renewed_cert"), paths.cert);
  await Deno.copyFile(pem("renewed_key"), paths.key);
  await files.renew(service);
  assertEquals(await secure.launch(RENEWED_CA), "launched");
  await arrives.send("end");
  await t.step("a body that arrives in time is launched", async () => {
    assertStringIncludes(await arrives.answered, "launched");
  });
  await t.step("one that does not is to be sent again", async () => {
    assertEquals(await idle.read(new Uint8Array(1)).catch(() => null), null);
    await stays.send("more");
    const answer = await stays.answered;
    assertStringIncludes(answer, "HTTP/1.1 503 ");
    assertStringIncludes(answer, "retry-after: 1");
  });
});

Deno.test("no new connection fails while the certificate changes 8 times", async () => {
  await using secure = await startSecure();
  const { service, path } = secure;
  const read = (name: string) => Deno.readTextFile(pem(name));
  const certificates: Tls[] = [
    { cert: await read("localhost_cert"), key: await read("localhost_key") },
    { cert: await read("renewed_cert"), key: await read("renewed_key") },
  ];
  const caCerts = [FIRST_CA, RENEWED_CA];
  const request = new TextEncoder().encode(
    `POST ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`,
  );
  const answers: string[] = [];
  const client = async () => {
    while (answers.length < 160) {
      const plain = await Deno.connect({ hostname: "127.0.0.1", port: service.port });
      // Else the request waits 40 ms for the acknowledgement of the handshake.
      plain.setNoDelay();
      using connection = await Deno.startTls(plain, { hostname: "127.0.0.1", caCerts });
      await connection.write(request);
      const answer = new Uint8Array(64);
      const length = await connection.read(answer) ?? 0;
      const [line = ""] = new TextDecoder().decode(answer.subarray(0, length)).split("\r\n");
      if (answers.push(line) % 20 === 10) {
        for (const tls of certificates.splice(0, 1)) {
          service.renewTls(tls);
          certificates.push(tls);
        }
      }
    }
  };
  await Promise.all(Array.from({ length: 4 }, client));
  assertEquals(answers.filter((line) => line !== "HTTP/1.1 200 OK"), []);
});
