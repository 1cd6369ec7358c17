import {cleanGuid} from "./names.js";

const DETAILS_AT_ONCE = 100;

/** A published mod: the fields of the API, and what is awkward to make of them. */
class Mod {
  #origin;

  constructor(document, origin) {
    Object.assign(this, document);
    this.#origin = origin;
  }

  /** The address of an image, 320 or 640 (cut to 16:9) or 1280 pixels wide; null if there is none. */
  picture(width = 320, place = 0) {
    const image = this.assets.filter((asset) => asset.kind === "image")[place];
    return image ? `${this.#origin}/Modhub/picture/${image.url.split("/").at(-1)}/${width}` : null;
  }

  /** The file of this kind ("code", "css"), null without one. */
  file(kind = "code") {
    return this.assets.find((asset) => asset.kind === kind) ?? null;
  }

  /** The description for `<iframe sandbox srcdoc>`: it is HTML of strangers. */
  frame() {
    const base = `<!doctype html><meta charset="utf-8"><base href="${this.#origin}/" target="_blank">`;
    const policy = `default-src 'none'; img-src ${this.#origin}`;
    return `${base}<meta http-equiv="Content-Security-Policy" content="${policy}">${this.description}`;
  }
}

/** A search, page by page: `next()`, or `for await` over all mods. `total` is known after the first page. */
function pages(load) {
  let page = 0;
  return {
    total: null,
    more: true,
    /** The mods of the next page; an empty list after the last. */
    async next() {
      if (!this.more) return [];
      const {mods, total, more} = await load(++page);
      Object.assign(this, {total, more});
      return mods;
    },
    async *[Symbol.asyncIterator]() {
      while (this.more) yield* await this.next();
    },
  };
}

/** What everybody may read, and what a person thinks of it. */
export function createCatalogue(transport, account) {
  const {origin, json} = transport;

  /** By GUID, by number, or the one of an object that has a GUID. */
  async function mod(ref) {
    const path = typeof ref === "number" ? ref : `guid/${cleanGuid(ref.guid ?? ref)}`;
    return new Mod(await json("GET", `/api/modhub/${path}`), origin);
  }

  const pathOf = async (ref) => `/api/modhub/${typeof ref === "number" ? ref : (ref.id ?? (await mod(ref)).id)}`;

  return {
    mod,

    search: (q, {signal, size = 20, ...filters} = {}) =>
      pages(async (page) => {
        const answer = await json("GET", "/api/modhub", {query: {q, size, page, ...filters}, signal});
        return {...answer, mods: answer.mods.map((found) => new Mod(found, origin))};
      }),

    /** What stands beside mods, by GUID: author, votes, downloads, tags, captions, links, successor. */
    async details(mods) {
      const found = new Map();
      for (let start = 0; start < mods.length; start += DETAILS_AT_ONCE) {
        const ids = mods.slice(start, start + DETAILS_AT_ONCE).map((one) => one.id);
        const {details} = await json("POST", "/api/modhub/details", {json: {ids}, again: true});
        for (const detail of details) found.set(detail.guid, detail);
      }
      return found;
    },

    changelog: async (ref) => (await json("GET", `${await pathOf(ref)}/changelog`)).notes,

    /** The newest build of the app for a system ("windows"), null if there is none. */
    app: async (os) => (await json("GET", "/api/modhub/app")).builds.find((build) => build.os === os) ?? null,

    vote: async (ref, value) => account.json("PUT", `${await pathOf(ref)}/vote`, {json: {value}}),

    /** As the account, if somebody is signed in. */
    report: async (ref, notice) =>
      ((await account.current()) ? account : transport).json("POST", `${await pathOf(ref)}/reports`, {json: notice}),
  };
}
