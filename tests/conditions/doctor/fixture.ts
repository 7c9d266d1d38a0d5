/**
 * The parts that tests of the signature doctor share: requests that a sender has signed, and their diagnosis.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { assert } from "@std/assert";
import { parse as parseYaml } from "yaml";
import type { DiagnosisContext } from "../../../src/conditions/doctor/context.ts";
import type { Finding } from "../../../src/conditions/doctor/finding.ts";
import { Budget, diagnoseCondition } from "../../../src/conditions/doctor/mod.ts";
import type { KeySetting } from "../../../src/conditions/keys.ts";
import { launchRequest } from "../../../src/conditions/request.ts";
import { signRequest } from "../../../src/conditions/sign_request.ts";
import type { ConditionSettings } from "../../../src/conditions/condition.ts";
import { parseWith } from "../../../src/platform/schema/schema.ts";
import { diagnose, type DiagnosisParts } from "../../../src/triggers/diagnose.ts";
import { type PreparedTrigger, prepareTrigger } from "../../../src/triggers/prepare.ts";
import { triggerSchema } from "../../../src/triggers/trigger.ts";
import { TestClock } from "../../surroundings.ts";
import { context, NOW_MS, request, type RequestParts } from "../fixture.ts";
import { type Sent, URL_OF_TRIGGER } from "../signing/senders.ts";

const ID = "0190fe82-c984-7f66-8302-69874914e1c9";
/** The machine may be busy with other tests. */
const LIMIT_MS = 20_000;

/** A condition as an operator writes it. */
export type Written = Record<string, unknown>;

/** Prepares a trigger. */
export async function prepared(
  conditions: readonly Written[],
  { env = {}, now_ms = NOW_MS, name = "t", lockedSecrets = [] }: {
    env?: Record<string, string>;
    now_ms?: number;
    name?: string;
    lockedSecrets?: readonly string[];
  } = {},
): Promise<PreparedTrigger> {
  const actions = [{ type: "fetch_repository" }];
  const settings = parseWith(triggerSchema, { name, project: "p", actions, conditions }, "trigger");
  return await prepareTrigger(
    { ...settings, id: ID, revision: 1, created_at: "", updated_at: "" },
    context({ env, clock: new TestClock(now_ms) }),
    { lockedSecrets, payloadBytesMax: 16 * 1024 * 1024 },
  );
}

/** Diagnoses a request at one condition alone, by what the condition has said of it. */
export async function cluesOf(
  own: Written,
  parts: RequestParts,
  refusal: DiagnosisContext["refusal"],
): Promise<string[]> {
  const { conditions: [settings] } = (await prepared([own])).trigger;
  const clues = settings && await diagnoseCondition(settings, {
    request: request(parts),
    refusal,
    calledUrl: URL_OF_TRIGGER,
    isReceiptKnown: true,
    times: [],
    env: () => undefined,
    budget: new Budget(LIMIT_MS),
    now_ms: NOW_MS,
    otherSecrets: () => Promise.resolve([]),
  });
  return clues?.map(({ sentence }) => sentence) ?? [];
}

/** The parts of a diagnosis that a test names. */
export interface DiagnosedParts extends Partial<DiagnosisParts> {
  variables?: Record<string, string>;
  others?: readonly PreparedTrigger[];
  lockedSecrets?: readonly string[];
}

/** Diagnoses a request at a trigger with these conditions. */
export async function diagnosed(
  conditions: readonly Written[],
  sent: Sent,
  { variables = {}, others = [], lockedSecrets = [], ...parts }: DiagnosedParts = {},
): Promise<Finding[]> {
  const now_ms = sent.receivedAt_ms;
  const trigger = await prepared(conditions, { env: variables, now_ms, lockedSecrets });
  const request = launchRequest({
    ...sent,
    query: new URL(sent.url).searchParams,
    headers: new Headers(sent.headers),
    remoteIp: "192.0.2.7",
  });
  return await diagnose(trigger, request, {
    acceptance: {
      madeBy: () => Promise.resolve(undefined),
      exhausted: () => Promise.resolve(undefined),
    },
    env: (name) => variables[name],
    now_ms: sent.receivedAt_ms,
    isAddressKnown: true,
    isReceiptKnown: true,
    otherTriggers: () => Promise.resolve(others),
    limit_ms: LIMIT_MS,
    ...parts,
  });
}

/** Fails unless the first finding is as certain as that and has these words. */
export function assertFirst(
  findings: readonly Finding[],
  certainty: Finding["certainty"],
  words: string | RegExp,
  name: string,
): void {
  const [first] = findings;
  const found = `${name}\n${findings.map((one) => `${one.certainty}: ${one.sentence}`).join("\n")}`;
  const isRight = typeof words === "string"
    ? first?.sentence.includes(words)
    : words.test(first?.sentence ?? "");
  assert(first?.certainty === certainty && isRight, `${found}\nexpected ${certainty}: ${words}`);
}

/** Signs a request as a condition asks for. */
export async function signed(
  conditions: readonly ConditionSettings[],
  { body = '{"id":"evt_1","value":"ä/1"}', privateKeys = [], now_ms = NOW_MS, headers = {}, url }: {
    body?: string;
    privateKeys?: readonly KeySetting[];
    now_ms?: number;
    headers?: Record<string, string>;
    url?: string;
  } = {},
): Promise<Sent> {
  const { problems, ...made } = await signRequest(conditions, {
    url: url ?? URL_OF_TRIGGER,
    headers: { "content-type": "application/json", ...headers },
    body: Buffer.from(body),
    now_ms,
    env: () => undefined,
    privateKeys,
  });
  if (problems[0]) throw new Error(problems[0].detail);
  return { method: "POST", receivedAt_ms: now_ms, ...made };
}

/** The same request with another body. */
export function withBody(sent: Sent, change: (body: string) => string): Sent {
  return { ...sent, body: Buffer.from(change(Buffer.from(sent.body).toString())) };
}

/** The same request with a header under another name. */
export function withHeader(sent: Sent, name: string, change: (name: string) => string): Sent {
  const headers = Object.entries(sent.headers)
    .map(([own, value]) => [own === name.toLowerCase() ? change(own) : own, value]);
  return { ...sent, headers: Object.fromEntries(headers) };
}

/** Changes a condition as a finding says, word by word: settings in backticks, and those in whose place they are. */
export function followed(condition: Written, sentence: string): Written {
  const [, change = "", removed = ""] =
    /[Ss]et ((?:[^`]*?`[a-z_]+: [^`]*`)+)(?: in place of ((?:(?:, )?`[a-z_]+`)+))?/.exec(
      sentence,
    ) ??
      [];
  const entries = [...change.matchAll(/`([a-z_]+): ([^`]*)`/g)]
    .map(([, name = "", value = ""]) => [name, parseYaml(value)]);
  const without = [...removed.matchAll(/[a-z_]+/g)].map(([name]) => name);
  const kept = Object.entries(condition).filter(([name]) => !without.includes(name));
  return { ...Object.fromEntries(kept), ...Object.fromEntries(entries) };
}
