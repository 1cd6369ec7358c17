import {appendFile, mkdir, open, readdir, readFile, rename, rm, rmdir, stat} from "node:fs/promises";
import {join} from "node:path";
import {unless} from "../stores/file.js";

/** Files in a folder: `{guid}/{name}`, and unfinished downloads in `.parts`. */
export function nodeFiles(folder) {
  const absent = unless("ENOENT");
  const unfinished = join(folder, ".parts");
  const part = (guid, sha256) => join(unfinished, `${guid}.${sha256}`);
  return {
    async read(guid, name) {
      const bytes = await readFile(join(folder, guid, name)).catch(absent);
      return bytes ? new Blob([bytes]) : null;
    },
    async put(guid, name, sha256) {
      const file = await open(part(guid, sha256), "r+");
      await file.sync().finally(() => file.close());
      await mkdir(join(folder, guid), {recursive: true});
      await rename(part(guid, sha256), join(folder, guid, name));
    },
    async remove(guid, name) {
      await rm(join(folder, guid, name), {force: true});
      // What else is in there is not ours.
      await rmdir(join(folder, guid)).catch(() => {});
    },
    parts: {
      size: async (guid, sha256) => (await stat(part(guid, sha256)).catch(absent)).size ?? 0,
      async append(guid, sha256, bytes) {
        await mkdir(unfinished, {recursive: true});
        await appendFile(part(guid, sha256), bytes);
      },
      blob: async (guid, sha256) => new Blob([await readFile(part(guid, sha256))]),
      async clear(guid) {
        const names = (await readdir(unfinished).catch(absent)) || [];
        for (const name of names.filter((one) => one.startsWith(guid))) await rm(join(unfinished, name), {force: true});
      },
    },
  };
}
