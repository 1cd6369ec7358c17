import {ModhubError} from "./errors.js";
import {cleanGuid, sha256Of} from "./names.js";

/** How long a published mod may be without its GUID still being this one. */
const REPEATABLE_HOURS = 23;
const FIELDS = ["title", "games", "requires", "conflictsWith"];

/**
 * Bring a mod to the wanted state, and publish it if asked to. What is there already is not sent again, so that it can
 * be run again after any failure.
 */
export class Publisher {
  #account;
  #wanted;
  #options;

  constructor(account, wanted, options = {}) {
    this.#account = account;
    this.#wanted = wanted;
    this.#options = options;
  }

  async run() {
    const {images = [], tags, links, notes, version, code} = this.#wanted;
    let mod = await this.#find();
    const path = `/api/modhub/${mod.id}`;
    mod = await this.#call("fields", "PUT", path, {json: await this.#fields(path)});
    const {files} = await this.#account.json("GET", `${path}/files`);
    if (code) await this.#uploadCode(path, mod, files);
    if (images.length) await this.#uploadImages(path, images, files);
    if (tags) await this.#call("tags", "PUT", `${path}/tags`, {json: {tags}});
    if (links) await this.#call("links", "PUT", `${path}/links`, {json: links});
    if (notes) await this.#note(path, version ?? mod.version, notes);
    const rehearsal = await this.#call("rehearsal", "POST", `${path}/rehearsal`, {again: true});
    if (this.#options.publish && !mod.published) {
      if (!rehearsal.ready) throw new ModhubError("not_ready", "Something is missing or in conflict.", {body: rehearsal});
      return {rehearsal, mod: await this.#call("publish", "POST", `${path}/publish`, {again: true})};
    }
    const {mods} = await this.#account.json("GET", "/api/modhub/mine");
    return {rehearsal, mod: mods.find((one) => one.id === mod.id)};
  }

  /** The mod of this GUID, or of this title; a new draft if there is none. */
  async #find() {
    const {guid, title} = this.#wanted;
    const {mods} = await this.#account.json("GET", "/api/modhub/mine");
    const isOurs = guid ? (mod) => mod.guid === cleanGuid(guid) : (mod) => mod.title === title.trim();
    const mod = mods.find(isOurs);
    if (guid && !mod) throw new ModhubError("not_found", "You have no mod of this GUID.");
    if (!mod) {
      const headers = {"Idempotency-Key": crypto.randomUUID()};
      return this.#call("create", "POST", "/api/modhub", {json: {title}, headers, again: true});
    }
    const age = Date.now() - Date.parse(mod.createdAt);
    if (!guid && mod.published && age > REPEATABLE_HOURS * 3_600_000)
      throw new ModhubError("title_used", `You have a mod of this title: name its GUID ${mod.guid}, or change the title.`);
    return mod;
  }

  async #fields(path) {
    const fields = Object.fromEntries(FIELDS.map((name) => [name, this.#wanted[name]]));
    return {...fields, description: await this.#html(path, this.#wanted.description, "description")};
  }

  /** A text as HTML: `{html}`, `{markdown}`, or a string of plain text. */
  async #html(path, text, field) {
    if (text === undefined || text.html !== undefined) return text?.html;
    const json = text.markdown === undefined ? {text, format: "text", field} : {text: text.markdown, format: "markdown", field};
    return (await this.#account.json("POST", `${path}/preview`, {json, again: true})).html;
  }

  async #uploadCode(path, mod, files) {
    const {code, name = code.name ?? "mod.zip", version} = this.#wanted;
    const sha256 = await sha256Of(code);
    const isThere = files.some((file) => file.kind === "code" && file.sha256 === sha256);
    if (isThere && mod.version === version) return;
    try {
      await this.#upload("code", `${path}/code`, code, {name, version});
    } catch (error) {
      // An upload of ours whose answer was lost.
      if (error.code !== "version_used" || error.body.sha256 !== sha256) throw error;
    }
  }

  /** Those that are not there yet, then captions and order. Images that are not named stay, after the others. */
  async #uploadImages(path, images, files) {
    const stored = files.filter((file) => file.kind === "image");
    const order = [];
    const captions = [];
    for (const {image, name = image.name ?? "image", caption} of images) {
      const sha256 = await sha256Of(image);
      let assetId = stored.find((file) => file.sha256 === sha256 && !order.includes(file.assetId))?.assetId;
      if (!assetId) {
        const headers = {"Idempotency-Key": crypto.randomUUID()};
        const mod = await this.#upload(`image ${name}`, `${path}/images`, image, {name}, headers);
        const ids = mod.assets.filter((asset) => asset.kind === "image").map((asset) => Number(asset.url.split("/").at(-1)));
        assetId = ids.find((id) => stored.every((file) => file.assetId !== id));
        stored.push({assetId, sha256, caption: ""});
      }
      order.push(assetId);
      const before = stored.find((file) => file.assetId === assetId).caption;
      if (caption !== undefined && caption !== before) captions.push({assetId, caption});
    }
    if (captions.length) await this.#call("captions", "PUT", `${path}/captions`, {json: {captions}});
    const assetIds = [...order, ...stored.map((file) => file.assetId).filter((id) => !order.includes(id))];
    if (assetIds.some((id, place) => id !== stored[place].assetId))
      await this.#call("order", "PUT", `${path}/order`, {json: {assetIds}});
  }

  /** The entry of the changelog that the upload of this version wrote. */
  async #note(path, version, notes) {
    const listed = await this.#account.json("GET", `${path}/notes`);
    const note = listed.notes.find((one) => one.title === version);
    const text = await this.#html(path, notes, "changelog");
    if (note && note.text !== text) await this.#call("notes", "PUT", `${path}/changelog/${note.id}`, {json: {text}});
  }

  #upload(step, path, body, query, headers) {
    const type = {"Content-Type": body.type || "application/octet-stream"};
    // An image or a version that is sent twice is there once.
    return this.#call(step, "POST", path, {body, query, headers: {...type, ...headers}, again: true});
  }

  #call(step, method, path, options) {
    this.#options.progress?.(step);
    return this.#account.json(method, path, options);
  }
}
