import {events, untilShown, wait} from "./waiting.js";

const SHORTEST = 10_000;
const LONGEST_JITTER = 60_000;
const CHANGES_AT_ONCE = 1000;

/**
 * Polls the changes of the catalogue and the advisories, and tells what concerns what is installed: "update", "gone",
 * "advised", "app", and "offline" and "online". Rests while the page is hidden.
 */
export function follow(transport, store, installer, catalogue, {every = 300_000, app} = {}) {
  const {on, emit} = events();
  const stopping = new AbortController();
  const {signal} = stopping;
  const told = new Map();
  /** Where this follower is in the feed; other windows have one of their own. */
  let at;
  let isFirst = true;
  let isOffline = false;

  /** Tell it, unless it is nothing, or the same as last. */
  function tell(name, value, isSomething) {
    const text = JSON.stringify(value);
    if (isSomething && told.get(name) !== text) emit(name, value);
    told.set(name, text);
  }

  /** What has changed since the last poll, of this or an earlier run. */
  async function readChanges() {
    const changes = [];
    // Without an earlier run the newest serial that can be had without reading the whole catalogue.
    const absent = {serial: 0};
    at ??= (await store.get("feed")) ?? (await transport.json("GET", "/api/modhub/snapshot", {signal, absent}));
    for (let more = true; more; ) {
      const query = {since: at.serial, feed: at.feed, limit: CHANGES_AT_ONCE};
      try {
        const page = await transport.json("GET", "/api/modhub/changes", {query, signal});
        changes.push(...page.changes);
        more = page.more;
        at = {serial: page.serial, feed: page.feed};
        await store.set("feed", at);
      } catch (error) {
        if (error.status !== 410) throw error;
        // The service was restored from a backup: what was read before means nothing.
        isFirst = true;
        at = {serial: 0};
      }
    }
    return changes;
  }

  async function poll() {
    const changes = await readChanges();
    const installed = await installer.installed();
    const guids = new Set(installed.map((mod) => mod.guid));
    if (isFirst || changes.some((change) => guids.has(change.guid?.toLowerCase()))) {
      const {changed, gone, relationsChanged} = await installer.updates({signal});
      tell("update", {changed, relationsChanged}, changed.length || relationsChanged.length);
      tell("gone", gone, gone.length);
    }
    const advised = await installer.advisories(installed, signal);
    tell("advised", advised, advised.length);
    if (app && (isFirst || changes.some((change) => change.kind === "build"))) {
      const build = await catalogue.app(app);
      tell("app", build, build);
    }
    isFirst = false;
  }

  async function run() {
    const interval = Math.max(every, SHORTEST);
    const jitter = Math.min(interval / 5, LONGEST_JITTER);
    for (let pause = 0; ; pause = interval - jitter / 2) {
      // Many overlays start at the same time: each polls a little earlier or later than the others.
      await wait(pause + Math.random() * jitter, signal);
      await untilShown(signal);
      try {
        await poll();
        if (isOffline) emit("online");
        isOffline = false;
      } catch (error) {
        signal.throwIfAborted();
        if (!isOffline) emit("offline", error);
        isOffline = true;
        await wait((error.retryAfter ?? 0) * 1000, signal);
      }
    }
  }

  run().catch(() => {});
  return {on, stop: () => stopping.abort()};
}
