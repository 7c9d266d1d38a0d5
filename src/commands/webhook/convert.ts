/**
 * Hooks of adnanh/webhook as a configuration file, a project and the variables of its secrets.
 *
 * @module
 */
import { shellQuote } from "../../platform/shell.ts";
import { type Hook, HOOK_FIELDS, type Reference } from "./hook_file.ts";
import { expressionOf, NotConvertible } from "./reference.ts";
import { type Condition, conditionsOf } from "./rule.ts";

/** The hooks of a file, converted. */
interface Conversion {
  /** The triggers of a configuration file. */
  triggers: Record<string, unknown>[];
  /** The steps of a project configuration file: a step for each hook. */
  steps: Record<string, unknown>[];
  /** The secrets by the names of their variables. */
  secrets: Map<string, string>;
  /** Differences, and what to do, by the ids of hooks. */
  notes: [id: string, note: string][];
}

/** The input that gets the payload. */
const INPUT = "payload";

/** Converts hooks. A hook that no trigger can be gets one that is disabled, and a note. */
export function convertHooks(hooks: readonly Hook[], project: string): Conversion {
  const result: Conversion = { triggers: [], steps: [], secrets: new Map(), notes: [] };
  for (const hook of hooks) new Converter(hook, result).convert(project);
  return result;
}

class Converter {
  readonly #parsed: string[];
  readonly #name: string;
  /** Lines of the command before the last one. */
  readonly #lines: string[] = [];
  /** The parameters and the variables of the action. */
  readonly #parameters: Record<string, string> = {};
  readonly #environment: Record<string, string> = {};
  #isEnabled = true;

  constructor(readonly hook: Hook, readonly result: Conversion) {
    this.#parsed = (hook["parse-parameters-as-json"] ?? [])
      .flatMap(({ source, name }) => source === "payload" && name !== undefined ? [name] : []);
    this.#name = hook.id.replaceAll(/[^\p{L}\p{N}._-]+/gu, "-").replace(/^[^\p{L}\p{N}]+/u, "");
  }

  convert(project: string): void {
    const { hook } = this;
    const conditions = this.#conditions();
    const command = this.#command();
    const parameters = Object.keys(this.#parameters);
    this.result.steps.push({
      name: this.#name,
      image: "none", // a process uses none
      command,
      inputs: [{ name: INPUT }],
      ...(parameters.length > 0 &&
        { parameters: parameters.map((name) => ({ name, type: "string" })) }),
    });
    this.result.triggers.push({
      name: this.#name,
      project,
      ...(!this.#isEnabled && { enabled: false }),
      conditions,
      ...this.#refused(conditions),
      actions: [{
        type: "run_execution",
        step: this.#name,
        payload_input_name: INPUT,
        ...(parameters.length > 0 && { parameters: this.#parameters }),
        ...(Object.keys(this.#environment).length > 0 && { environment: this.#environment }),
      }],
      ...this.#response(),
    });
    this.#tellDifferences(hook);
  }

  #note(text: string): void {
    this.result.notes.push([this.hook.id, text]);
  }

  #conditions(): Condition[] {
    try {
      const keep = (secret: string) => this.#keepSecret(secret);
      const conditions = conditionsOf(this.hook["trigger-rule"], this.#parsed, keep);
      if (!conditions.some(({ type }) => ["hmac", "static_token"].includes(type))) {
        this.#note("nothing proves who sends; add a condition static_token or hmac");
      }
      return conditions;
    } catch (error) {
      if (!(error instanceof NotConvertible)) throw error;
      this.#disable(`its rule has ${error.message}, for which there is no condition`);
      return [{ type: "payload_filter", expression: "false" }];
    }
  }

  #disable(why: string): void {
    this.#isEnabled = false;
    this.#note(`disabled: ${why}`);
  }

  #keepSecret(secret: string): string {
    if (/^\{env:\w+\}$/.test(secret)) return secret;
    if (secret === "") this.#note("its secret is empty: every request is refused until it has one");
    const { secrets } = this.result;
    const base = `${this.#name.toUpperCase().replaceAll(/[^A-Z0-9]+/g, "_")}_SECRET`.replace(
      /^(?=\d)/,
      "_",
    );
    let name = base;
    for (let number = 2; (secrets.get(name) ?? secret) !== secret; number++) {
      name = `${base}_${number}`;
    }
    secrets.set(name, secret);
    return `{env:${name}}`;
  }

  #command(): string[] {
    const { hook } = this;
    const folder = hook["command-working-directory"];
    for (const [index, each] of (hook["pass-file-to-command"] ?? []).entries()) {
      this.#file(each, index);
    }
    for (const each of hook["pass-environment-to-command"] ?? []) {
      const name = variableOf(each);
      if (isWholeBody(each)) this.#lines.push(`export ${name}="$(cat "$VH_PAYLOAD")"`);
      else this.#value(each, (value) => this.#environment[name] = value);
    }
    const words = [shellQuote(hook["execute-command"])];
    for (const [index, each] of (hook["pass-arguments-to-command"] ?? []).entries()) {
      if (isWholeBody(each)) words.push('"$(cat "$VH_PAYLOAD")"');
      else if (each.source === "string") words.push(shellQuote(each.name ?? ""));
      else {
        const name = `argument${index + 1}`;
        this.#value(each, (value) => this.#parameters[name] = value);
        words.push(`{parameter-value:${name}}`);
      }
    }
    if (folder) this.#lines.push(`cd ${shellQuote(folder)}`);
    return [...this.#lines, words.join(" ")];
  }

  /** Writes a value into a file of its own, and the file's path into a variable. */
  #file(reference: Reference, index: number): void {
    const name = variableOf(reference);
    const content = `HOOK_FILE_${index + 1}`;
    this.#lines.push(`export ${name}="$VH_REPOSITORY_DIR/${content}"`);
    const decode = reference.base64decode ? " | base64 -d" : "";
    if (isWholeBody(reference)) {
      this.#lines.push(`cat "$VH_PAYLOAD"${decode} > "$${name}"`);
      return;
    }
    this.#value(reference, (value) => this.#environment[content] = value);
    this.#lines.push(`printf '%s' "$${content}"${decode} > "$${name}"`);
  }

  #value(reference: Reference, set: (value: string) => void): void {
    try {
      if (reference.source === "string") set(asText(reference.name ?? ""));
      else set(`{${expressionOf(reference, this.#parsed, "value")}}`);
    } catch (error) {
      if (!(error instanceof NotConvertible)) throw error;
      set("");
      this.#disable(
        `its command takes ${error.message}; read it in the step from the payload or request.json`,
      );
    }
  }

