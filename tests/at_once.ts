/**
 * Tests that mostly wait, for processes, containers and clusters: several of a file run at once.
 *
 * @module
 */

/** The number of tests that run at once. It is small, as other files run beside them. */
const AT_ONCE = 4;
/** Leaks are reported for the whole group at its end. */
const UNWATCHED = { sanitizeOps: false, sanitizeResources: false, sanitizeExit: false };

/** A test that does not care what else its process does meanwhile. */
export interface TestAtOnce {
  name: string;
  ignore?: boolean;
  fn(): Promise<void> | void;
}

/**
 * Registers one test, and returns a function that adds steps to it. They run at once, in any order.
 *
 * @param most how many; where each keeps a processor busy, such as by starting services, two
 */
export function atOnce(group: string, most: number = AT_ONCE): {
  (name: string, fn: () => Promise<void> | void): void;
  (test: TestAtOnce): void;
} {
  const tests: TestAtOnce[] = [];
  Deno.test(group, async (t) => {
    const waiting = tests.values();
    const work = async () => {
      for (const test of waiting) await t.step({ ...test, ...UNWATCHED });
    };
    await Promise.all(Array.from({ length: most }, work));
  });
  return (test: string | TestAtOnce, fn?: () => Promise<void> | void) => {
    if (typeof test !== "string") tests.push(test);
    else if (fn !== undefined) tests.push({ name: test, fn });
  };
}
