/**
 * The certificate of the service: ordered, kept in the database, renewed, and served. The leader orders; every instance
 * serves what is stored, and answers challenges.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { exportJWK, generateKeyPair } from "@panva/jose";
import type { Clock } from "../platform/clock.ts";
import { messageOf } from "../platform/errors.ts";
import { pause } from "../platform/waiting/timers.ts";
import {
  getAccount,
  getCertificate,
  getChallenge,
  getOrderFailure,
  type OrderFailure,
  putAccount,
  putCertificate,
  putOrderFailure,
  removeOrderFailure,
  type StoredCertificate,
} from "../store/records/acme.ts";
import type { Store } from "../store/store.ts";
import { type SecretBox, tryOpen } from "../triggers/secrets.ts";
import { newCertificateKey, selfSigned } from "./certificate_request.ts";
import { type AccountKey, AcmeClient } from "./client.ts";
import { AcmeError } from "./error.ts";
import { type Leaf, readLeaf } from "./leaf.ts";
import { orderCertificate } from "./order.ts";
import { dnsProver, httpProver } from "./provers.ts";
import { Renewal } from "./renewal.ts";
import { ACCOUNT_OWNER, CERTIFICATE_OWNER } from "./seal_again.ts";
import type { AcmeSettings } from "./settings.ts";

/** The wait after the first failure; each further one doubles it. */
const RETRY_MS = 2 * 60_000;
const RETRY_MS_MAX = 3_600_000;
/** By so much the clocks of the authority and of this machine may differ. */
const CLOCKS_DIFFER_MS = 5 * 60_000;
/** An authority issues few certificates of the same names a week. */
const WRONG_CLOCK_MS = 24 * 3_600_000;
/** Pause between two looks of an instance that has no certificate yet. */
const FIRST_LOOK_MS = 1_000;

const log = getLogger(["hooklaunch", "acme"]);

/** A chain and its private key, both PEM. */
interface Pair {
  cert: string;
  key: string;
}

/** The parts of a service that a keeper uses. */
interface KeeperParts {
  store: Store;
  secrets: SecretBox;
  clock: Clock;
}

/** The service, as a keeper sees it. */
interface Served {
  /** Serves another certificate from now on. */
  serve(tls: Pair): void;
  /** Returns true while this instance orders. */
  leads(): boolean;
  /** Aborted when the service begins to stop. */
  signal: AbortSignal;
}

/** Keeps the certificate of a service. */
export class CertificateKeeper {
  /** The certificate to begin with: one that nobody trusts where there is no other. */
  readonly first: Pair;
  readonly #settings: AcmeSettings;
  readonly #parts: KeeperParts;
  readonly #renewal: Renewal;
  /** The certificate that is served. */
  #stored: StoredCertificate | undefined;
  #leaf: Leaf | undefined;
  #failure: OrderFailure | undefined;
  /** A failure is read when this instance begins to lead. */
  #isLeading = false;
  #portFailure: { text: string; since_ms: number } | undefined;
  #served: Served | undefined;
  #underWay: Promise<void> = Promise.resolve();

  private constructor(settings: AcmeSettings, parts: KeeperParts) {
    this.#settings = settings;
    this.#parts = parts;
    this.#renewal = new Renewal(parts.clock);
    const key = newCertificateKey();
    this.first = { cert: selfSigned(settings.names, key, parts.clock.now()), key };
  }

  /** Reads the certificate that is stored. */
  static async open(settings: AcmeSettings, parts: KeeperParts): Promise<CertificateKeeper> {
    const keeper = new CertificateKeeper(settings, parts);
    const found = await keeper.#read();
    if (found === undefined) return keeper;
    keeper.#adopt(found.stored);
    Object.assign(keeper.first, found.pair);
    return keeper;
  }

  /** The time at which the certificate ends, in milliseconds since the epoch; undefined while there is none. */
  get until_ms(): number | undefined {
    return this.#leaf?.until_ms;
  }

  /** The time since which no order is possible, or of the last that failed; undefined when one has succeeded since. */
  get failed_ms(): number | undefined {
    return this.#failure ? Date.parse(this.#failure.failed_at) : this.#portFailure?.since_ms;
  }

  /** The reason why the service has no certificate, or does not renew it; undefined when all is well. */
  get trouble(): { text: string; since_ms: number } | undefined {
    const port = this.#portFailure;
    if (this.#failure === undefined) {
      return port && { ...port, text: `${port.text}. ${this.#state()}` };
    }
    const { detail, since, next_at } = this.#failure;
    const text = `${detail}. ${this.#state()}. The next try is at ${next_at}`;
    // The port is the cause of what the authority says.
    return { text: port ? `${port.text}. ${text}` : text, since_ms: Date.parse(since) };
  }

