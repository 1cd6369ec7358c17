import {ModhubError} from "./errors.js";
import {cleanGuid, sha256Of} from "./names.js";

/** How long a published mod of the title may be the one that an earlier run created. */
const REPEATABLE_HOURS = 23;

/**
 * Bring a mod to the wanted state, and publish it if asked to. What is there already is not sent again, so that it can
 * be run again after any failure.
 */
export async function publish(account, wanted, {publish: isFinal = false, progress} = {}) {
  let path = "/api/modhub";

  function call(step, method, ending, options) {
    progress?.(step);
    return account.json(method, path + ending, options);
  }

  /** The mod of this GUID, or of this title; a new draft if there is none. */
  async function find({guid, title}) {
    const {mods} = await account.json("GET", "/api/modhub/mine");
    const mod = mods.find(guid ? (one) => one.guid === cleanGuid(guid) : (one) => one.title === title.trim());
    if (guid && !mod) throw new ModhubError("not_found", "You have no mod of this GUID.");
    const isOld = mod?.published && Date.now() - Date.parse(mod.createdAt) > REPEATABLE_HOURS * 3_600_000;
    if (!guid && isOld) throw new ModhubError("title_used", `You have a mod of this title: name its GUID ${mod.guid}.`);
    return mod ?? call("create", "POST", "", {json: {title}, ...once()});
  }

  /** A text as HTML: `{html}`, `{markdown}`, or a string of plain text. */
  async function htmlOf(text, field) {
    if (text === undefined || text.html !== undefined) return text?.html;
    const format = text.markdown === undefined ? "text" : "markdown";
    const json = {text: text.markdown ?? text, format, field};
    return (await account.json("POST", `${path}/preview`, {json, again: true})).html;
  }

  async function uploadCode({code, name = code.name ?? "mod.zip", version}, mod, files) {
    const sha256 = await sha256Of(code);
    if (mod.version === version && files.some((file) => file.kind === "code" && file.sha256 === sha256)) return;
    try {
      await call("code", "POST", "/code", {body: code, query: {name, version}, ...once(code)});
    } catch (error) {
      // An upload of ours whose answer was lost.
      if (error.code !== "version_used" || error.body.sha256 !== sha256) throw error;
    }
  }

  /** Those that are not there yet, then captions. Images that are not named stay. */
  async function uploadImages(images, stored) {
    const captions = [];
    for (const {image, name = image.name ?? "image", caption} of images) {
      const sha256 = await sha256Of(image);
      let file = stored.find((one) => one.kind === "image" && one.sha256 === sha256);
      if (!file) {
        const {assets} = await call(`image ${name}`, "POST", "/images", {body: image, query: {name}, ...once(image)});
        // A new image is the last.
        file = {assetId: Number(assets.at(-1).url.split("/").at(-1)), caption: ""};
      }
      if (caption !== undefined && caption !== file.caption) captions.push({assetId: file.assetId, caption});
    }
    if (captions.length) await call("captions", "PUT", "/captions", {json: {captions}});
  }

  /** The entry of the changelog that the upload of this version wrote. */
  async function writeNote(version, notes) {
    const listed = await account.json("GET", `${path}/notes`);
    const note = listed.notes.find((one) => one.title === version);
    const text = await htmlOf(notes, "changelog");
    if (note && note.text !== text) await call("notes", "PUT", `/changelog/${note.id}`, {json: {text}});
  }

  const found = await find(wanted);
  path += `/${found.id}`;
  const {title, games, requires, conflictsWith, images = [], tags, links, notes} = wanted;
  const description = await htmlOf(wanted.description, "description");
  const mod = await call("fields", "PUT", "", {json: {title, description, games, requires, conflictsWith}});
  const {files} = await account.json("GET", `${path}/files`);
  if (wanted.code) await uploadCode(wanted, mod, files);
  await uploadImages(images, files);
  if (tags) await call("tags", "PUT", "/tags", {json: {tags}});
  if (links) await call("links", "PUT", "/links", {json: links});
  if (notes) await writeNote(wanted.version ?? mod.version, notes);
  const rehearsal = await call("rehearsal", "POST", "/rehearsal", {again: true});
  if (isFinal && !mod.published) {
    if (!rehearsal.ready) throw new ModhubError("not_ready", "Something is missing or in conflict.", {body: rehearsal});
    return {rehearsal, mod: await call("publish", "POST", "/publish", {again: true})};
  }
  return {rehearsal, mod: rehearsal.install.at(-1)};
}

/** Options of a call that may be repeated: a creation or an image by its key, a version by itself. */
function once(file) {
  const type = file && {"Content-Type": file.type || "application/octet-stream"};
  return {again: true, headers: {"Idempotency-Key": crypto.randomUUID(), ...type}};
}
