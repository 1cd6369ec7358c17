// The images of a mod, large, one after the other. Without this each is a link to the original.
"use strict";
(() => {
  const gallery = document.querySelector("[data-viewer]");
  if (!gallery || !window.HTMLDialogElement) return;
  const words = gallery.dataset;
  const links = [...gallery.querySelectorAll("figure > a")];
  const SWIPE = 40; // Pixels: less is a tap.
  const make = (name, more = {}) => Object.assign(document.createElement(name), more);

  const dialog = make("dialog", { className: "viewer" });
  const image = make("img", { alt: "", draggable: false });
  const caption = make("p", { className: "caption", dir: "auto" });
  const counter = make("p", { className: "counter" });
  const original = make("a", { textContent: words.original });
  let at = 0;

  const show = (number) => {
    at = (number + links.length) % links.length;
    const link = links[at];
    const written = link.parentElement.querySelector("figcaption");
    // The original may be ten times as heavy.
    image.src = link.dataset.large || link.href;
    image.alt = link.querySelector("img").alt;
    caption.textContent = written ? written.textContent : "";
    counter.textContent = links.length > 1 ? `${at + 1} / ${links.length}` : "";
    original.href = link.href;
  };

  const button = (className, label, sign, act) => {
    const made = make("button", { type: "button", className, textContent: sign });
    made.setAttribute("aria-label", label);
    made.addEventListener("click", act);
    return made;
  };

  dialog.setAttribute("aria-label", words.images);
  const live = make("div", { className: "about" });
  live.setAttribute("aria-live", "polite");
  live.append(counter, caption, original);
  dialog.append(image, live);
  if (links.length > 1) {
    dialog.append(
      button("previous", words.previous, "‹", () => show(at - 1)),
      button("next", words.next, "›", () => show(at + 1)),
    );
  }
  const close = button("close", words.close, "×", () => dialog.close());
  dialog.append(close);

  dialog.addEventListener("keydown", (event) => {
    if (event.key === "ArrowLeft") show(at - 1);
    if (event.key === "ArrowRight") show(at + 1);
  });
  let from = null;
  image.addEventListener("pointerdown", (event) => { from = event.clientX; });
  dialog.addEventListener("pointerup", (event) => {
    if (from !== null && Math.abs(event.clientX - from) > SWIPE) show(event.clientX < from ? at + 1 : at - 1);
    from = null;
  });
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  // Going back closes the images and stays on the page.
  dialog.addEventListener("close", () => {
    if (history.state && history.state.viewer) history.back();
    links[at].focus();
  });
  addEventListener("popstate", () => dialog.close());
  links.forEach((link, number) => link.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    show(number);
    history.pushState({ viewer: true }, "");
    document.body.append(dialog); // Not before it shows an image: its link leads nowhere yet.
    dialog.showModal();
    close.focus(); // Else the link to the original, which Enter would follow.
  }));
})();
