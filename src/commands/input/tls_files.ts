/**
 * The files of a certificate, which are written anew when it is renewed.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { messageOf } from "../../platform/errors.ts";
import type { Service, Tls } from "../../service/service.ts";
import { readText } from "./options.ts";

const log = getLogger(["hooklaunch"]);

/** The files that `--tls-cert` and `--tls-key` name. */
export class TlsFiles {
  readonly #cert: string;
  readonly #key: string;
  /** What is served. */
  #served: Tls | undefined;
  /** Why what is in the files cannot be served, as the log says it. */
  #problem: string | undefined;

  /** @param paths where they are */
  constructor(paths: { cert: string; key: string }) {
    this.#cert = paths.cert;
    this.#key = paths.key;
  }

  /**
   * Reads what is to be served from now on.
   *
   * @throws {InvalidInputError} when one cannot be read
   */
  async read(): Promise<Tls> {
    return this.#served = await this.#read();
  }

  /**
   * Has the service serve what is in the files, if that is something else. Where it cannot be served the log
   * says so once, as of two files one may have been written only, and it is tried again the next time.
   * Never rejects.
   */
  async renew(service: Pick<Service, "renewTls">): Promise<void> {
    try {
      const tls = await this.#read();
      if (tls.cert !== this.#served?.cert || tls.key !== this.#served.key) {
        await service.renewTls(tls);
        this.#served = tls;
        log.info("Took the renewed certificate in {cert} up", { cert: this.#cert });
      }
      this.#problem = undefined;
    } catch (error) {
      const problem = messageOf(error);
      if (problem === this.#problem) return;
      this.#problem = problem;
      log.error("Cannot take the certificate in {cert} up, the one before stays: {error}", {
        cert: this.#cert,
        error: problem,
      });
    }
  }

  async #read(): Promise<Tls> {
    const cert = await readText(this.#cert, "the certificate");
    const key = await readText(this.#key, "the private key");
    return { cert, key };
  }
}
