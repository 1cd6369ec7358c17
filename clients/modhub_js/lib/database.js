const STORES = ["files", "chunks", "values"];

/** The IndexedDB of files and values. `run(mode, work)` is one transaction; it resolves to what `work` asked for. */
export function database(name) {
  let opened;
  return async (mode, work, durability = "relaxed") => {
    const transaction = (await (opened ??= open(name))).transaction(STORES, mode, {durability});
    const request = work((store) => transaction.objectStore(store));
    await new Promise((resolve, reject) => {
      transaction.oncomplete = resolve;
      transaction.onabort = () => reject(transaction.error);
    });
    return request?.result;
  };
}

function open(name) {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(name, 1);
    request.onupgradeneeded = () => {
      for (const store of STORES) request.result.createObjectStore(store);
    };
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
