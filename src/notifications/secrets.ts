/**
 * The secrets of notifiers: encrypted where they are stored, and masked where they are shown.
 *
 * @module
 */
import { isIP } from "node:net";
import { resolveSecret, SECRET_MASK } from "../conditions/secret.ts";
import { InvalidInputError, type Problem } from "../platform/errors.ts";
import type { NotifierSettings, NotifierTarget } from "../store/records/notifiers.ts";
import { isReference, LockedSecretError, type SecretBox, tryOpen } from "../triggers/secrets.ts";

/** The parts of a service that secrets of notifiers need. */
interface NotifierSecretParts {
  box: SecretBox;
  /** Reads an environment variable of the service. */
  env(name: string): string | undefined;
}

/** Pointers to the settings of targets that are secrets, whatever the type. */
const SECRET_PLACES = ["/secret", "/sign/secret", "/token", "/password"];
/** The types of targets whose address is a secret, too. */
const SECRET_URL_TYPES = ["slack", "mattermost", "discord", "teams"];

/** The secrets of notifiers. */
export class NotifierSecrets {
  readonly #parts: NotifierSecretParts;

  constructor(parts: NotifierSecretParts) {
    this.#parts = parts;
  }

  /**
   * Returns a notifier as it is to be stored. A mask stands for the stored secret of its place, unless that would go
   * to another server: nobody reads a stored secret, so nobody may send it elsewhere.
   *
   * @throws {InvalidInputError} when a mask stands for nothing
   */
  sealed(made: NotifierSettings, before: NotifierSettings | undefined): NotifierSettings {
    const { box } = this.#parts;
    const owner = ownerOf(made.name);
    const problems: Problem[] = [];
    const to = this.#mapped(made.to, (secret, at) => {
      const stored = before?.to.type === made.to.type ? textAt(before.to, at) : undefined;
      if (isReference(secret)) return secret;
      if (secret === SECRET_MASK) {
        const isStored = stored !== undefined && !isReference(stored);
        const isSameServer = before !== undefined && serverOf(made.to) === serverOf(before.to);
        if (isStored && isSameServer) return stored;
        const why = isStored
          ? `the one that is stored does not go to ${serverOf(made.to)}`
          : "there is none";
        const detail =
          `Expected a secret, found ${SECRET_MASK}, which stands for a stored one: ${why}. Send the secret itself`;
        problems.push({ pointer: `/to${at}`, detail });
        return secret;
      }
      // The same secret stays as it is stored, so that nothing counts as changed.
      const isSame = stored !== undefined && tryOpen(stored, box, owner) === secret;
      return isSame ? stored : box.seal(secret, owner);
    });
    if (problems.length > 0) throw new InvalidInputError("the notifier", problems);
    return { ...made, to };
  }

  /** Returns a stored notifier as the API shows it. */
  shown<T extends NotifierSettings>(notifier: T): T {
    const to = this.#mapped(
      notifier.to,
      (secret) => isReference(secret) ? secret : SECRET_MASK,
    );
    return { ...notifier, to };
  }

  /** Returns warnings about the secrets of a stored notifier, with pointers into it. */
  warnings({ name, to }: NotifierSettings): Problem[] {
    return secretPlaces(to.type).flatMap((at) => {
      const secret = textAt(to, at);
      if (secret === undefined || this.reveal(secret, name) !== undefined) return [];
      const detail = isReference(secret)
        ? `The secret is not there: the service's ${secret} cannot be read, or is empty`
        : "The secret cannot be decrypted with this key: set it again";
      return [{ pointer: `/to${at}`, detail }];
    });
  }

  /** Returns the URL that a stored notifier sends to, or of its mail server; undefined when it cannot be had. */
  addressOf({ name, to: { type, url, host } }: NotifierSettings): string | undefined {
    if (typeof url !== "string") return `http://${isIP(String(host)) === 6 ? `[${host}]` : host}`;
    return SECRET_URL_TYPES.includes(type) ? this.reveal(url, name) : url;
  }

  /** Returns the text of a stored secret; undefined when it cannot be had. */
  reveal(secret: string, notifier: string): string | undefined {
    const { box, env } = this.#parts;
    return isReference(secret)
      ? resolveSecret(secret, env)
      : tryOpen(secret, box, ownerOf(notifier));
  }

  /**
   * Encrypts the secrets of a stored notifier with the current key.
   *
   * @throws {LockedSecretError} with its name, and what to do
   */
  sealedAgain<T extends NotifierSettings>(notifier: T): T {
    const { box } = this.#parts;
    const owner = ownerOf(notifier.name);
    const seal = (secret: string) =>
      isReference(secret) ? secret : box.seal(box.open(secret, owner), owner);
    try {
      return { ...notifier, to: this.#mapped(notifier.to, seal) };
    } catch (error) {
      if (!(error instanceof LockedSecretError)) throw error;
      throw new LockedSecretError(
        `Cannot encrypt the secrets of notifier "${notifier.name}" with the new key: ${error.message} ` +
          "Name the key that encrypted them too, set the secrets again, or remove the notifier",
        { cause: error },
      );
    }
  }

  #mapped(
    to: NotifierTarget,
    change: (secret: string, at: string) => string,
  ): NotifierTarget {
    const copy = structuredClone(to);
    for (const at of secretPlaces(to.type)) {
      const secret = textAt(to, at);
      if (secret !== undefined) putAt(copy, at, change(secret, at));
    }
    return copy;
  }
}

/** Returns the pointers to the secrets of a type of target. */
function secretPlaces(type: string): readonly string[] {
  return SECRET_URL_TYPES.includes(type) ? [...SECRET_PLACES, "/url"] : SECRET_PLACES;
}

/** Returns the server that a target sends to; the type of one whose address is a secret itself. */
function serverOf({ type, url, host, port }: NotifierTarget): string {
  if (SECRET_URL_TYPES.includes(type)) return type;
  if (typeof url === "string") return URL.parse(url)?.origin ?? "";
  return port === undefined ? String(host) : `${host}:${port}`;
}

/** Returns the owner of a notifier's secrets. No trigger has such an id. */
function ownerOf(notifier: string): string {
  return `notifier ${notifier}`;
}

function textAt(value: object, at: string): string | undefined {
  const found = at.split("/").slice(1).reduce((inner: unknown, name) => Object(inner)[name], value);
  return typeof found === "string" ? found : undefined;
}

function putAt(value: object, at: string, text: string): void {
  const names = at.split("/").slice(1);
  const last = names.pop() ?? "";
  const holder = names.reduce((inner: unknown, name) => Object(inner)[name], value);
  Object.assign(Object(holder), { [last]: text });
}
