/**
 * Values that are read while others wait for them.
 *
 * Code reads a value as if it were there. Where it is not yet, the read throws a {@linkcode PartPending}, and
 * the code runs again once the value is there.
 *
 * @module
 */

/** A part of a body that is being read. */
export class PartPending {
  /** @param ready settles when the part has been read */
  constructor(readonly ready: Promise<unknown>) {}
}

/** Does what reads a body, again when a part has been read that it waits for. */
export function whenPartsRead<T>(read: () => T | Promise<T>): T | Promise<T> {
  try {
    const result = read();
    return result instanceof Promise ? result.catch((error) => readAgain(error, read)) : result;
  } catch (error) {
    return readAgain(error, read);
  }
}

function readAgain<T>(error: unknown, read: () => T | Promise<T>): Promise<T> {
  if (!(error instanceof PartPending)) throw error;
  return error.ready.then(() => whenPartsRead(read));
}
