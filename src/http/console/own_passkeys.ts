/**
 * The passkeys that rest on what a session rests on: a token, or a person at an identity provider.
 *
 * @module
 */
import type { PasskeyParts } from "../../logins/passkeys.ts";
import { InvalidInputError, NotFoundError } from "../../platform/errors.ts";
import {
  type CopiedPasskeyError,
  grantOfPasskey,
  hasSameGrounds,
  relyingParty,
} from "../../logins/passkey.ts";
import { authorFrom, writeAudit } from "../../store/records/audit.ts";
import { changesBetween } from "../../store/records/audit_changes.ts";
import {
  betweenPasskeys,
  getPasskey,
  type ListedPasskey,
  listPasskeys,
  passkeyKey,
  putPasskey,
  removePasskey,
} from "../../store/records/passkeys.ts";
import type { Authenticated } from "../api/auth.ts";
import type { GrantCheck } from "../api/grants.ts";

/** The length of a passkey's id. */
const ID_LENGTH = 16;
const NAME = /^[^\p{C}]{1,64}$/u;

/** The session whose passkeys these are. */
type OwnSession = Pick<Authenticated, "access" | "grant" | "remoteIp">;

/** A passkey that a browser has made. */
interface MadePasskey {
  name: string;
  /** The name of who uses it; not looked at where that is known. */
  owner: string;
  credential: string;
  challenge: string;
}

/** The passkeys of a session. Each change is in the audit log. */
export class OwnPasskeys {
  readonly #parts: PasskeyParts;
  readonly #session: OwnSession;

  constructor(parts: PasskeyParts, session: OwnSession) {
    this.#parts = parts;
    this.#session = session;
  }

  /** False where browsers make no passkeys: for an IP address. */
  get isPossible(): boolean {
    return relyingParty(this.#parts.baseUrl()) !== undefined;
  }

  /** Lists them. */
  async list(): Promise<ListedPasskey[]> {
    const all = await listPasskeys(this.#parts.store);
    return all.filter((each) => hasSameGrounds(each, this.#session.grant));
  }

  /** Returns the name of who uses the session; undefined where it has been opened with a token, which tells none. */
  async owner(): Promise<string | undefined> {
    const { grant, access } = this.#session;
    if (grant.person !== undefined) return access.name;
    return grant.passkey && (await getPasskey(this.#parts.store, grant.passkey))?.owner;
  }

  /** Returns the options with which the browser makes one. */
  async begin(): Promise<object> {
    const { grant, access } = this.#session;
    const { beginAdding } = await import("../../logins/passkeys.ts");
    return await beginAdding(this.#parts, { grant, name: await this.owner() ?? access.name });
  }

  /**
   * Adds one.
   *
   * @throws {InvalidInputError} when a name is missing
   * @throws {PasskeyError} when the browser's answer is not right, or too late
   */
  async add({ name, owner, credential, challenge }: MadePasskey): Promise<void> {
    const { grant } = this.#session;
    const { addPasskey } = await import("../../logins/passkeys.ts");
    const whose = await this.owner() ?? named(owner, "your name");
    const made = { grant, name: named(name, "the name of the passkey"), owner: whose };
    const passkey = await addPasskey(this.#parts, { ...made, credential, challenge });
    const id = passkeyKey(passkey.credential).slice(0, ID_LENGTH);
    await this.#audit("addPasskey", id, undefined, { name: passkey.name, owner: passkey.owner });
  }

  /** Gives one another name. */
  async rename(id: string, written: string): Promise<void> {
    const name = named(written, "the name of the passkey");
    const before = await betweenPasskeys(async () => {
      const { id: _, ...passkey } = await this.#own(id);
      await putPasskey(this.#parts.store, { ...passkey, name });
      return { name: passkey.name };
    });
    await this.#audit("renamePasskey", id, before, { name });
  }

  /** Removes one: it opens nothing from then on. */
  async remove(id: string): Promise<void> {
    const { name, owner } = await this.#own(id);
    await removePasskey(this.#parts.store, id);
    await this.#audit("removePasskey", id, { name, owner }, undefined);
  }

  async #own(id: string): Promise<ListedPasskey> {
    const found = (await this.list()).find((each) => each.id === id);
    if (found === undefined) throw new NotFoundError(`You have no passkey of the id ${id}`);
    return found;
  }

  async #audit(operation: string, id: string, before: unknown, after: unknown): Promise<void> {
    const { store, clock } = this.#parts;
    const { access, remoteIp } = this.#session;
    const changes = changesBetween(before, after);
    const about = { author: authorFrom(access), remote_ip: remoteIp, operation };
    await writeAudit(store, { ...about, path: `/passkeys/${id}/`, changes }, clock.now());
  }
}

/** Writes into the audit log that a passkey was refused, as it may have been copied: in the name of its owner. */
export async function auditCopy(
  { store, clock, checkGrant }: Pick<PasskeyParts, "store" | "clock"> & { checkGrant: GrantCheck },
  { passkey, counter }: CopiedPasskeyError,
  remote_ip: string,
): Promise<void> {
  const access = await checkGrant(grantOfPasskey(passkey), { isUse: false });
  const author = access === undefined ? { name: passkey.owner } : authorFrom(access);
  const { name, owner } = passkey;
  const about = { author, remote_ip, operation: "refuseCopiedPasskey" };
  const path = `/passkeys/${passkeyKey(passkey.credential).slice(0, ID_LENGTH)}/`;
  const changes = changesBetween(undefined, {
    name,
    owner,
    counter,
    expected: passkey.counter + 1,
  });
  await writeAudit(store, { ...about, path, changes }, clock.now());
}

function named(written: string, what: string): string {
  const name = written.trim();
  if (NAME.test(name)) return name;
  throw new InvalidInputError(what, "Expected 1 to 64 characters that can be seen");
}
