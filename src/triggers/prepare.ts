/**
 * Prepares a trigger for launches: parses keys and expressions, and puts its checks in order.
 *
 * @module
 */
import type { ConditionEnvironment } from "../conditions/condition.ts";
import { maskedFieldsOf } from "../conditions/masked_body.ts";
import { type DecodeRequest, requestDecoder } from "../conditions/decoding/decode.ts";
import type { CredentialField } from "../conditions/field.ts";
import type { Condition } from "../conditions/mod.ts";
import type { PreparedHandshake } from "../conditions/handshake/prepare.ts";
import { prepareConditions } from "../conditions/prepare.ts";
import {
  isSecret,
  resolveSecrets,
  secretEnd_ms,
  type Secrets,
  type SecretSetting,
} from "../conditions/secret.ts";
import { basicOf } from "../conditions/static_token.ts";
import { type Quota, smallestByPeriod } from "../runs/rate_window.ts";
import { sizeOf } from "./max_payload.ts";
import { handshakeOrder, launchOrder, type Order, type OrderParts, runInfoOrder } from "./order.ts";
import { type PaceOf, preparePace } from "./pace.ts";
import { prepareResponse, type Responder } from "./response.ts";
import { SecretFiles } from "./secret_files.ts";
import type { Trigger } from "./trigger.ts";

/** A trigger that is ready for launches. */
export interface PreparedTrigger {
  trigger: Trigger;
  /** Its conditions, without secrets that have expired. */
  conditions: readonly Condition[];
  /** The challenge of an answer 401, which must have one (RFC 9110 section 15.5.2). */
  challenge: string;
  /** The fields in which a request carries credentials: no log shows them. */
  credentials: readonly CredentialField[];
  /** Tells whether a text is one of its secrets. */
  isSecret(text: string): boolean;
  /** JSON Pointers to the fields of the body that are stored without their values. */
  redacted: readonly string[];
  /** The time at which a secret expires and it must be prepared again, in milliseconds since the epoch. */
  until_ms: number;
  /** The files of its secrets. It must be prepared again when one has changed. */
  secretFiles: SecretFiles;
  quotas: readonly Quota[];
  /** True when run info may be asked for by GET: a request without a body cannot be signed. */
  answersGet: boolean;
  respond: Responder;
  /** Gives runs their turns; undefined where they are performed as soon as there is a place. */
  pace: PaceOf | undefined;
  /** Undoes the codings of a request's body. */
  decode: DecodeRequest;
  /** The checks of a launch. */
  launch: Order;
  /** The checks of run info. */
  runInfo: Order;
  /** The checks of a handshake by another method than POST; undefined without one. */
  handshake: Order | undefined;
  handshakes: readonly PreparedHandshake[];
  /** The methods of its handshakes. */
  handshakeMethods: ReadonlySet<string>;
}

/**
 * Prepares a trigger for launches.
 *
 * @param lockedSecrets pointers to its secrets that cannot be decrypted
 * @param payloadBytesMax the longest body that the service takes
 */
export async function prepareTrigger(
  trigger: Trigger,
  environment: ConditionEnvironment,
  { lockedSecrets, payloadBytesMax }: { lockedSecrets: readonly string[]; payloadBytesMax: number },
): Promise<PreparedTrigger> {
  const now_ms = environment.clock.now();
  const live = trigger.conditions.map((condition) => withoutEnded(condition, now_ms));
  const secrets = live.flatMap(secretsOf);
  const { handshakes = [] } = trigger;
  const secretFiles = new SecretFiles(
    [...secrets, ...handshakes.flatMap(({ secret }) => secret ?? [])],
    now_ms,
  );
  const conditions = await prepareConditions(live, environment, trigger.id, handshakes);
  const limits = conditions.quotas.map(({ limit }) => limit).filter((limit) => limit !== undefined);
  const { heavyWork } = environment;
  const bodyBytesMax = Math.min(payloadBytesMax, sizeOf(trigger.max_payload));
  const parts: OrderParts = {
    enabled: trigger.enabled,
    locked: lockOf(lockedSecrets),
    conditions,
    bodyBytesMax,
    decoder: (limit_bytes) => requestDecoder({ heavyWork, owner: trigger.id, limit_bytes }),
  };
  return {
    trigger,
    conditions: live,
    challenge: challengeOf(live),
    credentials: conditions.credentials,
    isSecret: secretLookup(live, handshakes, environment),
    redacted: maskedFieldsOf(conditions.redacted),
    until_ms: Math.min(...secrets.map(secretEnd_ms)),
    secretFiles,
    quotas: smallestByPeriod(limits),
    answersGet: conditions.signedBy === undefined,
    respond: prepareResponse(trigger.response, {
      heavyWork,
      trigger: trigger.name,
      triggerId: trigger.id,
      credentials: conditions.credentials,
    }),
    pace: preparePace(trigger, {
      heavyWork,
      trigger: trigger.name,
      triggerId: trigger.id,
      credentials: conditions.credentials,
    }),
    decode: parts.decoder(bodyBytesMax),
    launch: launchOrder(parts),
    runInfo: runInfoOrder(parts),
    handshake: handshakeOrder(parts),
    handshakes: conditions.handshakes,
    handshakeMethods: new Set(conditions.handshakes.map(({ row }) => row.method)),
  };
}

/** Makes the look-up of a trigger's secrets. They are read with the first request that is refused. */
function secretLookup(
  conditions: readonly Condition[],
  handshakes: NonNullable<Trigger["handshakes"]>,
  environment: ConditionEnvironment,
): (text: string) => boolean {
  let secrets: Secrets | undefined;
  return (text) => {
    secrets ??= resolveSecrets([
      ...conditions.flatMap((each) => "secrets" in each ? each.secrets ?? [] : []),
      ...handshakes.flatMap(({ secret }) => secret ?? []),
    ], (name) => environment.env(name));
    return isSecret(new TextEncoder().encode(text), secrets);
  };
}

/** Some senders give their password only after a challenge of HTTP Basic. Others have no scheme. */
function challengeOf(conditions: readonly Condition[]): string {
  const isBasic = conditions.some((each) => each.type === "static_token" && basicOf(each));
  return isBasic ? 'Basic realm="hooklaunch"' : "Webhook";
}

function lockOf(pointers: readonly string[]): OrderParts["locked"] {
  if (pointers.length === 0) return undefined;
  return { reason: `Its secrets cannot be decrypted with this key: ${pointers.join(", ")}` };
}

/** Returns a condition without its secrets that have expired. */
function withoutEnded(condition: Condition, now_ms: number): Condition {
  if (!("secrets" in condition) || condition.secrets === undefined) return condition;
  const secrets = condition.secrets.filter((secret) => secretEnd_ms(secret) > now_ms);
  return { ...condition, secrets };
}

function secretsOf(condition: Condition): readonly SecretSetting[] {
  if (condition.type === "json_schema") {
    return typeof condition.schema === "string" ? [condition.schema] : [];
  }
  return "secrets" in condition ? condition.secrets ?? [] : [];
}
