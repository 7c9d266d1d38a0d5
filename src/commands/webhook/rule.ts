/**
 * The rule of a hook of adnanh/webhook, as conditions of a trigger
 * (https://github.com/adnanh/webhook/blob/master/docs/Hook-Rules.md).
 *
 * @module
 */
import type { Match, Rule } from "./hook_file.ts";
import { celText, expressionOf, NotConvertible, payloadPath } from "./reference.ts";

/** Keeps a secret under a variable's name, and returns what names it in a configuration file. */
type KeepSecret = (secret: string) => string;

/** A condition of a trigger, as a configuration file has it. */
export type Condition = { type: string } & Record<string, unknown>;

/** The names of what is no event but a credential. */
const CREDENTIAL = /token|secret|passw|api[-_]?key|auth/i;

const HASH = /^payload-(?:hash|hmac)-(sha1|sha256|sha512)$/;

/**
 * Converts a rule.
 *
 * @param parsed the names of the payload's values that are JSON within a text
 * @throws {NotConvertible} if no condition says the same
 */
export function conditionsOf(
  rule: Rule | undefined,
  parsed: readonly string[],
  keep: KeepSecret,
): Condition[] {
  const proofs: Condition[] = [];
  const filters: string[] = [];
  for (const part of rule === undefined ? [] : conjuncts(rule)) {
    const found = proofOf(part, keep);
    if (found) proofs.push(found);
    else filters.push(expression(part, parsed));
  }
  if (filters.length === 0) return proofs;
  return [...proofs, { type: "payload_filter", expression: filters.join(" && ") }];
}

/** Returns the rules of which each must hold. */
function conjuncts(rule: Rule): Rule[] {
  return "and" in rule ? rule.and.flatMap(conjuncts) : [rule];
}

/** Returns the condition for a check of who sends, or for a choice among checks of one kind. */
function proofOf(rule: Rule, keep: KeepSecret): Condition | undefined {
  if ("match" in rule) return proofOfMatch(rule.match, keep);
  if (!("or" in rule)) return undefined;
  const choices = rule.or.map((each) => "match" in each && proofOfMatch(each.match, keep));
  const [first, ...rest] = choices.filter((each) => each !== undefined && each !== false);
  if (first === undefined || rest.length + 1 < choices.length) return undefined;
  return rest.reduce<Condition | undefined>((whole, each) => whole && united(whole, each), first);
}

/** Returns the condition that takes what either of two takes; undefined if they differ in more. */
function united(one: Condition, other: Condition): Condition | undefined {
  const list = one.type === "ip_allowlist" ? "ranges" : "secrets";
  const [these, those] = [one[list], other[list]];
  const isSame =
    JSON.stringify({ ...one, [list]: [] }) === JSON.stringify({ ...other, [list]: [] });
  if (!isSame || !Array.isArray(these) || !Array.isArray(those)) return undefined;
  return { ...one, [list]: [...these, ...those] };
}

function proofOfMatch(match: Match, keep: KeepSecret): Condition | undefined {
  const { type, parameter: { source, name = "" } = { source: "" }, secret, value } = match;
  if (type === "ip-whitelist") return { type: "ip_allowlist", ranges: [match["ip-range"] ?? ""] };
  const [, algorithm] = HASH.exec(type) ?? [];
  if (algorithm !== undefined) {
    if (secret === undefined) throw new NotConvertible(`${type} without a secret`);
    const secrets = [keep(secret)];
    if (source === "payload") return { type: "hmac", algorithm, body_field: place(name), secrets };
    if (source !== "header") throw new NotConvertible(`${type} of the source ${source}`);
    return { type: "hmac", ...scheme(algorithm, name), secrets };
  }
  if (type !== "value" || value === undefined || !CREDENTIAL.test(name)) return undefined;
  const secrets = [keep(value)];
  if (source === "header") return { type: "static_token", in: "header", name, secrets };
  if (source === "payload") return { type: "static_token", in: "body", name: place(name), secrets };
  if (source !== "url" && source !== "query") return undefined;
  return { type: "static_token", in: "query", name, secrets };
}

/** Says how the signature is written: GitHub's headers carry the name of the hash before it. */
function scheme(algorithm: string, header: string): Record<string, string> {
  const name = header.toLowerCase();
  if (name === "x-hub-signature-256" && algorithm === "sha256") return { preset: "github" };
  return { algorithm, header, ...(name === "x-hub-signature" && { prefix: `${algorithm}=` }) };
}

/** Writes the place of a value in a body: a key, or a JSON Pointer. */
function place(name: string): string {
  const parts = payloadPath(name);
  return parts.length === 1 ? name : `/${parts.join("/")}`;
}

function expression(rule: Rule, parsed: readonly string[]): string {
  if ("and" in rule) return joined(rule.and, " && ", "true", parsed);
  if ("or" in rule) return joined(rule.or, " || ", "false", parsed);
  if ("not" in rule) return `!(${expression(rule.not, parsed)})`;
  const { type, parameter, value, regex } = rule.match;
  if (parameter === undefined || type !== "value" && type !== "regex") {
    throw new NotConvertible(type);
  }
  const found = expressionOf(parameter, parsed, "filter");
  return type === "value"
    ? `${found} == ${celText(value ?? "")}`
    : `${found}.matches(${celText(regex ?? "")})`;
}

function joined(rules: Rule[], by: string, none: string, parsed: readonly string[]): string {
  if (rules.length === 0) return none;
  return `(${rules.map((each) => expression(each, parsed)).join(by)})`;
}
