/**
 * Masks of secrets. A literal is shown as `{ name, fingerprint, value: "********" }`. Written back, it stands for
 * the stored secret: by its name, or by its fingerprint. Places in the list mean nothing.
 *
 * @module
 */
import { SECRET_MASK } from "../conditions/secret.ts";
import { InvalidInputError, type Problem } from "../platform/errors.ts";
import { hideUserInfo } from "../platform/network/urls.ts";
import { childOf, pointerParts } from "../platform/schema/pointer.ts";
import { isReference, mapShownElements, type Opened } from "./secrets.ts";

/** A pointer to an element of a list of secrets, or to a single one: the object that holds it. */
const SECRETS_POINTER = /^(.*)\/secrets?(?:\/\d+)?$/s;

/** An element of a list of secrets, in the form of an object. */
interface Element {
  value: unknown;
  name?: unknown;
  until?: unknown;
  fingerprint?: unknown;
}

/** Makes the fingerprint of a secret. */
export type Mark = (secret: string) => string;

/**
 * Puts the mask in place of the literal secrets of a value, each with its name and fingerprint.
 *
 * @param locked pointers to secrets that cannot be decrypted, and have no fingerprint
 */
export function maskSecrets<T>(value: T, mark: Mark, locked: readonly string[] = []): T {
  return mapShownElements(value, (element, at) => {
    const { value: secret, ...others } = asObject(element);
    // A mask is shown as it was sent.
    if (typeof secret !== "string" || secret === SECRET_MASK) return element;
    if (isReference(secret)) return compact({ ...others, value: secret });
    const isLocked = locked.some((each) => each === at || each.startsWith(`${at}/`));
    return { ...others, ...(isLocked ? {} : { fingerprint: mark(secret) }), value: SECRET_MASK };
  });
}

/** Brings the secrets of a value into the form in which they are compared and stored. */
export function normalSecrets<T>(value: T): T {
  return mapShownElements(value, (element) => {
    const { fingerprint: _, ...others } = asObject(element);
    return typeof others.value === "string" ? compact(others) : element;
  });
}

/**
 * Puts stored secrets back where a new version of a value has the mask. The mask stands for a secret of the
 * stored condition with the same settings, first of one at the same place; otherwise of the condition of the
 * same type at the same place. There it stands for the secret of its name, or else of its fingerprint; without
 * both, for the only one. Two masks of a list do not stand for the same secret. None stands for a secret that
 * would go to a server that does not have it: nobody reads a stored secret, so nobody may send it elsewhere.
 *
 * @param stored the stored value, its secrets in clear; undefined when there is none
 * @throws {InvalidInputError} where the mask stands for no secret, for several, or for a locked one
 */
export function unmaskSecrets<T>(
  value: T,
  stored: Opened<unknown> | undefined,
  { what, mark, receiversOf }: { what: string; mark: Mark; receiversOf: ReceiversOf },
): T {
  const lists = stored === undefined
    ? new Map<string, StoredSecret[]>()
    : storedLists(stored, mark, receiversOf);
  const problems: Problem[] = [];
  const taken = new Map<string, StoredSecret[]>();
  const unmasked = mapShownElements(value, (element, at) => {
    const { value: secret, fingerprint, ...others } = asObject(element);
    if (typeof secret !== "string") return element;
    if (secret !== SECRET_MASK) return compact({ ...others, value: secret });
    const inList = taken.getOrInsertComputed(holderOf(at), () => []);
    const receivers = receiversOf(value, at);
    const mask = { name: others.name, fingerprint, receivers, taken: inList };
    const found = findStored(lists, namesOf(value, at), mask);
    if (typeof found !== "string") {
      inList.push(found);
      return compact({ ...others, value: found.secret });
    }
    problems.push({
      pointer: at,
      detail: `Expected a secret, found ${SECRET_MASK}, which stands for a stored one: ${found}`,
    });
    return element;
  });
  if (problems.length > 0) throw new InvalidInputError(what, problems);
  return unmasked;
}

/** Returns the origins that get the secret at a pointer into a trigger. */
type ReceiversOf = (trigger: unknown, at: string) => readonly string[];

