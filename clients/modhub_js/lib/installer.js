import {download} from "./download.js";
import {Blocked, Replaced, StoreFull} from "./errors.js";
import {cleanDigest, cleanGuid, cleanName, sha256Of} from "./names.js";

const AT_ONCE = 500;
const NEW_PLANS = 3;
const CONSENTS = ["missing", "conflicts", "advised"];

const isWork = (step) => step.action !== "keep";
const guidsOf = (mods) => mods.map((mod) => mod.guid);
const isFull = (error) => error?.name === "QuotaExceededError" || error?.code === "ENOSPC";

/**
 * What is installed: planned, downloaded, verified, put, recorded, in this order. The record is written last; while
 * files are put, `suspect` names them, so that a run that was killed is healed by the next one.
 */
export function createInstaller(transport, store, files, lock) {
  const locked = (work) => lock(`modhub ${transport.origin} install`, work);
  const records = async () => (await store.get("installed")) ?? {};
  const suspect = async () => (await store.get("suspect")) ?? [];
  const installed = async () => Object.values(await records());
  const post = (path, json, signal) => transport.json("POST", `/api/modhub/${path}`, {json, signal, again: true});

  /** The advisories that stand about these files. All are read, so that nobody learns what is here. */
  async function advisories(mods, signal) {
    if (!mods.length) return [];
    // A service may have none at all.
    const absent = {advisories: []};
    const known = await transport.json("GET", "/api/modhub/advisories", {signal, absent});
    const standing = new Map(known.advisories.map((each) => [each.sha256, each]));
    const warned = mods.filter((mod) => standing.get(mod.sha256)?.withdrawnAt === null);
    return warned.map(({guid, title, sha256}) => ({guid, title, ...standing.get(sha256)}));
  }

  /** What it takes to have `want`. Nothing is changed. */
  async function plan(want, {signal} = {}) {
    want = want.map(cleanGuid);
    const doubtful = await suspect();
    const have = (await installed()).filter((mod) => !doubtful.includes(mod.guid));
    const asked = {want, have: have.map(({guid, version, sha256}) => ({guid, version, sha256}))};
    const made = await post("plan", asked, signal);
    const versions = new Map(made.lock.entries.map((entry) => [cleanGuid(entry.guid), entry.version]));
    const steps = made.steps.map((step) => {
      const guid = cleanGuid(step.guid);
      const [name, sha256] = [cleanName(step.name), cleanDigest(step.sha256)];
      return {...step, guid, version: versions.get(guid), name, sha256};
    });
    const advised = await advisories(steps.filter(isWork), signal);
    return {...made, want, steps, advised, ok: !CONSENTS.some((reason) => ({...made, advised})[reason].length)};
  }

  /** Download and verify all files, then put them, then write the record. What has arrived when one fails is kept. */
  async function carryOut({steps, want}, {signal, progress}) {
    const known = await records();
    // What a plan from before keeps may be gone by now.
    const work = steps.filter((step) => isWork(step) || !known[step.guid]);
    const bytes = work.reduce((sum, step) => sum + step.bytes, 0);
    let received = 0;
    for (const step of work) {
      const {guid, title} = step;
      const arrived = (more) => progress?.({guid, title, bytes, received: (received += more)});
      await download(transport, step, files.parts, {signal, arrived});
    }
    const doubtful = await suspect();
    await store.set("suspect", [...new Set([...doubtful, ...guidsOf(work)])]);
    for (const {guid, name, sha256} of work) {
      // First, as some systems take names that differ in capitals for the same.
      if (known[guid] && known[guid].name !== name) await files.remove(guid, known[guid].name);
      await files.put(guid, name, sha256);
      await files.parts.clear(guid);
    }
    for (const step of steps) {
      const {guid, title, version, sha256, bytes, name, relations, uploadedAt} = step;
      const file = work.includes(step) ? {version, sha256, bytes, name, uploadedAt} : known[guid];
      known[guid] = {...file, guid, title, relations, wanted: want.includes(guid) || Boolean(known[guid]?.wanted)};
    }
    await store.set("installed", known);
    await store.set("suspect", doubtful.filter((guid) => !guidsOf(work).includes(guid)));
    return work.map((step) => known[step.guid]);
  }

  /** Plan, and carry it out; with a new plan if a file was replaced meanwhile. */
  async function planAndDo(want, {allow = [], ...options} = {}) {
    for (let round = 0; ; round++) {
      const made = Array.isArray(want) ? await plan(want, options) : want;
      if (CONSENTS.some((reason) => made[reason].length && !allow.includes(reason))) throw new Blocked(made);
      try {
        return {made, placed: await carryOut(made, options)};
      } catch (error) {
        // What has arrived would keep it full.
        if (isFull(error)) for (const step of made.steps) await files.parts.clear(step.guid);
        if (isFull(error)) throw new StoreFull(error);
        if (!(error instanceof Replaced) || round >= NEW_PLANS) throw error;
        want = made.want;
      }
    }
  }

  /** What was only required, and is not any more. What a mod requires is unknown once it has gone. */
  async function unneeded({steps, stillInstalled, missing}) {
    if (stillInstalled.length || missing.length) return [];
    return (await installed()).filter((mod) => !mod.wanted && !guidsOf(steps).includes(mod.guid));
  }

  /** The record goes first: a file without a record is in nobody's way. */
  async function drop(mods) {
    const left = await records();
    for (const {guid} of mods) delete left[guid];
    await store.set("installed", left);
    for (const {guid, name} of mods) await files.remove(guid, name);
    return [...new Set(guidsOf(mods))];
  }

  return {
    advisories,
    installed,
    plan,

    install: async (want, options) => (await locked(() => planAndDo(want, options))).placed,

    /** Bring all that was asked for up to date, and remove what nothing requires any more. */
    update: (options) =>
      locked(async () => {
        const wanted = (await installed()).filter((mod) => mod.wanted);
        if (!wanted.length) return [];
        const {made, placed} = await planAndDo(guidsOf(wanted), options);
        await drop(await unneeded(made));
        return placed;
      }),

    /** Remove these, and what was installed only for them; `Blocked` if something else requires one. */
    remove: (want) =>
      locked(async () => {
        const going = want.map(cleanGuid);
        const mods = await installed();
        const left = mods.filter((mod) => mod.wanted && !going.includes(mod.guid));
        if (!left.length) return drop(mods);
        const made = await plan(guidsOf(left));
        const required = made.steps.filter((step) => going.includes(step.guid));
        if (required.length) throw new Blocked({...made, required});
        return drop([...mods.filter((mod) => going.includes(mod.guid)), ...(await unneeded(made))]);
      }),

    /** The files that are not as they were put. The next installation or update installs them again. */
    verify: () =>
      locked(async () => {
        const damage = [];
        for (const {guid, title, name, sha256: expected} of await installed()) {
          const blob = await files.read(guid, name);
          const got = blob && (await sha256Of(blob));
          if (got !== expected) damage.push({guid, title, name, expected, got});
        }
        await store.set("suspect", guidsOf(damage));
        return damage;
      }),

    /** What is new for what is installed. */
    async updates({signal} = {}) {
      const mods = await installed();
      const found = {changed: [], gone: [], relationsChanged: [], advised: await advisories(mods, signal)};
      for (let start = 0; start < mods.length; start += AT_ONCE) {
        const batch = mods.slice(start, start + AT_ONCE);
        const have = batch.map(({guid, version, sha256, relations}) => ({guid, version, sha256, relations}));
        const answer = await post("updates", {have}, signal);
        for (const kind of ["changed", "gone", "relationsChanged"]) found[kind].push(...(answer[kind] ?? []));
      }
      return found;
    },
  };
}
