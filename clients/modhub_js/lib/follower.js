import {Events, wait} from "./waiting.js";

const SHORTEST = 10_000;
const LONGEST_JITTER = 60_000;
const CHANGES_AT_ONCE = 1000;

/**
 * Polls the changes of the catalogue and the advisories, and tells what concerns what is installed: "update", "gone",
 * "advised", "app", and "offline" and "online". Rests while the page is hidden.
 */
export class Follower extends Events {
  #transport;
  #store;
  #installer;
  #catalogue;
  #app;
  #stop = new AbortController();
  #told = new Map();
  #isOffline = false;
  #isFirst = true;

  constructor(transport, store, installer, catalogue, {every = 300_000, app} = {}) {
    super();
    this.#transport = transport;
    this.#store = store;
    this.#installer = installer;
    this.#catalogue = catalogue;
    this.#app = app;
    this.#run(Math.max(every, SHORTEST)).catch(() => {});
  }

  stop() {
    this.#stop.abort();
  }

  async #run(every) {
    const {signal} = this.#stop;
    const jitter = Math.min(every / 5, LONGEST_JITTER);
    for (let pause = 0; ; pause = every - jitter / 2) {
      // Many overlays start at the same time: each polls a little earlier or later than the others.
      await wait(pause + Math.random() * jitter, signal);
      await untilShown(signal);
      try {
        await this.#poll(signal);
        if (this.#isOffline) this.emit("online");
        this.#isOffline = false;
      } catch (error) {
        signal.throwIfAborted();
        if (!this.#isOffline) this.emit("offline", error);
        this.#isOffline = true;
        await wait((error.retryAfter ?? 0) * 1000, signal);
      }
    }
  }

  async #poll(signal) {
    const changes = await this.#changes(signal);
    const installed = await this.#installer.installed();
    const guids = new Set(installed.map((mod) => mod.guid));
    if (this.#isFirst || changes.some((change) => guids.has(change.guid?.toLowerCase()))) {
      const {changed, gone, relationsChanged} = await this.#installer.updates({signal});
      if (changed.length || relationsChanged.length) this.#tell("update", {changed, relationsChanged});
      if (gone.length) this.#tell("gone", gone);
    }
    const advised = await this.#installer.advisories(installed, signal);
    if (advised.length) this.#tell("advised", advised);
    if (this.#app && (this.#isFirst || changes.some((change) => change.kind === "build"))) {
      const build = await this.#catalogue.app(this.#app);
      if (build) this.#tell("app", build);
    }
    this.#isFirst = false;
  }

  /** What has changed since the last poll, of this or an earlier run. */
  async #changes(signal) {
    const changes = [];
    let at = (await this.#store.get("feed")) ?? (await this.#start(signal));
    for (let more = true; more; ) {
      const query = {since: at.serial, feed: at.feed, limit: CHANGES_AT_ONCE};
      try {
        const page = await this.#transport.json("GET", "/api/modhub/changes", {query, signal});
        changes.push(...page.changes);
        ({more, ...at} = {more: page.more, serial: page.serial, feed: page.feed});
        await this.#store.set("feed", at);
      } catch (error) {
        if (error.status !== 410) throw error;
        // The service was restored from a backup: what was read before means nothing.
        this.#isFirst = true;
        at = {serial: 0};
      }
    }
    return changes;
  }

  /** The newest serial that can be had without reading the whole catalogue. */
  async #start(signal) {
    try {
      return await this.#transport.json("GET", "/api/modhub/snapshot", {signal});
    } catch (error) {
      if (error.status !== 404) throw error;
      return {serial: 0};
    }
  }

  /** Tell it, unless the same was told last. */
  #tell(name, value) {
    const text = JSON.stringify(value);
    if (this.#told.get(name) !== text) this.emit(name, value);
    this.#told.set(name, text);
  }
}

/** Resolves when the page is seen, at once where there is none. */
async function untilShown(signal) {
  while (globalThis.document?.visibilityState === "hidden") {
    signal.throwIfAborted();
    await new Promise((resolve) => {
      document.addEventListener("visibilitychange", resolve, {once: true});
      signal.addEventListener("abort", resolve, {once: true});
    });
  }
}
