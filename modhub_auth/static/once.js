// Comfort only: a form is sent once, however often its button is pressed.
"use strict";
(() => {
  const sent = new WeakSet();
  document.addEventListener("submit", (event) => {
    if (sent.has(event.target)) event.preventDefault();
    sent.add(event.target);
  });
  // A page that the back button brings back may be sent again.
  addEventListener("pageshow", () => { for (const form of document.forms) sent.delete(form); });
})();
