/**
 * The triggers of a database: read, changed, and kept ready for launches. A change takes effect on the
 * next request, since everything that changes a trigger goes through here.
 *
 * @module
 */
import type { ConditionEnvironment } from "../conditions/condition.ts";
import { InvalidInputError, NotFoundError } from "../platform/errors.ts";
import { newId } from "../platform/ids.ts";
import { expectNewName } from "../platform/new_name.ts";
import { evictOldest } from "../platform/evict_oldest.ts";
import { childOf } from "../platform/schema/pointer.ts";
import { parseInput } from "../platform/schema/nulls.ts";
import type { Listed } from "../store/read/lists.ts";
import { getProject } from "../store/records/projects.ts";
import { RECORD_BYTES_MAX, recordBytes } from "../store/records/record_size.ts";
import type { Store } from "../store/store.ts";
import {
  allStoredTriggers,
  deleteStoredTrigger,
  getStoredTrigger,
  listStoredTriggers,
  putStoredTrigger,
  type StoredTrigger,
} from "../store/records/triggers.ts";
import { countLocked, type LockedTriggers } from "./count_locked.ts";
import { countMissing, type MissingSecrets } from "./count_missing.ts";
import type { PreparedTrigger } from "./prepare.ts";
import {
  type Opened,
  openWhatOpens,
  sealSecrets,
  type SecretBox,
  withSealedActions,
} from "./secrets.ts";
import type { ListedSecret } from "./list_secrets.ts";
import { expectRevision, isSame, nameAt, type SaveOptions, settingsOf } from "./revision.ts";
import { type Mark, maskSecrets, unmaskSecrets } from "./secret_masks.ts";
import type { SharedSecrets } from "./shared_secrets.ts";
import { expectNewId, historyOf, type Labels, labelsOf, triggerOf } from "./stored_trigger.ts";
import type { Trigger, TriggerSettings } from "./trigger.ts";

/** The prepared triggers that are kept in memory; the least recently used goes first. */
const PREPARED_MAX = 20_000;

/** The parts of the service that a registry uses. */
export interface RegistryParts {
  store: Store;
  secrets: SecretBox;
  context: ConditionEnvironment;
  /** The longest payload that the service takes, in bytes; without it, no payload is too long. */
  payloadBytesMax?: number;
  /** Called with each trigger that was changed, or with undefined when any may have been. */
  onChange?(id: string | undefined): void;
}

/** Options of the check of a new version. */
interface Check extends Pick<SaveOptions, "authorize" | "onWarnings"> {
  /** The fields that are not checked: they hold secrets that cannot be decrypted. */
  kept?: readonly string[];
}

/** The triggers of a database. */
export class TriggerRegistry {
  readonly #parts: RegistryParts;
  readonly #prepared = new Map<string, PreparedTrigger>();
  /** The triggers that are being read. Requests for the same one share the result. */
  readonly #preparing = new Map<string, Promise<PreparedTrigger | undefined>>();
  /** The latest change. Changes are made one after the other, so that two cannot take the same name. */
  #lastChange: Promise<unknown> = Promise.resolve();
  #shared: SharedSecrets | undefined;

  constructor(parts: RegistryParts) {
    this.#parts = parts;
    // Another instance may change triggers, too.
    parts.store.shared?.triggers.onChange((id) => {
      if (id === undefined) {
        this.forgetPrepared();
        this.#shared?.forget();
        parts.onChange?.(undefined);
      } else this.#forget(id);
    });
  }

  /** Drops what is ready for launches: each trigger reads its secrets again with its next request. */
  forgetPrepared(): void {
    this.#prepared.clear();
    this.#preparing.clear();
  }

  /** Returns a trigger that is ready for launches; undefined when none has this id. */
  prepared(id: string): PreparedTrigger | undefined | Promise<PreparedTrigger | undefined> {
    const known = this.#prepared.get(id);
    const now_ms = this.#parts.context.clock.now();
    if (
      known === undefined || known.until_ms <= now_ms || known.secretFiles.haveChanged(now_ms)
    ) {
      return this.#preparing.get(id) ?? this.#prepare(id);
    }
    if (this.#prepared.size >= PREPARED_MAX) {
      this.#prepared.delete(id);
      this.#prepared.set(id, known);
    }
    return known;
  }

