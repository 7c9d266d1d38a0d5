/**
 * The leader's part of a service: it applies the configuration, performs the work, and makes operators' changes.
 * Without other instances, the only one does so from its start.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { messageOf } from "../platform/errors.ts";
import { GONE_MS } from "../store/commit/instance_limits.ts";
import { lead } from "../store/kv_store.ts";
import { createToken, hasTokens } from "../store/records/tokens.ts";
import type { Leading, Place } from "../http/forward.ts";
import type { Parts } from "./composition.ts";

/** An instance that has been silent for so long is not asked for files. */
const SILENT_MS = 5_000;

const log = getLogger(["hooklaunch"]);

/** Prepares a service for its work, such as by applying its configuration. */
export type Prepare = (parts: Parts) => Promise<void>;

/** The leader's part of one service. */
export class Leadership implements Leading {
  readonly #parts: Parts;
  readonly #prepare: Prepare;
  #isHere = false;

  constructor(parts: Parts, prepare: Prepare) {
    this.#parts = parts;
    this.#prepare = prepare;
  }

  /** True when this instance leads, and has begun with its work. */
  get isHere(): boolean {
    return this.#isHere;
  }

  /**
   * The address of the leader as other instances reach it; undefined when it is not known, and while this instance
   * leads: it sends nothing to itself before it has begun.
   */
  get url(): string | undefined {
    const { shared } = this.#parts.store;
    return shared?.instances.isLeader ? undefined : shared?.instances.leader?.url;
  }

  get canRead(): boolean {
    return this.#parts.store.shared?.instances.obstacle === undefined;
  }

  /**
   * Returns the instance that has the files of an execution, or will know who has them; undefined when it is silent, or
   * is not needed.
   */
  async placeOf(executionId: string): Promise<Place | undefined> {
    const { engines, store: { shared } } = this.#parts;
    const { machine, isComing } = await engines.filesOf(executionId);
    if (shared === undefined) return undefined;
    if (isComing && !shared.instances.isLeader) return { isHere: false, url: this.url };
    if (machine === undefined) return undefined;
    if (machine === shared.machineId) return { isHere: true, url: undefined };
    const there = shared.instances.all.find(({ machine_id, url, silent_ms }) =>
      machine_id === machine && url !== undefined && silent_ms < SILENT_MS
    );
    return there && { isHere: false, url: there.url };
  }

  isGone(url: string, silent_ms = GONE_MS): boolean {
    const all = this.#parts.store.shared?.instances.all ?? [];
    return !all.some((each) => each.url === url && each.silent_ms < silent_ms);
  }

  /**
   * Resolves when this instance accepts launches: when it leads, or when it follows and another one leads.
   *
   * @throws {unknown} when it cannot lead
   */
  async begin(): Promise<void> {
    const { store, closing, worker, engines, keptRequests, notifications } = this.#parts;
    const { shared } = store;
    if (shared === undefined) return await this.#work();
    const { instances } = shared;
    instances.isStarting = true;
    instances.load = () => ({ ...worker.load(), executionsWait: engines.wantRoom });
    instances.onAccepted = (count) => worker.acceptedElsewhere(count);
    instances.onLeft = () => this.takeOver();
    store.refreshNotifiers = () => notifications.refresh();
    const leading = this.#lead();
    const begun = await Promise.race([
      leading.then(() => "leading"),
      instances.serving(closing.signal).then(() => "following"),
    ]);
    const isLeading = begun === "leading" || instances.isLeader;
    if (isLeading) await leading;
    instances.isStarting = false;
    if (isLeading) return;
    log.info("Following: another instance leads");
    keptRequests.follow();
    const following = instances.takeMachine().then(() => void this.#parts.engines.resume());
    Promise.all([leading, following]).catch((error) => {
      if (closing.signal.aborted) return;
      log.error("The service ends: {error}", { error: messageOf(error) });
      shared.lanes.fence();
    });
  }

  /** Takes over what instances that are gone have left. Returns at once. */
  takeOver(): void {
    const { worker, httpRequests, store: { shared }, settings: { performs } } = this.#parts;
    worker.claim();
    if (shared === undefined || !this.#isHere || performs === false) return;
    httpRequests.takeOver().catch((error) =>
      log.error("Cannot take over HTTP requests, trying again within a minute: {error}", {
        error: messageOf(error),
      })
    );
  }

  async #lead(): Promise<void> {
    const { settings, store, closing, replays, metrics } = this.#parts;
    await lead(store, settings.kv ?? settings.data);
    if (closing.signal.aborted) return;
    await this.#work();
    await replays.start();
    metrics.leads();
    log.info("Leading: this instance performs the work");
  }

  async #work(): Promise<void> {
    const { settings, store, engines, pipelines, httpRequests, worker } = this.#parts;
    const { keptRequests, notifications, closing } = this.#parts;
    await this.#prepare(this.#parts);
    await store.shared?.instances.takeMachine();
    if (settings.performs !== false) {
      // Before any work: what ends is told.
      await notifications.start();
      await engines.start();
      await pipelines.start();
      await httpRequests.takeOver();
      await this.#parts.callbacks.start();
      await worker.start();
      await this.#parts.scheduler.start();
    }
    keptRequests.start(closing.signal);
    this.#isHere = true;
  }
}

/** Makes a token where there is none. */
export async function firstToken(
  { store, settings: { adminToken }, clock }: Parts,
): Promise<string | undefined> {
  if (adminToken !== undefined || await hasTokens(store)) return undefined;
  return await createToken(store, {
    name: "first",
    created_at: new Date(clock.now()).toISOString(),
  });
}
