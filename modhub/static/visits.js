// What is new on browse since the last visit. It stays in this browser: no cookie, no request.
"use strict";
(() => {
  const KEY = "modhub-visit";
  const PAUSE = 30 * 60 * 1000; // After half an hour without a look at the list another visit begins.

  // "since": the newest change that was seen before this visit; "seen": the newest of all; "at": when it was looked at.
  // Only the beginning of the whole list shows what is newest of all. Who comes by another way first has seen what there is now.
  const visit = (newest, isWhole) => {
    const known = JSON.parse(localStorage.getItem(KEY) || "null") || {};
    const at = Date.now();
    const begins = typeof known.at !== "number" || Math.abs(at - known.at) > PAUSE;
    const first = !known.seen;
    if (first) newest = (isWhole && newest) || new Date(at).toISOString();
    const since = first ? newest : begins ? known.seen : known.since;
    const seen = first || (isWhole && newest > known.seen) ? newest : known.seen;
    localStorage.setItem(KEY, JSON.stringify({ since, seen, at }));
    return since;
  };

  // What is new in a version, in the room of what the mod is: nothing moves. A mod that is new as a whole shares it.
  const tell = (card, isNew) => {
    const [changes, summary] = [card.querySelector(".changes"), card.querySelector(".summary")];
    if (!changes || !summary) return;
    const height = summary.offsetHeight;
    const lines = Math.round(height / parseFloat(getComputedStyle(summary).lineHeight));
    // A row of the front has no summaries.
    if (lines < (isNew ? 2 : 1)) return;
    changes.hidden = false;
    changes.classList.toggle("below", isNew);
    changes.style.webkitLineClamp = String(isNew ? 1 : lines);
    if (isNew) summary.style.webkitLineClamp = "1";
    else changes.style.minBlockSize = `${height}px`;
    summary.hidden = !isNew;
  };

  const mark = () => {
    const line = document.querySelector("[data-since]");
    if (!line || line.dataset.done) return;
    line.dataset.done = "yes";
    const lists = [...document.querySelectorAll(".cards")].map((list) => [...list.querySelectorAll(".card[data-changed]")]);
    // Above the list the front has rows of some of its mods.
    const cards = lists.at(-1) || [];
    const newest = cards.reduce((latest, card) => (card.dataset.changed > latest ? card.dataset.changed : latest), "");
    const isWhole = "whole" in line.dataset;
    const since = visit(newest, isWhole);
    const freshOf = (list) => list.filter((card) => card.dataset.changed > since);
    for (const list of lists) {
      const marked = freshOf(list);
      for (const card of marked) tell(card, card.dataset.published > since);
      // Marks on all cards would mark none.
      if (list.length > 1 && marked.length === list.length) continue;
      for (const card of marked) {
        const badge = document.createElement("span");
        badge.className = "badge";
        badge.textContent = card.dataset.published > since ? line.dataset.new : line.dataset.updated;
        card.querySelector("h3").append(" ", badge);
      }
    }
    const fresh = freshOf(cards);
    if (!fresh.length || !isWhole) return;
    const isAll = fresh.length === cards.length;
    const count = String(fresh.length) + (isAll && "more" in line.dataset ? "+" : "");
    line.textContent = line.dataset.since.replace("{count}", count);
  };

  try {
    mark();
    // The list follows what is typed into the search.
    new MutationObserver(mark).observe(document.querySelector("main"), { childList: true });
  } catch {
    // No storage in this browser: nothing is marked.
  }
})();
