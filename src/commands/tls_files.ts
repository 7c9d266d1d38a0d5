/**
 * The files of a certificate, which are written anew when it is renewed.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { messageOf } from "../errors.ts";
import type { Service, Tls } from "../service.ts";
import { readText } from "./options.ts";

const log = getLogger(["hooklaunch"]);

/** The files that `--tls-cert` and `--tls-key` name. */
export class TlsFiles {
  readonly #cert: string;
  readonly #key: string;
  #last: Tls | undefined;

  /** @param paths where they are */
  constructor(paths: { cert: string; key: string }) {
    this.#cert = paths.cert;
    this.#key = paths.key;
  }

  /**
   * Reads them.
   *
   * @throws {InvalidInputError} when one cannot be read
   */
  async read(): Promise<Tls> {
    const cert = await readText(this.#cert, "the certificate");
    const key = await readText(this.#key, "the private key");
    return this.#last = { cert, key };
  }

  /**
   * Has the service serve what is in the files, if that is something else than at the last look. Where it
   * cannot be served the log says so once: of two files one may have been written only. Never rejects.
   */
  async renew(service: Pick<Service, "renewTls">): Promise<void> {
    const last = this.#last;
    try {
      const tls = await this.read();
      if (tls.cert === last?.cert && tls.key === last.key) return;
      await service.renewTls(tls);
      log.info("Took the renewed certificate in {cert} up", { cert: this.#cert });
    } catch (error) {
      log.error("Cannot take the certificate in {cert} up, the one before stays: {error}", {
        cert: this.#cert,
        error: messageOf(error),
      });
    }
  }
}
