/** The part of `@std/assert` that the tests use, typed for the npm build of the standard library. */

/** Makes an assertion, throws an `AssertionError` when `expression` is falsy. */
export function assert(expression: unknown, message?: string): asserts expression;
/** Throws when the two values are not deeply equal. */
export function assertEquals<T>(actual: T, expected: T, message?: string): void;
/** Throws when the two values are deeply equal. */
export function assertNotEquals<T>(actual: T, expected: T, message?: string): void;
/** Throws when `actual` is null or undefined. */
export function assertExists<T>(actual: T, message?: string): asserts actual is NonNullable<T>;
/** Throws when `actual` does not contain `expected`. */
export function assertStringIncludes(actual: string, expected: string, message?: string): void;
/** Throws when `actual` does not match `expected`. */
export function assertMatch(actual: string, expected: RegExp, message?: string): void;
/** Throws when `actual` matches `expected`. */
export function assertNotMatch(actual: string, expected: RegExp, message?: string): void;
/** Throws when `actual` does not contain everything that `expected` holds. */
export function assertObjectMatch(
  // deno-lint-ignore no-explicit-any -- the signature of the standard library
  actual: Record<PropertyKey, any>,
  expected: Record<PropertyKey, unknown>,
  message?: string,
): void;
/** Throws when `actual` is not greater than `expected`. */
export function assertGreater<T>(actual: T, expected: T, message?: string): void;
/** Throws when `actual` is less than `expected`. */
export function assertGreaterOrEqual<T>(actual: T, expected: T, message?: string): void;
/** Throws when `actual` is not less than `expected`. */
export function assertLess<T>(actual: T, expected: T, message?: string): void;
/** Throws when `actual` is greater than `expected`. */
export function assertLessOrEqual<T>(actual: T, expected: T, message?: string): void;
/** Throws when `actual` is not an instance of `type`. */
export function assertInstanceOf<T extends abstract new (...args: never[]) => unknown>(
  actual: unknown,
  type: T,
  message?: string,
): asserts actual is InstanceType<T>;
/** Throws when `fn` does not throw, and returns what it threw. */
export function assertThrows<E extends Error = Error>(
  fn: () => unknown,
  // deno-lint-ignore no-explicit-any -- the signature of the standard library
  ErrorClass?: abstract new (...args: any[]) => E,
  messageIncludes?: string,
  message?: string,
): E;
/** Throws when the promise of `fn` does not reject, and resolves to what it rejected with. */
export function assertRejects<E extends Error = Error>(
  fn: () => PromiseLike<unknown>,
  // deno-lint-ignore no-explicit-any -- the signature of the standard library
  ErrorClass?: abstract new (...args: any[]) => E,
  messageIncludes?: string,
  message?: string,
): Promise<E>;
/** Throws always. */
export function fail(message?: string): never;
