import {Download} from "./download.js";
import {Blocked, Replaced, StoreFull} from "./errors.js";
import {cleanGuid, cleanName, sha256Of} from "./names.js";

const AT_ONCE = 500;
const DOWNLOADS_AT_ONCE = 4;
const NEW_PLANS = 3;
/** With more prefixes than these, all advisories are read, which are one request. */
const PREFIXES_ASKED = 4;
const CONSENTS = ["missing", "conflicts", "advised"];

/**
 * What is installed: planned, downloaded, verified, put, recorded, in this order. The record is written last; while
 * files are put, `suspect` names them, so that a run that was killed is healed by the next one.
 */
export class Installer {
  #transport;
  #store;
  #files;
  #lock;

  constructor(transport, store, files, lock) {
    this.#transport = transport;
    this.#store = store;
    this.#files = files;
    this.#lock = (work) => lock(`modhub ${transport.origin} install`, work);
  }

  async installed() {
    return Object.values(await this.#records());
  }

  /** What it takes to have `want`. Nothing is changed. */
  async plan(want, {signal} = {}) {
    want = want.map(cleanGuid);
    const suspect = await this.#suspect();
    const have = (await this.installed()).filter((mod) => !suspect.includes(mod.guid));
    const json = {want, have: have.map(({guid, version, sha256}) => ({guid, version, sha256}))};
    const plan = await this.#transport.json("POST", "/api/modhub/plan", {json, signal, again: true});
    const versions = new Map(plan.lock.entries.map((entry) => [entry.guid.toLowerCase(), entry.version]));
    const steps = plan.steps.map((step) => {
      const guid = cleanGuid(step.guid);
      return {...step, guid, version: versions.get(guid), name: cleanName(step.name)};
    });
    const advised = await this.advisories(steps.filter(isWork), signal);
    const ok = !advised.length && CONSENTS.every((reason) => !plan[reason]?.length);
    return {...plan, want, steps, advised, ok};
  }

  async install(want, options) {
    return (await this.#lock(() => this.#install(want, options))).placed;
  }

  /** Bring all that was asked for up to date, and remove what nothing requires any more. */
  update(options) {
    return this.#lock(async () => {
      const wanted = (await this.installed()).filter((mod) => mod.wanted).map((mod) => mod.guid);
      if (!wanted.length) return [];
      const {plan, placed} = await this.#install(wanted, options);
      await this.#drop(await this.#unneeded(plan));
      return placed;
    });
  }

