/** Wait; an abort of the signal rejects with its reason. */
export async function wait(milliseconds, signal) {
  signal?.throwIfAborted();
  let timer, stop;
  const over = new Promise((resolve, reject) => {
    timer = setTimeout(resolve, milliseconds);
    stop = () => reject(signal.reason);
    signal?.addEventListener("abort", stop);
  });
  await over.finally(() => {
    clearTimeout(timer);
    signal?.removeEventListener("abort", stop);
  });
}

/** Listeners by the name of an event. One that throws stops nobody else. */
export class Events {
  #listeners = new Map();

  /** Call `listener` at each event of this name; returns a function that ends it. */
  on(name, listener) {
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners.add(listener));
    return () => listeners.delete(listener);
  }

  emit(name, value) {
    for (const listener of this.#listeners.get(name) ?? []) queueMicrotask(() => listener(value));
  }
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
