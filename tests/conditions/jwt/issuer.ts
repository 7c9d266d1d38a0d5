/**
 * An issuer of tokens with a JWK Set on a real port of this machine.
 *
 * @module
 */
import { generateKeyPairSync } from "node:crypto";
import type { JWK } from "@panva/jose";

/** A JWK Set behind HTTP; a test changes what it answers. */
export class Issuer implements AsyncDisposable {
  /** How often the set was asked for. */
  requests = 0;
  /** What it answers. */
  respond: (request: Request) => Response | Promise<Response> = () =>
    new Response(null, { status: 500 });
  readonly #server: Deno.HttpServer<Deno.NetAddr>;

  constructor(keys: readonly JWK[] = []) {
    this.publish(...keys);
    this.#server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
      this.requests += 1;
      return this.respond(request);
    });
  }

  /** Where the set is. */
  get url(): string {
    return `http://127.0.0.1:${this.#server.addr.port}/jwks.json`;
  }

  /** Answers with these keys from now on. */
  publish(...keys: readonly JWK[]): void {
    this.respond = () => Response.json({ keys });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }
}

/** A new key pair of the kind that signs with ES256. */
export function p256(kid?: string): { privateKey: JWK; publicKey: JWK } {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const { d, x, y } = privateKey.export({ format: "jwk" });
  const publicKey: JWK = { kty: "EC", crv: "P-256", ...(kid && { kid }), x: `${x}`, y: `${y}` };
  return { privateKey: { ...publicKey, d: `${d}` }, publicKey };
}
