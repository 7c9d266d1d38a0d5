/**
 * The signals that stop a command, such as Ctrl-C.
 *
 * @module
 */

const SIGNALS: readonly Deno.Signal[] = ["SIGINT", "SIGTERM"];

/** Calls a function for each signal. Until the result is disposed of, the signals do not end the process. */
export function onStopSignal(onSignal: (signal: Deno.Signal) => void): Disposable {
  const listeners = SIGNALS.map((signal) => {
    const listener = () => onSignal(signal);
    Deno.addSignalListener(signal, listener);
    return () => Deno.removeSignalListener(signal, listener);
  });
  return {
    [Symbol.dispose]() {
      for (const remove of listeners) remove();
    },
  };
}
