import {mkdir, readFile, rename, rm, rmdir, stat, writeFile} from "node:fs/promises";
import {join} from "node:path";
import {queue} from "../lib/waiting.js";

const PAUSE = 50;
/** Milliseconds after which what should have taken a moment was interrupted for good. */
const PATIENCE = 10_000;

/** A store in a folder that only this user may read, a file for each value. */
export function fileStore(folder) {
  const path = (key) => join(folder, `${key}.json`);
  return {
    async get(key) {
      const text = await readFile(path(key), "utf8").catch(unless("ENOENT"));
      return text ? JSON.parse(text) : undefined;
    },
    async set(key, value) {
      const written = `${path(key)}.${crypto.randomUUID()}`;
      await create(folder, written, JSON.stringify(value));
      await rename(written, path(key));
    },
    delete: (key) => rm(path(key), {force: true}),
  };
}

/** A lock over all processes that use this folder. That of a process that was killed is taken over. */
export function fileLock(folder) {
  const inTurn = queue();
  return (name, work) =>
    inTurn(name, async () => {
      const path = join(folder, `${name.replace(/\W+/g, "-")}.lock`);
      while (!(await take(folder, path))) await new Promise((resolve) => setTimeout(resolve, PAUSE));
      try {
        return await work();
      } finally {
        await rm(path, {force: true});
      }
    });
}

async function create(folder, path, text) {
  await mkdir(folder, {recursive: true, mode: 0o700});
  await writeFile(path, text, {flag: "wx", mode: 0o600, flush: true});
}

async function take(folder, path) {
  const isOurs = await create(folder, path, String(process.pid)).then(() => true, unless("EEXIST"));
  if (isOurs || (await isHeld(path))) return isOurs;
  // Of several that see a dead owner one removes its lock, and looks once more before: another may have it by now.
  const takeover = `${path}.takeover`;
  try {
    await mkdir(takeover);
    if (!(await isHeld(path))) await rm(path, {force: true});
    await rmdir(takeover);
  } catch {
    if (await isOld(takeover)) await rmdir(takeover).catch(() => {});
  }
  return false;
}

async function isHeld(path) {
  try {
    const owner = Number(await readFile(path, "utf8"));
    // Empty: it is being written just now, or its writer was killed in that moment.
    return owner ? process.kill(owner, 0) : !(await isOld(path));
  } catch (error) {
    return error.code !== "ESRCH";
  }
}

async function isOld(path) {
  const found = await stat(path).catch(() => null);
  return found !== null && Date.now() - found.mtimeMs > PATIENCE;
}

/** Fail with any other error; this one counts as false. */
export function unless(code) {
  return (error) => {
    if (error.code !== code) throw error;
    return false;
  };
}
