// Marks what is new in a list since the last visit. That stays in this browser: no cookie, no request.
"use strict";
(() => {
  const KEY = "modhub-visit";
  const PAUSE = 30 * 60 * 1000; // After half an hour without a look at a list another visit begins.

  // "since": when the visit before this one ended; "at": the last look.
  const visit = () => {
    const now = Date.now();
    const known = JSON.parse(localStorage.getItem(KEY) || "null") || {};
    const continues = now - known.at < PAUSE;
    const since = (continues ? known.since : known.at) || now;
    localStorage.setItem(KEY, JSON.stringify({ since, at: now }));
    return since;
  };

  // What is new in a version, in the room of what the mod is: nothing moves. A mod that is new as a whole shares it.
  const tell = (card, isNew) => {
    const [changes, summary] = [card.querySelector(".changes"), card.querySelector(".summary")];
    if (!changes || !summary) return;
    const height = summary.offsetHeight;
    const lines = Math.round(height / parseFloat(getComputedStyle(summary).lineHeight));
    if (lines < (isNew ? 2 : 1)) return;
    changes.hidden = false;
    changes.classList.toggle("below", isNew);
    changes.style.webkitLineClamp = String(isNew ? 1 : lines);
    if (isNew) summary.style.webkitLineClamp = "1";
    else changes.style.minBlockSize = `${height}px`;
    summary.hidden = !isNew;
  };

  const mark = () => {
    const list = document.querySelector(".browse[data-new]");
    if (!list || list.dataset.done) return;
    list.dataset.done = "yes";
    const since = visit();
    for (const cards of list.querySelectorAll(".cards")) {
      const all = [...cards.querySelectorAll(".card")];
      const changed = all.filter((card) => Date.parse(card.dataset.changed) > since);
      for (const card of changed) {
        const isNew = Date.parse(card.dataset.published) > since;
        tell(card, isNew);
        // Marks on all cards would mark none.
        if (changed.length === all.length && all.length > 1) continue;
        if (card.querySelector(".badge")) continue;
        const badge = document.createElement("span");
        badge.className = "badge";
        badge.textContent = isNew ? list.dataset.new : list.dataset.updated;
        card.querySelector("h3").append(" ", badge);
      }
    }
  };

  try {
    mark();
    // The list follows what is typed into the search.
    new MutationObserver(mark).observe(document.querySelector("main"), { childList: true });
  } catch {
    // No storage in this browser: nothing is marked.
  }
})();