  /**
   * Notes whether the port of challenges can be listened on.
   *
   * @param text the reason why not, with what to do
   */
  notePort(text: string | undefined): void {
    const since_ms = this.#portFailure?.since_ms ?? this.#parts.clock.now();
    this.#portFailure = text === undefined ? undefined : { text, since_ms };
  }

  /** Returns the answer to a challenge. */
  challenge(token: string): Promise<string | undefined> {
    return getChallenge(this.#parts.store, token);
  }

  /** Begins to keep the certificate. Call {@linkcode tick} each minute from then on. */
  start(served: Served): void {
    this.#served = served;
    if (this.#stored === undefined) {
      const { names, directory, dnsHook } = this.#settings;
      log.info(
        "Waiting for the first certificate of {names} from {directory}: until it is there, senders refuse the " +
          "certificate that is served. The authority looks at {place}",
        {
          names: names.join(", "),
          directory,
          place: dnsHook === undefined ? "port 80 of these names" : "their DNS records",
        },
      );
    }
    void this.#begin(served);
  }

  /** Orders or renews the certificate if it is time, or serves the one that another instance has ordered. */
  tick(): Promise<void> {
    return this.#underWay = this.#underWay.then(() => this.#tick()).catch((error) => {
      if (this.#served?.signal.aborted) return;
      log.error("Cannot look after the certificate: {error}", { error: messageOf(error) });
    });
  }

  /** Waits until nothing is under way. The signal has told so. */
  async close(): Promise<void> {
    await this.#underWay;
  }

  async #begin({ signal, leads }: Served): Promise<void> {
    await this.tick();
    // Another instance may order: only its end is waited for.
    while (this.#stored === undefined && !signal.aborted) {
      await pause(this.#parts.clock, FIRST_LOOK_MS, signal);
      if (!leads() || !this.#isLeading) await this.tick();
    }
  }

  async #tick(): Promise<void> {
    const served = this.#served;
    if (served === undefined || served.signal.aborted) return;
    await this.#take(served);
    if (!served.leads()) {
      this.#isLeading = false;
      return;
    }
    if (!this.#isLeading) {
      this.#isLeading = true;
      this.#failure = await getOrderFailure(this.#parts.store);
      const { directory } = this.#settings;
      const isOfOther = (this.#failure?.directory ?? directory) !== directory;
      // Whoever has started the service anew may have mended it, or named another authority.
      if (this.#failure && (isOfOther || this.#failure.is_asked === false)) {
        this.#failure.next_at = new Date(this.#parts.clock.now()).toISOString();
      }
    }
    if (this.#isWaiting()) return;
    await this.#orderIfDue(served);
  }

  /** Returns true after a failure. One of a time to come tells nothing: the clock was wrong then. */
  #isWaiting(): boolean {
    if (this.#failure === undefined) return false;
    const now_ms = this.#parts.clock.now();
    const { failed_at, next_at } = this.#failure;
    return now_ms < Date.parse(next_at) && now_ms + CLOCKS_DIFFER_MS >= Date.parse(failed_at);
  }

  async #orderIfDue(served: Served): Promise<void> {
    try {
      using client = await this.#client(served.signal);
      if (!await this.#isDue(client.acme)) return await this.#forget();
      // Authorities count the orders that fail.
      if (this.#portFailure !== undefined && this.#isAlone()) return;
      await this.#order(client, served);
    } catch (error) {
      if (served.signal.aborted) return;
      await this.#fail(error);
    }
  }

  /** Returns true where no other instance could answer a challenge. */
  #isAlone(): boolean {
    return (this.#parts.store.shared?.instances.all.length ?? 1) < 2;
  }

  /** Forgets a failure of an order that is not needed any more, such as of a name that was removed. */
  async #forget(): Promise<void> {
    if (this.#failure === undefined) return;
    await removeOrderFailure(this.#parts.store);
    this.#failure = undefined;
  }

  /** Serves the stored certificate where it is another one. */
  async #take({ serve }: Served): Promise<void> {
    const found = await this.#read();
    if (found === undefined || found.stored.chain === this.#stored?.chain) return;
    serve(found.pair);
    this.#adopt(found.stored);
    log.info("Serving the certificate of {names}, which ends at {until}", {
      names: found.stored.names.join(", "),
      until: this.#until(),
    });
  }

  async #read(): Promise<{ stored: StoredCertificate; pair: Pair } | undefined> {
    const stored = await getCertificate(this.#parts.store);
    const key = stored && tryOpen(stored.key, this.#parts.secrets, CERTIFICATE_OWNER);
    return stored && key ? { stored, pair: { cert: stored.chain, key } } : undefined;
  }

  #adopt(stored: StoredCertificate): void {
    this.#leaf = readLeaf(stored.chain);
    this.#stored = stored;
  }

  async #isDue(client: () => Promise<AcmeClient>): Promise<boolean> {
    const { names, directory } = this.#settings;
    const stored = this.#stored;
    if (stored === undefined || this.#leaf === undefined) return true;
    if (names.some((name) => !stored.names.includes(name))) return true;
    // Nobody trusts that of an authority for trying things out.
    if (stored.directory !== directory) return true;
    return await this.#renewal.isDue(
      this.#leaf,
      async (id) => await (await client()).renewalInfo(id),
    );
  }

  async #order(client: Lazy, served: Served): Promise<void> {
    const { store, secrets } = this.#parts;
    const { names, directory, email, eab, dnsHook } = this.#settings;
    log.info("Ordering a certificate of {names} from {directory}", {
      names: names.join(", "),
      directory,
    });
    const acme = await client.acme();
    await acme.signUp({ email, eab });
    const key = newCertificateKey();
    const { signal } = served;
    const chain = await orderCertificate({
      client: acme,
      accountKey: client.key,
      names,
      key,
      prover: dnsHook === undefined ? httpProver(store) : dnsProver(dnsHook, signal),
      replaces: this.#stored?.directory === directory ? this.#leaf?.id : undefined,
      clock: this.#parts.clock,
      signal,
    });
    const leaf = readLeaf(chain);
    const sealed = secrets.seal(key, CERTIFICATE_OWNER);
    await putCertificate(store, { names: [...names], directory, chain, key: sealed });
    this.#failure = undefined;
    await this.#take(served);
    this.#expectTime(leaf);
  }

  /** @throws {AcmeError} when a new certificate is not valid now, as the clock of this machine says */
  #expectTime({ from_ms, until_ms, due_ms }: Leaf): void {
    const now_ms = this.#parts.clock.now();
    if (from_ms <= now_ms + CLOCKS_DIFFER_MS && now_ms < due_ms) return;
    const [from, until, now] = [from_ms, until_ms, now_ms].map((each) =>
      new Date(each).toISOString()
    );
    throw new AcmeError(
      `The new certificate is valid from ${from} to ${until}, and the clock of this machine says ${now}`,
      {
        advice: "Set the clock, such as by timedatectl set-ntp true",
        retryAfter_ms: WRONG_CLOCK_MS,
      },
    );
  }

  async #client(signal: AbortSignal): Promise<Lazy> {
    const { directory, ca } = this.#settings;
    const key = await this.#accountKey();
    return new Lazy(key, () => AcmeClient.open({ directory, ca, key, signal }));
  }

