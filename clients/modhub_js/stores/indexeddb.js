import {database} from "../lib/database.js";

/**
 * A store for all windows of the page's origin, whose every script can read it. Not localStorage: there a window may
 * still read what another one has replaced, such as a used token.
 */
export function indexedDbStore(name = "modhub-client") {
  const run = database(name);
  return {
    get: (key) => run("readonly", (store) => store("values").get(key)),
    set: (key, value) => run("readwrite", (store) => store("values").put(value, key), "strict"),
    delete: (key) => run("readwrite", (store) => store("values").delete(key)),
  };
}
