/**
 * A service whose answers are held against its description.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { z } from "zod";
import type { TestService } from "../../data.ts";
import { AUTHORIZED } from "./fixture.ts";

/** What the tests look into by the API's contract. */
// deno-lint-ignore no-explicit-any
export type Json = any;

/** A request, by the path that the description has for it. */
export interface Asked {
  method?: string;
  /** What stands in the path, by its name there. */
  at?: Record<string, string>;
  /** What stands behind the path. */
  query?: string;
  headers?: Record<string, string>;
  body?: unknown;
  status?: number;
}

/** A service, whose answers must be what its description says. */
export class Described {
  readonly #document: Json;
  readonly #schemas: Json;
  /** The answers that were seen: operation, status and media type. */
  readonly seen = new Set<string>();
  /** The fields that were seen of answers, by the names of their schemas. */
  readonly #fields = new Map<string, Set<string>>();
  /** The compiled schemas, by their names. All are compiled together: they share most of their parts. */
  readonly #readers: Record<string, z.ZodType>;

  private constructor(document: Json) {
    this.#document = document;
    const text = JSON.stringify(document.components.schemas, closed);
    this.#schemas = JSON.parse(text.replaceAll("#/components/schemas/", "#/$defs/"));
    const required = namesOfAnswers(document);
    const all = z.fromJSONSchema({
      type: "object",
      required,
      properties: Object.fromEntries(required.map((name) => [name, { $ref: `#/$defs/${name}` }])),
      $defs: this.#schemas,
    });
    assert(all instanceof z.ZodObject);
    this.#readers = all.shape;
  }

  /** A service as it describes itself. */
  static async of(service: TestService): Promise<Described> {
    return new Described((await service.api("GET", "openapi.json")).body);
  }

  /** Sends a request, and holds the answer against the description. */
  async ask(path: string, asked: Asked = {}): Promise<Json> {
    const { method = "GET", at = {}, query = "", headers = {}, body, status = 200 } = asked;
    const operation = this.#document.paths[path][method.toLowerCase()];
    const [{ url: server }] = operation.servers ?? this.#document.servers;
    const concrete = path.replace(/\{(\w+)\}/g, (_, name) => at[name] ?? name);
    const answer = await fetch(server + concrete + query, {
      method,
      headers: { ...(operation.security ? {} : AUTHORIZED), ...headers },
      body: body === undefined || typeof body === "string" ? body ?? null : JSON.stringify(body),
    });
    const text = await answer.text();
    assertEquals(answer.status, status, `${method} ${path}: ${answer.status} ${text}`);
    if (operation.security === undefined) {
      // No cache keeps what operators read, and no browser guesses its type.
      const kept = answer.headers.get("cache-control") ?? "";
      assert(/no-store|private, no-cache/.test(kept), `${method} ${path}: ${kept}`);
      assertEquals(answer.headers.get("x-content-type-options"), "nosniff", `${method} ${path}`);
    }
    const type = answer.headers.get("content-type")?.split(";")[0] ?? "";
    return this.expect({ path, method }, { status, text, type });
  }

  /** Holds an answer against the description, and returns its JSON or its text. */
  expect(
    { path, method }: { path: string; method: string },
    { status, text, type: media }: { status: number; text: string; type: string },
  ): Json {
    const say = `${method} ${path}: ${status} ${text.slice(0, 2_000)}`;
    const { responses } = this.#document.paths[path][method.toLowerCase()];
    const key = [`${status}`, `${status}`[0] + "XX", "default"].find((each) => each in responses);
    const { content } = responses[key ?? ""];
    if (key !== "default") {
      this.seen.add(`${method} ${path} ${key} ${content === undefined ? "" : media}`);
    }
    if (content === undefined) {
      assertEquals(text, "", say);
      return undefined;
    }
    assert(media in content, `${say}\nof ${media}`);
    if (!media.endsWith("json")) return text;
    const value = JSON.parse(text);
    if (content[media].schema) this.#expect(value, content[media].schema.$ref, say);
    return value;
  }

  /** The answers that there can be, in the form of those that were seen. */
  all(): string[] {
    const operations = Object.entries<Json>(this.#document.paths).flatMap(([path, item]) =>
      Object.entries<Json>(item).map(([method, { responses }]) => ({ path, method, responses }))
    );
    return operations.flatMap(({ path, method, responses }) =>
      Object.entries<Json>(responses).flatMap(([status, { content = { "": {} } }]) =>
        status === "default"
          ? []
          : Object.keys(content).map((media) =>
            `${method.toUpperCase()} ${path} ${status} ${media}`
          )
      )
    );
  }

  /** The fields of answers that none has had. */
  unseen(): string[] {
    return [...this.#fields].flatMap(([name, seen]) =>
      Object.keys(this.#schemas[name].properties ?? {}).filter((field) => !seen.has(field))
        .map((field) => `${name} ${field}`)
    );
  }

  #expect(value: Json, reference: string, say: string): void {
    const name = reference.slice("#/components/schemas/".length);
    const schema = this.#readers[name];
    assert(schema, name);
    const { error } = schema.safeParse(value);
    assertEquals(error, undefined, `${say}\nis no ${name}`);
    assert(!schema.safeParse({ ...value, unknown: 1 }).success, `${name} is not looked at`);
    this.#note(value, name);
    const listed = this.#schemas[name].properties.results?.items.$ref;
    if (listed) value.results.forEach((each: Json) => this.#note(each, listed.split("/").at(-1)));
  }

  #note(value: Json, name: string): void {
    const fields = this.#fields.get(name) ?? new Set();
    this.#fields.set(name, fields);
    Object.keys(value).forEach((field) => fields.add(field));
  }
}

/** Returns the names of the schemas of answers. */
function namesOfAnswers({ paths }: Json): string[] {
  const responses = Object.values<Json>(paths).flatMap((item) =>
    Object.values<Json>(item).flatMap(({ responses }) => Object.values<Json>(responses))
  );
  const schemas = responses.flatMap(({ content = {} }) =>
    Object.values<Json>(content).flatMap(({ schema }) => schema?.$ref ?? [])
  );
  return [...new Set<string>(schemas.map((reference) => reference.split("/").at(-1)))];
}

/** Has objects refuse fields that the description does not name, and be nothing that they do not say. */
function closed(name: string, value: Json): Json {
  if (name === "default") return undefined;
  const isOpen = value?.type === "object" && value.properties && !("additionalProperties" in value);
  return isOpen ? { ...value, additionalProperties: false } : value;
}
