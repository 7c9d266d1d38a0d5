/**
 * The secrets of a trigger, by names and fingerprints: those that are stored, and those in variables and files.
 *
 * @module
 */
import { basename } from "node:path";
import {
  resolveSecret,
  SECRET_FILE,
  secretEnd_ms,
  secretText,
  VARIABLE,
} from "../conditions/secret.ts";
import type { ConditionEnvironment } from "../conditions/condition.ts";
import { getStoredTrigger } from "../store/records/triggers.ts";
import type { Store } from "../store/store.ts";
import type { Mark } from "./secret_masks.ts";
import { mapShownElements, type Opened, openWhatOpens, type SecretBox } from "./secrets.ts";
import { triggerOf } from "./stored_trigger.ts";
import type { Trigger } from "./trigger.ts";

/** The places of secrets. */
export const SECRET_KINDS = ["stored", "variable", "file"] as const;

/** The states of secrets: only those that are usable can match. */
export const SECRET_STATES = ["usable", "missing", "locked", "ended"] as const;

/** A secret of a trigger. Its text is never shown. */
export interface ListedSecret {
  /** A JSON Pointer into the trigger. */
  pointer: string;
  /** The name that it was given; else that of its variable or file. */
  name?: string;
  kind: typeof SECRET_KINDS[number];
  /** The variable or the path of the file. */
  source?: string;
  /** Absent where the secret cannot be read. */
  fingerprint?: string;
  /** The time of its end. */
  until?: string;
  state: typeof SECRET_STATES[number];
}

/** Reads the secrets of a trigger; undefined when none has this id. */
export async function readSecrets(
  id: string,
  { store, secrets, mark, context: { env, clock } }: {
    store: Store;
    secrets: SecretBox;
    mark: Mark;
    context: Pick<ConditionEnvironment, "env" | "clock">;
  },
): Promise<ListedSecret[] | undefined> {
  const stored = await getStoredTrigger(store, id);
  if (stored === undefined) return undefined;
  const opened = openWhatOpens(triggerOf(stored), secrets, id);
  return listSecrets(opened, { mark, env, now_ms: clock.now() });
}

/** Lists the secrets of a trigger, in the order in which they stand there. */
function listSecrets(
  { value: trigger, locked }: Opened<Trigger>,
  { mark, env, now_ms }: {
    mark: Mark;
    env(name: string): string | undefined;
    now_ms: number;
  },
): ListedSecret[] {
  const found: ListedSecret[] = [];
  mapShownElements(trigger, (element, pointer) => {
    const setting = typeof element === "object" ? Object(element) : String(element);
    const written = secretText(setting);
    const { name = undefined, until = undefined } = Object(setting);
    const variable = VARIABLE.exec(written)?.[1];
    const file = SECRET_FILE.exec(written)?.[1];
    const source = variable ?? file;
    const isLocked = locked.some((at) => at === pointer || at.startsWith(`${pointer}/`));
    const text = isLocked ? undefined : resolveSecret(written, env);
    const shownName = name ?? variable ?? (file && basename(file));
    found.push({
      pointer,
      ...(shownName !== undefined && { name: shownName }),
      kind: variable !== undefined ? "variable" : file !== undefined ? "file" : "stored",
      ...(source !== undefined && { source }),
      ...(text && { fingerprint: mark(text) }),
      ...(until !== undefined && { until }),
      state: isLocked
        ? "locked"
        : !text
        ? "missing"
        : secretEnd_ms(setting) <= now_ms
        ? "ended"
        : "usable",
    });
    return element;
  });
  return found;
}
