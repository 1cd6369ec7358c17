/** Wait; an abort of the signal rejects with its reason. */
export function wait(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const stop = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", stop, {once: true});
  });
}

/** Resolves when the page is seen, at once where there is none. */
export async function untilShown(signal) {
  while (globalThis.document?.hidden) await wait(1000, signal);
}

/** Listeners by the name of an event. `on` returns a function that ends one; one that throws stops nobody else. */
export function events() {
  const listeners = new Set();
  return {
    on(name, listener) {
      const entry = {name, listener};
      listeners.add(entry);
      return () => listeners.delete(entry);
    },
    emit(name, value) {
      for (const entry of listeners) if (entry.name === name) queueMicrotask(() => entry.listener(value));
    },
  };
}

/** Work under one name, one after the other within this process. */
export function queue() {
  const last = new Map();
  return (name, work) => {
    const result = (last.get(name) ?? Promise.resolve()).then(work);
    last.set(name, result.catch(() => {}));
    return result;
  };
}

/** The default lock: over all windows where the browser has Web Locks, else within this process. */
export const defaultLock = () =>
  globalThis.navigator?.locks ? (name, work) => navigator.locks.request(name, work) : queue();
