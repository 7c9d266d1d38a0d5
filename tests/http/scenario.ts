/**
 * Scenario tables: an endpoint's test reads as a list of requests and of what they are answered.
 *
 * @module
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";

/** One request, and what its answer must be. */
export interface Scenario {
  name: string;
  method?: string;
  /** Relative to the service. */
  path: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array<ArrayBuffer>;
  expectedStatus: number;
  /** The whole body of the answer. */
  expectedBody?: string;
  /** Parts of the body. */
  expectedContent?: string[];
  /** What the body must not hold. */
  notExpectedContent?: string[];
  expectedHeaders?: Record<string, string>;
}

/** Sends a scenario's request to a service and looks at the answer. */
export async function play(serviceUrl: string, scenario: Scenario): Promise<Response> {
  const answer = await fetch(serviceUrl + scenario.path, {
    method: scenario.method ?? "POST",
    headers: scenario.headers ?? {},
    redirect: "manual",
    ...(scenario.body === undefined ? {} : { body: scenario.body }),
  });
  const text = await answer.clone().text();
  await answer.body?.cancel();
  const say = `${scenario.name}: ${answer.status} ${text.slice(0, 300)}`;
  assertEquals(answer.status, scenario.expectedStatus, say);
  if (scenario.expectedBody !== undefined) assertEquals(text, scenario.expectedBody, say);
  for (const part of scenario.expectedContent ?? []) assertStringIncludes(text, part, say);
  for (const part of scenario.notExpectedContent ?? []) assert(!text.includes(part), say);
  for (const [name, value] of Object.entries(scenario.expectedHeaders ?? {})) {
    assertEquals(answer.headers.get(name), value, `${scenario.name}: header ${name}`);
  }
  return answer;
}

/** The one answer to everything that a condition refuses. */
export const REJECTED = '{"title":"Request rejected","status":400}';