  /** Returns a trigger that is ready for launches in memory; undefined when it is not. */
  inMemory(id: string): Trigger | undefined {
    return this.#prepared.get(id)?.trigger;
  }

  /** Returns the name and the project of a trigger; undefined when there is none of this id. */
  async labelsOf(id: string): Promise<Labels | undefined> {
    const known = this.inMemory(id);
    if (known !== undefined) return labelsOf(known);
    const stored = await getStoredTrigger(this.#parts.store, id);
    return stored && labelsOf(triggerOf(stored));
  }

  /** Returns true when a trigger is still as it was prepared; false also when that is no longer known. */
  isCurrent(prepared: PreparedTrigger): boolean {
    return this.#prepared.get(prepared.trigger.id) === prepared &&
      prepared.until_ms > this.#parts.context.clock.now();
  }

  /** Reads a trigger as the API shows it, secrets masked; undefined when none has this id. */
  async get(id: string): Promise<Trigger | undefined> {
    const stored = await getStoredTrigger(this.#parts.store, id);
    return stored && this.#shown(stored);
  }

  /** Lists the secrets of a trigger, without their texts; undefined when none has this id. */
  async secretsOf(id: string): Promise<ListedSecret[] | undefined> {
    const { readSecrets } = await import("./list_secrets.ts");
    return await readSecrets(id, { ...this.#parts, mark: this.#markOf(id) });
  }

  /** Reads a page of triggers as the API shows them, oldest first. */
  async list(
    page: { after?: string | undefined; limit: number },
  ): Promise<Listed<Trigger>> {
    const { records, next } = await listStoredTriggers(this.#parts.store, page);
    return { records: records.map((stored) => this.#shown(stored)), next };
  }

  /** Reads all triggers as the API shows them, oldest first. */
  async *all(): AsyncGenerator<Trigger> {
    for await (const stored of allStoredTriggers(this.#parts.store)) {
      yield this.#shown(stored);
    }
  }

  /**
   * Creates a trigger.
   *
   * @param value the trigger as its owner wrote it
   * @throws {InvalidInputError} with everything that is wrong with it
   * @throws {ConflictError} when its name or its id is taken
   */
  create(
    value: unknown,
    { isDryRun = false, author, file, ...options }: SaveOptions = {},
  ): Promise<Trigger> {
    return this.#change(async () => {
      const settings = await this.#check(value, undefined, options);
      await this.#compareSecrets(settings, undefined, options);
      const now_ms = this.#parts.context.clock.now();
      const id = settings.id ?? newId(now_ms);
      await expectNewId(this.#parts.store, id);
      const now = new Date(now_ms).toISOString();
      const made = {
        created_at: now,
        updated_at: now,
        created_by: author,
        updated_by: author,
        file,
      };
      const trigger = { ...settings, id, ...historyOf(made), revision: 1 };
      return isDryRun ? this.#masked(trigger) : await this.#put(trigger);
    });
  }

  /**
   * Replaces a trigger. A version that is the same as the stored one changes nothing.
   *
   * @param change makes the new version from the stored one, its secrets masked. A field that it returns
   * as the very same object was not written: secrets in it that cannot be decrypted stay as they are
   * @throws {NotFoundError} when there is no trigger of this id
   * @throws {ChangedError} when it has another revision, with the differences of the two versions
   * @throws {InvalidInputError} with everything that is wrong with the new version
   * @throws {ConflictError} when its name is taken
   */
  update(
    id: string,
    change: (current: Trigger) => unknown,
    { expected, isDryRun = false, author, file, ...options }: SaveOptions = {},
  ): Promise<Trigger> {
    return this.#change(async () => {
      const stored = await this.#stored(id);
      const opened = openWhatOpens(triggerOf(stored), this.#parts.secrets, id);
      const { value: current } = opened;
      const shown = this.#masked(current, opened.locked);
      const written = change(shown);
      await expectRevision(shown, expected, { written, mark: this.#markOf(id) });
      const kept = opened.locked.map(nameAt)
        .filter((name) => childOf(written, name) === childOf(shown, name));
      const locked = opened.locked.filter((at) => !kept.includes(nameAt(at)));
      const settings = await this.#check(written, { value: current, locked }, { ...options, kept });
      const owner = isDryRun ? undefined : file;
      if (isSame(settings, current)) return await this.#owned(shown, stored, owner);
      await this.#compareSecrets(settings, id, options);
      const updated_at = new Date(this.#parts.context.clock.now()).toISOString();
      const revision = shown.revision + 1;
      const moved_at = settings.project === current.project ? stored.moved_at : updated_at;
      const saved = { updated_at, moved_at, updated_by: author, file: file ?? stored.file };
      const trigger = { ...settings, id, ...historyOf({ ...stored, ...saved }), revision };
      if (isDryRun) return this.#masked(trigger);
      const sealed = kept.map((name) => [name, childOf(stored.settings, name)] as const);
      const unread = opened.locked.filter((at) => kept.includes(nameAt(at)));
      return await this.#put(trigger, Object.fromEntries(sealed), unread);
    });
  }

  /**
   * Deletes a trigger.
   *
   * @throws {NotFoundError} when there is no trigger of this id
   * @throws {ChangedError} when it has another revision
   */
  delete(id: string, { expected }: Pick<SaveOptions, "expected"> = {}): Promise<void> {
    return this.#change(async () => {
      const stored = await this.#stored(id);
      await expectRevision(triggerOf(stored), expected);
      const { project } = triggerOf(stored);
      const former = {
        project,
        deleted_at: new Date(this.#parts.context.clock.now()).toISOString(),
      };
      await deleteStoredTrigger(this.#parts.store, stored, former)
        .finally(() => this.#forget(id));
    });
  }

  /** Runs a function while no trigger changes. */
  between<T>(act: () => Promise<T>): Promise<T> {
    return this.#change(act);
  }

  /** Counts the triggers, and those with secrets that cannot be decrypted with this key. */
  countLocked(): Promise<LockedTriggers> {
    return countLocked(this.#parts);
  }

  /** Counts the triggers with secrets that the service does not have. */
  countMissing(): Promise<MissingSecrets> {
    return countMissing(this.#parts.store, this.#parts.context);
  }

  async #prepare(id: string): Promise<PreparedTrigger | undefined> {
    const preparing = this.#readPrepared(id);
    this.#preparing.set(id, preparing);
    try {
      const prepared = await preparing;
      // Otherwise it was changed meanwhile, and this may be the version before.
      if (prepared && this.#preparing.get(id) === preparing) {
        this.#prepared.set(id, prepared);
        evictOldest(this.#prepared, PREPARED_MAX);
      }
      return prepared;
    } finally {
      if (this.#preparing.get(id) === preparing) this.#preparing.delete(id);
    }
  }

  async #readPrepared(id: string): Promise<PreparedTrigger | undefined> {
    const { store, secrets, context, payloadBytesMax = Infinity } = this.#parts;
    const stored = await getStoredTrigger(store, id);
    if (stored === undefined) return undefined;
    const sealed = triggerOf(stored);
    const { value: opened, locked } = openWhatOpens(sealed, secrets, id);
    const actions = [...withSealedActions(opened.actions, sealed.actions)];
    const trigger = { ...opened, actions };
    const { prepareTrigger } = await import("./prepare.ts");
    return await prepareTrigger(trigger, context, { lockedSecrets: locked, payloadBytesMax });
  }

  /** Drops all that was read of a trigger before it changed. */
  #forget(id: string): void {
    this.#prepared.delete(id);
    this.#preparing.delete(id);
    this.#shared?.note(id);
    this.#parts.onChange?.(id);
  }

  /** Warns of secrets of a trigger that is saved and that others have, too. */
  async #compareSecrets(settings: TriggerSettings, id: string | undefined, options: SaveOptions) {
    const { onSharedSecrets } = options;
    if (onSharedSecrets === undefined) return;
    const { SharedSecrets } = await import("./shared_secrets.ts");
    const { store, secrets, context } = this.#parts;
    this.#shared ??= new SharedSecrets({ store, secrets, env: (name) => context.env(name) });
    onSharedSecrets(await this.#shared.warnings(settings, id));
  }

  async #check(
    value: unknown,
    current: Opened<Trigger> | undefined,
    { kept = [], authorize, onWarnings }: Check = {},
  ): Promise<TriggerSettings> {
    const { triggerSchema } = await import("./trigger.ts");
    const parsed = parseInput(triggerSchema, value, "the trigger");
    await authorize?.(parsed, current?.value);
    if (parsed.name !== current?.value.name) expectNewName("the trigger", parsed.name);
    if (current && parsed.id !== undefined && parsed.id !== current.value.id) {
      throw new InvalidInputError("the trigger", [{
        pointer: "/id",
        detail:
          `Expected "${current.value.id}", found "${parsed.id}": the id of a trigger cannot change`,
      }]);
    }
    const mark = this.#markOf(current?.value.id ?? "");
    const unwritten = kept.map((name) => [name, childOf(current?.value, name)]);
    const written = { ...parsed, ...Object.fromEntries(unwritten) };
    const { receiversOf } = await import("./secret_receivers.ts");
    const settings = unmaskSecrets(written, current, { what: "the trigger", mark, receiversOf });
    const { reviewSave } = await import("./review.ts");
    if (!kept.includes("conditions")) {
      const { env, clock } = this.#parts.context;
      onWarnings?.(reviewSave(settings, current?.value, { env, now_ms: clock.now() }));
    }
    const { checkMaxPayload } = await import("./max_payload.ts");
    checkMaxPayload(settings.max_payload, this.#parts.payloadBytesMax);
    if (!await getProject(this.#parts.store, settings.project)) {
      throw new InvalidInputError("the trigger", [{
        pointer: "/project",
        detail: `Expected the name of a project, found "${settings.project}", which does not exist`,
      }]);
    }
    return settings;
  }

  /**
   * @param sealed the fields that stay as they are stored
   * @param locked pointers to the secrets in them that cannot be decrypted
   */
  async #put(
    trigger: Trigger,
    sealed: Record<string, unknown> = {},
    locked: readonly string[] = [],
  ): Promise<Trigger> {
    const { store, secrets } = this.#parts;
    const { id, name, revision } = trigger;
    const settings = { ...sealSecrets(settingsOf(trigger), secrets, id), ...sealed };
    const record = { id, name, ...historyOf(trigger), revision, settings };
    const bytes = recordBytes(record);
    if (bytes > RECORD_BYTES_MAX) {
      throw new InvalidInputError(
        "the trigger",
        `Expected at most ${RECORD_BYTES_MAX} bytes in all, found ${bytes}`,
      );
    }
    await putStoredTrigger(store, record).finally(() => this.#forget(id));
    return this.#masked(trigger, locked);
  }

  /** Stores that a file owns a trigger which is as the file has it. Its revision stays. */
  async #owned(shown: Trigger, stored: StoredTrigger, file: string | undefined): Promise<Trigger> {
    if (file === undefined || file === stored.file) return shown;
    const owned = { ...stored, file };
    await putStoredTrigger(this.#parts.store, owned).finally(() => this.#forget(owned.id));
    return { ...shown, file };
  }

  /** Shows a stored trigger. */
  #shown(stored: StoredTrigger): Trigger {
    const { value, locked } = openWhatOpens(triggerOf(stored), this.#parts.secrets, stored.id);
    return this.#masked(value, locked);
  }

  #masked(trigger: Trigger, locked: readonly string[] = []): Trigger {
    return maskSecrets(trigger, this.#markOf(trigger.id), locked);
  }

  #markOf(id: string): Mark {
    return (secret) => this.#parts.secrets.mark(secret, id);
  }

  async #stored(id: string): Promise<StoredTrigger> {
    const stored = await getStoredTrigger(this.#parts.store, id);
    if (stored === undefined) throw new NotFoundError(`There is no trigger of the id ${id}`);
    return stored;
  }

  async #change<T>(make: () => Promise<T>): Promise<T> {
    const result = this.#lastChange.then(make);
    this.#lastChange = result.catch(() => {});
    return await result;
  }
}