/** A stored literal. */
interface StoredSecret {
  secret: string;
  name: unknown;
  /** The origins that get it. */
  receivers: readonly string[];
  /** Undefined for a secret that cannot be decrypted. */
  fingerprint: string | undefined;
}

function storedLists(
  { value, locked }: Opened<unknown>,
  mark: Mark,
  receiversOf: ReceiversOf,
): Map<string, StoredSecret[]> {
  const lists = new Map<string, StoredSecret[]>();
  const byHolder = new Map<string, StoredSecret[]>();
  mapShownElements(value, (element, at) => {
    const { value: secret, name } = asObject(element);
    if (typeof secret !== "string" || isReference(secret)) return element;
    const isLocked = locked.some((each) => each === at || each.startsWith(`${at}/`));
    const holderAt = holderOf(at);
    const list = byHolder.getOrInsertComputed(holderAt, () => []);
    const fingerprint = isLocked ? undefined : mark(secret);
    list.push({ secret, name, receivers: receiversOf(value, at), fingerprint });
    for (const holder of namesOf(value, at)) lists.set(holder, list);
    return element;
  });
  return lists;
}

/** A mask that was sent. */
interface Mask {
  name: unknown;
  fingerprint: unknown;
  /** The origins that would get what it stands for. */
  receivers: readonly string[];
  /** The secrets that others of its list stand for. */
  taken: readonly StoredSecret[];
}

/** Returns the stored secret that a mask stands for, or the reason why there is none. */
function findStored(
  lists: ReadonlyMap<string, readonly StoredSecret[]>,
  holders: readonly string[],
  mask: Mask,
): StoredSecret | string {
  let why = "none is stored here. Send the secret itself";
  for (const holder of holders) {
    const list = lists.get(holder);
    if (list === undefined) continue;
    const meant = meantBy(mask, list);
    const free = meant.find((one) => !mask.taken.includes(one));
    const stranger = mask.receivers.find((each) => free && !free.receivers.includes(each));
    if (stranger !== undefined) {
      why = `the one that is stored does not go to ${
        hideUserInfo(stranger)
      }. Send the secret itself`;
      continue;
    }
    if (free?.fingerprint !== undefined) return free;
    if (free !== undefined) return "it cannot be decrypted with this key. Send the secret itself";
    why = meant.length > 0
      ? "another one in this list stands for it already"
      : whyNone(list.length, mask);
  }
  return why;
}

/** Returns the stored secrets of a list that a mask can stand for. */
function meantBy({ name, fingerprint }: Mask, list: readonly StoredSecret[]): StoredSecret[] {
  const named = list.filter((one) => name !== undefined && one.name === name);
  if (named.length > 0) return named;
  if (name === undefined && fingerprint === undefined) return list.length === 1 ? [...list] : [];
  return list.filter((one) => fingerprint !== undefined && one.fingerprint === fingerprint);
}

function whyNone(count: number, { name, fingerprint }: Mask): string {
  if (name !== undefined) return `none is named "${name}". Send the secret itself`;
  if (fingerprint !== undefined) {
    return `none has the fingerprint "${fingerprint}". Send the secret itself`;
  }
  return `${count} are stored. Send its name or its fingerprint with it, or the secret itself`;
}

function holderOf(at: string): string {
  return SECRETS_POINTER.exec(at)?.[1] ?? "";
}

/** The names of a list, best first: by its place, and by the other settings of its condition. */
function namesOf(value: unknown, at: string): string[] {
  const holderAt = holderOf(at);
  const { secrets: _, secret: _single, ...others } = Object(
    pointerParts(holderAt).reduce(childOf, value),
  );
  const settings = JSON.stringify(Object.entries(others).sort(([a], [b]) => a < b ? -1 : 1));
  return [
    `same settings and place: ${holderAt} ${settings}`,
    `same settings: ${settings}`,
    `same place and type: ${holderAt} ${others.type}`,
  ];
}

function asObject(element: unknown): Element {
  if (typeof element !== "object" || element === null) return { value: element };
  const { secret, ...others }: { secret?: unknown; value?: unknown } = element;
  return { ...others, value: others.value ?? secret };
}

/** A secret without a name and an end date is a text. */
function compact(element: Element): unknown {
  const isPlain = element.name === undefined && element.until === undefined;
  return isPlain ? element.value : element;
}
