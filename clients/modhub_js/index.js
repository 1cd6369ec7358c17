import {Account} from "./lib/account.js";
import {Catalogue} from "./lib/catalogue.js";
import {Follower} from "./lib/follower.js";
import {Installer} from "./lib/installer.js";
import {Publisher} from "./lib/publisher.js";
import {Transport} from "./lib/transport.js";
import {defaultLock} from "./lib/waiting.js";

export {Blocked, Damaged, ModhubError, Replaced, SignedOut, StoreFull} from "./lib/errors.js";

/**
 * A client of the service at `url`; index.d.ts tells all that it does.
 * @param {import("./index.d.ts").Options} options
 * @returns {import("./index.d.ts").Client}
 */
export function createClient({url, agent, store, files, fetch, lock = defaultLock()}) {
  const transport = new Transport(url, agent, fetch);
  const account = new Account(transport, store, lock, agent);
  const catalogue = new Catalogue(transport);
  const installer = new Installer(transport, store, files, lock);
  return {
    search: (q, options) => catalogue.search(q, options),
    mod: (ref) => catalogue.mod(ref),
    details: (mods) => catalogue.details(mods),
    changelog: (ref) => catalogue.changelog(ref),
    app: (os) => catalogue.app(os),
    plan: (want, options) => installer.plan(want, options),
    install: (want, options) => installer.install(want, options),
    update: (options) => installer.update(options),
    remove: (want) => installer.remove(want),
    installed: () => installer.installed(),
    verify: () => installer.verify(),
    updates: (options) => installer.updates(options),
    follow: (options) => new Follower(transport, store, installer, catalogue, options),
    account,
    vote: async (ref, value) => account.json("PUT", `/api/modhub/${await catalogue.idOf(ref)}/vote`, {json: {value}}),
    async report(ref, notice) {
      const sender = (await account.current()) ? account : transport;
      return sender.json("POST", `/api/modhub/${await catalogue.idOf(ref)}/reports`, {json: notice});
    },
    publish: (wanted, options) => new Publisher(account, wanted, options).run(),
  };
}
