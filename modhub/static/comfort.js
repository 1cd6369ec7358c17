// Comfort only: every page works without this file. It never writes markup, so that Trusted Types can forbid it.
"use strict";
(() => {
  const words = document.currentScript.dataset;
  const make = (name, more = {}) => Object.assign(document.createElement(name), more);
  const said = make("p", { className: "hidden" });
  said.setAttribute("role", "status");
  document.body.append(said);

  // Copy a GUID or a hash.
  for (const code of document.querySelectorAll("code[data-copy]")) {
    if (!navigator.clipboard) break;
    const button = make("button", { type: "button", className: "quiet copier", textContent: words.copy });
    const term = code.closest("div").querySelector("dt");
    if (term) button.setAttribute("aria-label", `${words.copy}: ${term.textContent}`);
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = said.textContent = words.copied;
      } catch {
        getSelection().selectAllChildren(code);
      }
      setTimeout(() => { button.textContent = words.copy; }, 2000);
    });
    code.after(button);
  }

  // How much of a limited field is used, in code points as the service counts them.
  for (const field of document.querySelectorAll("[data-limit]")) {
    const most = Number(field.dataset.limit);
    const count = make("p", { className: "count" });
    count.setAttribute("aria-hidden", "true");
    const show = () => {
      const used = [...field.value].length;
      count.textContent = used * 4 > most * 3 ? `${used} / ${most}` : "";
      count.classList.toggle("over", used > most);
    };
    field.addEventListener("input", show);
    field.after(count);
    show();
  }

  // The list follows what is being typed. The browser parses the page as a document, which runs nothing.
  const search = document.querySelector('.finder input[name="q"]');
  if (search) {
    let waiting = 0;
    let asked = null;
    const follow = () => {
      const address = `${search.form.action}?${new URLSearchParams(new FormData(search.form))}`;
      const asking = new XMLHttpRequest();
      asking.open("GET", address);
      asking.responseType = "document";
      asking.addEventListener("load", () => {
        const page = asking.status === 200 && asking.response;
        const found = page && page.querySelector("section.browse");
        if (!found) return;
        document.querySelector("section.browse").replaceWith(document.adoptNode(found));
        document.title = page.title;
        history.replaceState(null, "", address);
        said.textContent = found.querySelector("h2").textContent;
      });
      asking.send();
      asked = asking;
    };
    search.addEventListener("input", () => {
      clearTimeout(waiting);
      if (asked) asked.abort();
      waiting = setTimeout(follow, 250);
    });
    search.form.addEventListener("submit", () => clearTimeout(waiting));
  }

  // Progress and cancel for uploads; the plain form does the same without.
  for (const form of document.querySelectorAll("form.upload")) {
    form.addEventListener("submit", (event) => {
      const file = form.elements.file.files[0];
      if (!file || !window.FormData) return;
      event.preventDefault();
      const box = form.querySelector(".actions");
      const button = box.querySelector("button");
      let error = form.querySelector("p.error");
      const complain = (message) => {
        if (!error) {
          error = make("p", { className: "error", id: `${form.elements.file.id}-error` });
          error.setAttribute("role", "alert");
          box.before(error);
        }
        error.textContent = message;
        form.elements.file.setAttribute("aria-invalid", "true");
      };
      if (file.size > Number(form.dataset.most)) {
        complain(words.large);
        return;
      }
      const sent = new XMLHttpRequest();
      const bar = make("progress", { max: 1, value: 0 });
      bar.setAttribute("aria-label", words.sending);
      const cancel = make("button", { type: "button", className: "quiet", textContent: words.cancel });
      const over = () => { bar.remove(); cancel.remove(); button.disabled = false; };
      cancel.addEventListener("click", () => { sent.abort(); over(); said.textContent = words.cancelled; button.focus(); });
      sent.upload.addEventListener("progress", (now) => { if (now.lengthComputable) bar.value = now.loaded / now.total; });
      sent.addEventListener("load", () => {
        if (sent.status < 400) {
          location.assign(sent.responseURL);
          return;
        }
        over();
        let message = words.failed;
        try {
          message = JSON.parse(sent.responseText).message;
        } catch { /* not ours: the general sentence stays */ }
        complain(sent.status === 413 ? words.large : message);
      });
      sent.addEventListener("error", () => { over(); complain(words.failed); });
      button.disabled = true;
      box.append(bar, cancel);
      sent.open("POST", form.action);
      sent.setRequestHeader("Accept", "application/json");
      sent.send(new FormData(form));
      said.textContent = words.sending;
    });
  }

  // Images, large, one after the other; without this each is a link.
  const links = [...document.querySelectorAll("[data-viewer] a")];
  if (links.length && window.HTMLDialogElement) {
    const dialog = make("dialog", { className: "viewer" });
    const image = make("img");
    const label = make("p", { className: "soft" });
    const box = make("div", { className: "actions" });
    let at = 0;
    const show = (number) => {
      at = (number + links.length) % links.length;
      image.src = links[at].href;
      image.alt = label.textContent = links[at].querySelector("img").alt;
    };
    const button = (text, act) => {
      const made = make("button", { type: "button", className: "quiet", textContent: text });
      made.addEventListener("click", act);
      box.append(made);
      return made;
    };
    if (links.length > 1) {
      button(words.previous, () => show(at - 1));
      button(words.next, () => show(at + 1));
    }
    button(words.close, () => dialog.close());
    dialog.setAttribute("aria-label", words.images);
    dialog.append(image, label, box);
    dialog.addEventListener("keydown", (event) => {
      if (event.key === "ArrowLeft") show(at - 1);
      if (event.key === "ArrowRight") show(at + 1);
    });
    dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
    dialog.addEventListener("close", () => links[at].focus());
    document.body.append(dialog);
    links.forEach((link, number) => link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      show(number);
      dialog.showModal();
    }));
  }
})();