  /** Remove these, and what was installed only for them; `Blocked` if something else requires one. */
  remove(want) {
    return this.#lock(async () => {
      const gone = want.map(cleanGuid);
      const mods = await this.installed();
      const left = mods.filter((mod) => mod.wanted && !gone.includes(mod.guid)).map((mod) => mod.guid);
      if (!left.length) return this.#drop(mods);
      const plan = await this.plan(left);
      const required = plan.steps.filter((step) => gone.includes(step.guid));
      if (required.length) throw new Blocked({...plan, required});
      return this.#drop([...mods.filter((mod) => gone.includes(mod.guid)), ...(await this.#unneeded(plan))]);
    });
  }

  /** The installed files that are not as they were put. They are installed again by the next installation or update. */
  verify() {
    return this.#lock(async () => {
      const damage = [];
      for (const {guid, title, name, sha256: expected} of await this.installed()) {
        const blob = await this.#files.read(guid, name);
        const got = blob && (await sha256Of(blob));
        if (got !== expected) damage.push({guid, title, name, expected, got});
      }
      await this.#store.set("suspect", damage.map((each) => each.guid));
      return damage;
    });
  }

  /** What is new for what is installed. */
  async updates({signal} = {}) {
    const mods = await this.installed();
    const found = {changed: [], gone: [], relationsChanged: [], advised: await this.advisories(mods, signal)};
    for (let start = 0; start < mods.length; start += AT_ONCE) {
      const batch = mods.slice(start, start + AT_ONCE);
      const have = batch.map(({guid, version, sha256, relations}) => ({guid, version, sha256, relations}));
      const answer = await this.#transport.json("POST", "/api/modhub/updates", {json: {have}, signal, again: true});
      for (const kind of ["changed", "gone", "relationsChanged"]) found[kind].push(...(answer[kind] ?? []));
    }
    return found;
  }

  /** The advisories that stand about these files. */
  async advisories(mods, signal) {
    if (!mods.length) return [];
    const prefixes = [...new Set(mods.map((mod) => mod.sha256.slice(0, 5)))];
    const paths = prefixes.length > PREFIXES_ASKED ? [""] : prefixes.map((prefix) => `/${prefix}`);
    const standing = new Map();
    for (const path of paths) {
      try {
        const {advisories} = await this.#transport.json("GET", `/api/modhub/advisories${path}`, {signal});
        for (const each of advisories) if (!each.withdrawnAt) standing.set(each.sha256, each);
      } catch (error) {
        if (error.status !== 404) throw error;
        return []; // A service without advisories.
      }
    }
    const warned = mods.filter((mod) => standing.has(mod.sha256));
    return warned.map((mod) => ({guid: mod.guid, title: mod.title, ...standing.get(mod.sha256)}));
  }

  /** Plan, and carry it out; with a new plan if a file was replaced meanwhile. */
  async #install(want, {allow = [], signal, progress} = {}) {
    for (let round = 0; ; round++) {
      const plan = Array.isArray(want) ? await this.plan(want, {signal}) : want;
      if (CONSENTS.some((reason) => plan[reason].length && !allow.includes(reason))) throw new Blocked(plan);
      try {
        return {plan, placed: await this.#carryOut(plan, {signal, progress})};
      } catch (error) {
        if (error?.name === "QuotaExceededError" || error?.code === "ENOSPC") {
          // What has arrived would keep it full.
          for (const step of plan.steps) await this.#files.parts.clear(step.guid);
          throw new StoreFull(error);
        }
        if (!(error instanceof Replaced) || round >= NEW_PLANS) throw error;
        want = plan.want;
      }
    }
  }

  async #carryOut(plan, {signal, progress}) {
    const work = plan.steps.filter(isWork);
    await this.#download(work, signal, progress);
    const records = await this.#records();
    await this.#store.set("suspect", [...new Set([...(await this.#suspect()), ...work.map((step) => step.guid)])]);
    for (const step of work) {
      await this.#files.put(step.guid, step.name, step.sha256);
      await this.#files.parts.clear(step.guid);
      const before = records[step.guid];
      if (before && before.name !== step.name) await this.#files.remove(step.guid, before.name);
    }
    const placed = work.map((step) => step.guid);
    for (const {guid, title, version, sha256, bytes, name, relations, uploadedAt} of plan.steps) {
      const isWanted = plan.want.includes(guid) || Boolean(records[guid]?.wanted);
      const file = placed.includes(guid) ? {version, sha256, bytes, name, uploadedAt} : records[guid];
      records[guid] = {...file, guid, title, relations, wanted: isWanted};
    }
    await this.#store.set("installed", records);
    await this.#store.set("suspect", (await this.#suspect()).filter((guid) => !placed.includes(guid)));
    return placed.map((guid) => records[guid]);
  }

  /** All files, verified, some at a time. If one fails the others stop, and what has arrived is kept. */
  async #download(work, signal, progress) {
    const stop = new AbortController();
    const either = AbortSignal.any(signal ? [signal, stop.signal] : [stop.signal]);
    const bytes = work.reduce((sum, step) => sum + step.bytes, 0);
    const waiting = [...work];
    let received = 0;
    const fetchNext = async () => {
      for (let step; (step = waiting.shift()); ) {
        const {guid, title} = step;
        const arrived = (more) => progress?.({guid, title, bytes, received: (received += more)});
        await new Download(this.#transport, step, this.#files.parts, arrived).run(either);
      }
    };
    const running = Array.from({length: DOWNLOADS_AT_ONCE}, () => fetchNext().catch((error) => stop.abort(error)));
    await Promise.all(running);
    either.throwIfAborted();
  }

  /** What was only required, and is not any more. What a mod requires is unknown once it has gone. */
  async #unneeded(plan) {
    if (plan.stillInstalled.length || plan.missing.length) return [];
    const kept = plan.steps.map((step) => step.guid);
    return (await this.installed()).filter((mod) => !mod.wanted && !kept.includes(mod.guid));
  }

  /** The record goes first: a file without a record is in nobody's way. */
  async #drop(mods) {
    const records = await this.#records();
    for (const mod of mods) delete records[mod.guid];
    await this.#store.set("installed", records);
    for (const mod of mods) await this.#files.remove(mod.guid, mod.name);
    return [...new Set(mods.map((mod) => mod.guid))];
  }

  async #records() {
    return (await this.#store.get("installed")) ?? {};
  }

  async #suspect() {
    return (await this.#store.get("suspect")) ?? [];
  }
}

const isWork = (step) => step.action !== "keep";
