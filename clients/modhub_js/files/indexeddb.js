import {database} from "../lib/database.js";

/** Files in the browser, for all windows of the page's origin. */
export function indexedDbFiles(name = "modhub-client") {
  const run = database(name);
  // The keys of chunks are GUID, digest and place; a list sorts after any text or number.
  const below = (...key) => IDBKeyRange.bound(key, [...key, []]);
  const blob = async (guid, sha256) =>
    new Blob(await run("readonly", (store) => store("chunks").getAll(below(guid, sha256))));
  return {
    read: async (guid, name) => (await run("readonly", (store) => store("files").get([guid, name]))) ?? null,
    async put(guid, name, sha256) {
      const whole = await blob(guid, sha256);
      await run("readwrite", (store) => store("files").put(whole, [guid, name]));
    },
    remove: (guid, name) => run("readwrite", (store) => store("files").delete([guid, name])),
    parts: {
      size: async (guid, sha256) => (await blob(guid, sha256)).size,
      append: (guid, sha256, bytes, at) =>
        run("readwrite", (store) => store("chunks").put(bytes.slice(), [guid, sha256, at])),
      blob,
      clear: (guid) => run("readwrite", (store) => store("chunks").delete(below(guid))),
    },
  };
}
