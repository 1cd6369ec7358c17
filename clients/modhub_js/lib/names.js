// GUIDs and file names from a service, before they become part of a path. As modhub_client/names.py of modhub.

const GUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const SHA256 = /^[0-9a-f]{64}$/;
const MAX_NAME_BYTES = 200;
/** Control and format characters (marks of the writing direction among them), lone surrogates, line separators. */
const DROPPED = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
const DEVICE = /^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?$/i;

/** The text, which becomes part of a path; a TypeError if it is of another form. */
function matching(form, text) {
  if (!form.test(text)) throw new TypeError(`Not a GUID or SHA-256: ${String(text).slice(0, 60)}`);
  return text;
}

export const cleanGuid = (text) => matching(GUID, String(text).trim().toLowerCase());
export const cleanDigest = (text) => matching(SHA256, text);

/** A name that is safe as a file on every system and looks as much as possible like `name`. */
export function cleanName(name) {
  const visible = name.normalize("NFC").replace(DROPPED, "");
  let cleaned = visible.split(/[/\\]/).at(-1).replace(/[<>:"|?*]/g, "_").trim().replace(/[. ]+$/, "");
  if (cleaned.startsWith(".")) cleaned = "_" + cleaned.slice(1);
  if (DEVICE.test(cleaned)) cleaned = "_" + cleaned;
  return shorten(cleaned) || "file";
}

/** At most `MAX_NAME_BYTES` in UTF-8, with the ending kept. */
function shorten(name) {
  const size = (text) => new TextEncoder().encode(text).length;
  const [, stem, ending = ""] = /^(.*?)(\.[^.]{0,20})?$/su.exec(name);
  const letters = [...stem];
  while (size(letters.join("") + ending) > MAX_NAME_BYTES) letters.pop();
  return (letters.join("") + ending).trim();
}

/** The SHA-256 of a Blob, as the service writes it. */
export async function sha256Of(blob) {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", await blob.arrayBuffer()));
  return [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