  #refused(conditions: readonly Condition[]): { refused?: { filter: number } } {
    const status = this.hook["trigger-rule-mismatch-http-response-code"] ?? 200;
    const proves = conditions.some(({ type }) => ["hmac", "static_token"].includes(type));
    const filters = conditions.some(({ type }) => type === "payload_filter");
    return status < 300 && proves && filters ? { refused: { filter: status } } : {};
  }

  #response(): { response?: Record<string, unknown> } {
    const { hook } = this;
    const text = hook["response-message"];
    const headers = hook["response-headers"] ?? [];
    const status = hook["success-http-response-code"];
    if (text === undefined && headers.length === 0 && status === undefined) return {};
    const isStatus = status !== undefined && status >= 200 && status < 300;
    if (status !== undefined && !isStatus) this.#note(`answers 200 instead of ${status}`);
    const contentType = headers.find(({ name }) => name.toLowerCase() === "content-type")?.value;
    const others = headers.filter(({ name }) => name.toLowerCase() !== "content-type")
      .map(({ name, value }) => [name, asText(value)]);
    return {
      response: {
        type: "text",
        text: asText(text ?? ""),
        ...(isStatus && { status }),
        ...(contentType !== undefined && { content_type: contentType }),
        ...(others.length > 0 && { headers: Object.fromEntries(others) }),
      },
    };
  }

  #tellDifferences(hook: Hook): void {
    if (hook["include-command-output-in-response"]) {
      this.#note(
        "the answer comes before the command starts: its output is in `hooklaunch execution log`",
      );
    }
    const others = (hook["http-methods"] ?? []).map((each) => each.trim().toUpperCase())
      .filter((each) => each !== "POST");
    if (others.length > 0) this.#note(`POST alone launches, not ${others.join(" and ")}`);
    if (hook["incoming-payload-content-type"]) {
      this.#note("the Content-Type that the sender names counts; JSON is read whatever it is");
    }
    if (hook["trigger-signature-soft-failures"]) {
      this.#note("a wrong signature always refuses");
    }
    const unknown = Object.keys(hook).filter((each) => !HOOK_FIELDS.has(each));
    if (unknown.includes("pre-hook-command")) {
      this.#disable("pre-hook-command is not run; make it a part of the step");
    } else if (unknown.length > 0) this.#note(`not read: ${unknown.join(", ")}`);
    if (this.#name !== hook.id) this.#note(`the trigger is called ${this.#name}`);
  }
}

/** Writes a text that holds no values of the request. */
function asText(text: string): string {
  return text.replaceAll("{", "{{");
}

function isWholeBody({ source }: Reference): boolean {
  return source === "entire-payload" || source === "raw-request-body";
}

/** Names the variable of a value, as webhook does. */
function variableOf({ envname, name, source }: Reference): string {
  return envname || `HOOK_${(name ?? source).replaceAll(/\W/g, "_")}`;
}
