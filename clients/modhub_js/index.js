import {createAccount} from "./lib/account.js";
import {createCatalogue} from "./lib/catalogue.js";
import {follow} from "./lib/follower.js";
import {createInstaller} from "./lib/installer.js";
import {publish} from "./lib/publisher.js";
import {createTransport} from "./lib/transport.js";
import {defaultLock} from "./lib/waiting.js";

export {Blocked, Damaged, ModhubError, Replaced, SignedOut, StoreFull} from "./lib/errors.js";

/**
 * A client of the service at `url`; index.d.ts tells all that it does.
 * @param {import("./index.d.ts").Options} options
 * @returns {import("./index.d.ts").Client}
 */
export function createClient({url, agent, store, files, fetch, lock = defaultLock()}) {
  const transport = createTransport(url, agent, fetch);
  const account = createAccount(transport, store, lock, agent);
  const catalogue = createCatalogue(transport, account);
  const installer = createInstaller(transport, store, files, lock);
  return {
    ...catalogue,
    ...installer,
    account,
    follow: (options) => follow(transport, store, installer, catalogue, options),
    publish: (wanted, options) => publish(account, wanted, options),
  };
}
