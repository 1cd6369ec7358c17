import {cleanGuid} from "./names.js";

const DETAILS_AT_ONCE = 100;
const WIDTHS = [320, 640, 1280];

/** A published mod: the fields of the API, and what is awkward to make of them. */
export class Mod {
  #origin;

  constructor(document, origin) {
    Object.assign(this, document);
    this.#origin = origin;
  }

  /** The address of an image, 320 or 640 (cut to 16:9) or 1280 pixels wide; null if there is none. */
  picture(width = 320, place = 0) {
    if (!WIDTHS.includes(width)) throw new TypeError(`Pictures are ${WIDTHS.join(", ")} pixels wide.`);
    const image = this.assets.filter((asset) => asset.kind === "image")[place];
    return image ? `${this.#origin}/Modhub/picture/${image.url.split("/").at(-1)}/${width}` : null;
  }

  /** The file of this kind ("code", "css"), null without one. */
  file(kind = "code") {
    return this.assets.find((asset) => asset.kind === kind) ?? null;
  }

  /** The description for `<iframe sandbox srcdoc>`: it is HTML of strangers. */
  frame() {
    const policy = `default-src 'none'; img-src ${this.#origin}`;
    const head = `<base href="${this.#origin}/" target="_blank">`;
    return `<!doctype html><meta charset="utf-8">${head}<meta http-equiv="Content-Security-Policy" content="${policy}">${this.description}`;
  }
}

/** A search, page by page: `next()`, or `for await` over all mods. `total` is known after the first page. */
class Pages {
  #load;
  #page = 0;
  total = null;
  more = true;

  constructor(load) {
    this.#load = load;
  }

  /** The mods of the next page; an empty list after the last. */
  async next() {
    if (!this.more) return [];
    const answer = await this.#load(++this.#page);
    this.total = answer.total;
    this.more = answer.more;
    return answer.mods;
  }

  async *[Symbol.asyncIterator]() {
    while (this.more) yield* await this.next();
  }
}

/** What everybody may read. */
export class Catalogue {
  #transport;

  constructor(transport) {
    this.#transport = transport;
  }

  search(q, {signal, size = 20, ...filters} = {}) {
    return new Pages(async (page) => {
      const query = {q, size, page, ...filters};
      const answer = await this.#transport.json("GET", "/api/modhub", {query, signal});
      return {...answer, mods: answer.mods.map((mod) => new Mod(mod, this.#transport.origin))};
    });
  }

  /** By GUID, by number, or the one of an object that has a GUID. */
  async mod(ref) {
    const path = typeof ref === "number" ? ref : `guid/${cleanGuid(ref.guid ?? ref)}`;
    return new Mod(await this.#transport.json("GET", `/api/modhub/${path}`), this.#transport.origin);
  }

  /** What stands beside mods, by GUID: author, votes, downloads, tags, captions, links, successor. */
  async details(mods) {
    const found = new Map();
    for (let start = 0; start < mods.length; start += DETAILS_AT_ONCE) {
      const json = {ids: mods.slice(start, start + DETAILS_AT_ONCE).map((mod) => mod.id)};
      const answer = await this.#transport.json("POST", "/api/modhub/details", {json, again: true});
      for (const detail of answer.details) found.set(detail.guid, detail);
    }
    return found;
  }

  async changelog(ref) {
    return (await this.#transport.json("GET", `/api/modhub/${await this.idOf(ref)}/changelog`)).notes;
  }

  /** The newest build of the app for a system ("windows"), null if there is none. */
  async app(os) {
    const {builds} = await this.#transport.json("GET", "/api/modhub/app");
    return builds.find((build) => build.os === os) ?? null;
  }

  async idOf(ref) {
    return typeof ref === "number" ? ref : (ref.id ?? (await this.mod(ref)).id);
  }
}
