/**
 * The files of a certificate, and its renewal.
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
  /** The certificate that is served. */
  #served: Tls | undefined;
  /** The error in the log about the files as they are. */
  #problem: string | undefined;

  constructor(paths: { cert: string; key: string }) {
    this.#cert = paths.cert;
    this.#key = paths.key;
  }

  /**
   * Reads the certificate to serve from now on.
   *
   * @throws {InvalidInputError} when a file cannot be read
   */
  async read(): Promise<Tls> {
    return this.#served = await this.#read();
  }

  /**
   * Makes the service serve the certificate in the files, if it has changed. An error is logged once and
   * tried again the next time: only one of the two files may have been written yet. Never rejects.
   */
  async renew(service: Pick<Service, "renewTls">): Promise<void> {
    try {
      await this.reload(service);
    } catch (error) {
      const problem = messageOf(error);
      if (problem === this.#problem) return;
      this.#problem = problem;
      log.error("Cannot serve the renewed certificate in {cert}, the old one stays: {error}", {
        cert: this.#cert,
        error: problem,
      });
    }
  }

  /**
   * Makes the service serve the certificate in the files. Returns false when it does already.
   *
   * @throws {InvalidInputError} when it cannot be used; the old one stays in use
   */
  async reload(service: Pick<Service, "renewTls">): Promise<boolean> {
    const tls = await this.#read();
    const isNew = tls.cert !== this.#served?.cert || tls.key !== this.#served.key;
    if (isNew) {
      service.renewTls(tls);
      this.#served = tls;
      log.info("Serving the renewed certificate in {cert}", { cert: this.#cert });
    }
    this.#problem = undefined;
    return isNew;
  }

  async #read(): Promise<Tls> {
    const cert = await readText(this.#cert, "the certificate");
    const key = await readText(this.#key, "the private key");
    return { cert, key };
  }
}