  async #accountKey(): Promise<AccountKey> {
    const { store, secrets } = this.#parts;
    const { directory } = this.#settings;
    const sealed = await getAccount(store, directory);
    const text = sealed && tryOpen(sealed, secrets, ACCOUNT_OWNER);
    // Only this function stores it.
    if (text) return JSON.parse(text) as AccountKey;
    const { privateKey } = await generateKeyPair("ES256", { extractable: true });
    // A key of this kind has these fields.
    const key = await exportJWK(privateKey) as AccountKey;
    await putAccount(store, directory, secrets.seal(JSON.stringify(key), ACCOUNT_OWNER));
    return key;
  }

  async #fail(error: unknown): Promise<void> {
    const now_ms = this.#parts.clock.now();
    const count = (this.#failure?.count ?? 0) + 1;
    const asked_ms = error instanceof AcmeError ? error.retryAfter_ms : 0;
    const wait_ms = Math.max(asked_ms, Math.min(RETRY_MS * 2 ** (count - 1), RETRY_MS_MAX));
    const failed_at = new Date(now_ms).toISOString();
    this.#failure = {
      since: this.#failure?.since ?? failed_at,
      count,
      detail: messageOf(error),
      failed_at,
      next_at: new Date(now_ms + wait_ms).toISOString(),
      is_asked: error instanceof AcmeError && error.type !== undefined && asked_ms > 0,
      directory: this.#settings.directory,
    };
    log.error("Cannot get a certificate: {error}. {state}. The next try is at {next}", {
      error: this.#failure.detail,
      state: this.#state(),
      next: this.#failure.next_at,
    });
    await putOrderFailure(this.#parts.store, this.#failure);
  }

  #state(): string {
    return this.#leaf === undefined
      ? "Until there is one, senders refuse the certificate that is served"
      : `The one that is served ends at ${this.#until()}`;
  }

  #until(): string {
    return new Date(this.#leaf?.until_ms ?? 0).toISOString();
  }
}

/** A client that reads the authority's directory when it is first needed. */
class Lazy implements Disposable {
  #opened: AcmeClient | undefined;

  constructor(readonly key: AccountKey, readonly open: () => Promise<AcmeClient>) {}

  readonly acme = async () => this.#opened ??= await this.open();

  [Symbol.dispose](): void {
    this.#opened?.[Symbol.dispose]();
  }
}
