// Comfort only: every page works without this file. It never writes markup, so that Trusted Types can forbid it.
"use strict";
(() => {
  const words = document.currentScript.dataset;
  const make = (name, more = {}) => Object.assign(document.createElement(name), more);
  const said = make("p", { className: "hidden" });
  said.setAttribute("role", "status");
  document.body.append(said);

  // A link to a program that is not installed does nothing and says nothing.
  for (const link of document.querySelectorAll("a[data-missing]")) {
    link.addEventListener("click", () => setTimeout(() => {
      if (document.hidden || !document.hasFocus() || link.dataset.said) return;
      link.dataset.said = "yes";
      const hint = make("p", { className: "hint" });
      hint.setAttribute("role", "status");
      hint.append(make("a", { href: link.dataset.help, textContent: link.dataset.missing }));
      link.closest("p").after(hint);
    }, 1500));
  }

  // Copy a GUID or a hash.
  for (const code of document.querySelectorAll("code[data-copy]")) {
    if (!navigator.clipboard) break;
    const button = make("button", { type: "button", className: "quiet copier" });
    const label = make("span", { textContent: words.copy });
    const term = code.closest("div").querySelector("dt").textContent;
    button.append(label, " ", make("span", { className: "hidden", textContent: term }));
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(code.textContent);
        label.textContent = said.textContent = words.copied;
      } catch {
        getSelection().selectAllChildren(code);
      }
      setTimeout(() => { label.textContent = words.copy; }, 2000);
    });
    code.after(button);
  }

  // How much of a limited field is used, in code points as the service counts them.
  const grouped = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, words.thousands);
  for (const field of document.querySelectorAll("[data-limit]")) {
    const most = Number(field.dataset.limit);
    const shown = make("p", { className: "count" });
    shown.setAttribute("aria-hidden", "true");
    const show = () => {
      const used = [...field.value].length;
      shown.textContent = used * 4 > most * 3 ? `${grouped(used)} / ${grouped(most)}` : "";
      shown.classList.toggle("over", used > most);
    };
    field.addEventListener("input", show);
    field.after(shown);
    show();
  }

  // What was done is said once, not at each reload; what was refused is read first.
  const address = new URL(location);
  if (address.searchParams.has("done")) {
    for (const name of ["done", "trimmed"]) address.searchParams.delete(name);
    history.replaceState(history.state, "", address);
  }
  const errors = document.getElementById("errors");
  if (errors) errors.focus();

  // The list follows what is being typed and chosen. The browser parses the page as a document, which runs nothing.
  const search = document.querySelector('.finder input[name="q"]');
  if (search) {
    let waiting = 0;
    let asked = null;
    // An address names nothing empty. Its order it names always: without a query it would be the front.
    search.form.addEventListener("formdata", (event) => {
      for (const field of search.form.elements) if (!field.value) event.formData.delete(field.name);
    });
    const links = 'link[rel="canonical"], link[rel="alternate"]';
    // All around the search: the front has a head and rows.
    const surround = (other) => {
      const main = search.form.parentElement;
      for (const element of [...main.children]) if (element !== search.form) element.remove();
      let isAbove = true;
      for (const element of [...other.parentElement.children]) {
        if (element === other) isAbove = false;
        else if (isAbove) search.form.before(document.adoptNode(element));
        else main.append(document.adoptNode(element));
      }
    };
    const follow = () => {
      const query = new URLSearchParams(new FormData(search.form)).toString();
      const wanted = search.form.action + (query && `?${query}`);
      const asking = new XMLHttpRequest();
      asking.open("GET", wanted);
      asking.responseType = "document";
      asking.addEventListener("load", () => {
        const page = asking.status === 200 && asking.response;
        if (!page || !page.querySelector("section.browse")) return;
        for (const link of document.querySelectorAll(links)) link.remove();
        for (const link of page.querySelectorAll(links)) document.head.append(document.adoptNode(link));
        surround(page.querySelector(".finder"));
        document.title = page.title;
        history.replaceState(null, "", wanted);
        said.textContent = document.getElementById("results")?.textContent ?? "";
      });
      asking.send();
      asked = asking;
    };
    const later = (pause) => {
      clearTimeout(waiting);
      if (asked) asked.abort();
      waiting = setTimeout(follow, pause);
    };
    search.addEventListener("input", () => later(250));
    search.form.addEventListener("change", (event) => { if (event.target !== search) later(0); });
    search.form.addEventListener("submit", () => clearTimeout(waiting));
  }

  // Nothing that was typed goes without being asked about.
  const unsent = new Set();
  let sending = null;
  for (const form of document.querySelectorAll("form.again")) unsent.add(form);
  document.addEventListener("input", (event) => {
    if (event.target.form && event.target.form.matches(".words")) unsent.add(event.target.form);
  });
  addEventListener("beforeunload", (event) => { if (unsent.size || sending) event.preventDefault(); });

  // A form that stood while somebody signed in again gets the token of now: every page with a form has it.
  const renew = (form, then) => {
    const asking = new XMLHttpRequest();
    asking.open("GET", form.action);
    asking.responseType = "document";
    asking.addEventListener("loadend", () => {
      const found = asking.response && asking.response.querySelector('input[name="csrf_token"]');
      if (found) for (const field of document.querySelectorAll('input[name="csrf_token"]')) field.value = found.value;
      then(Boolean(found));
    });
    asking.send();
  };

  // What is wrong, beside its field and tied to it; what else there is to say, below the form's buttons.
  const complain = (field, message) => {
    const id = `${field.id}-error`;
    let error = document.getElementById(id);
    if (!error) {
      error = make("p", { className: "error", id });
      error.setAttribute("role", "alert");
      field.closest(".field").append(error);
      field.setAttribute("aria-describedby", `${field.getAttribute("aria-describedby") || ""} ${id}`.trim());
    }
    error.textContent = message;
    const done = field.form.querySelector("p.done");
    if (done) done.textContent = "";
    // Above may stand what an earlier upload did.
    const before = document.querySelector(".note.good");
    if (before) before.remove();
    field.setAttribute("aria-invalid", "true");
    field.focus();
    return error;
  };
  const forgive = (form) => {
    for (const error of form.querySelectorAll("p.error")) error.textContent = "";
    for (const field of form.querySelectorAll("[aria-invalid]")) field.removeAttribute("aria-invalid");
  };
  const hint = (form, message) => {
    const shown = form.querySelector("p.done") || make("p", { className: "hint done" });
    shown.textContent = said.textContent = message;
    form.append(shown);
  };

  // Progress and cancel for uploads; the plain form does the same without.
  const upload = (form, renewed = false) => {
    const asking = sending = new XMLHttpRequest();
    const file = form.elements.file;
    const buttons = [...document.querySelectorAll("form.upload button")];
    const bar = make("progress", { max: 1, value: 0 });
    bar.setAttribute("aria-label", words.sending);
    const cancel = make("button", { type: "button", className: "quiet", textContent: words.cancel });
    asking.addEventListener("readystatechange", () => {
      if (asking.readyState !== XMLHttpRequest.HEADERS_RECEIVED) return;
      asking.responseType = (asking.getResponseHeader("Content-Type") || "").includes("json") ? "json" : "document";
    });
    asking.upload.addEventListener("progress", (now) => { if (now.lengthComputable) bar.value = now.loaded / now.total; });
    cancel.addEventListener("click", () => asking.abort());
    asking.addEventListener("loadend", () => {
      sending = null;
      bar.remove();
      cancel.remove();
      for (const button of buttons) button.disabled = false;
    });
    asking.addEventListener("abort", () => { keep(); hint(form, words.cancelled); file.focus(); });
    asking.addEventListener("error", () => { keep(); complain(file, words.failed); });
    asking.addEventListener("load", () => {
      const answer = asking.response;
      const done = asking.status < 400 && answer && answer.querySelector(".workshop > [data-message]");
      if (done && unsent.size) {
        // Something was typed meanwhile, and stays.
        hint(form, done.textContent);
        file.value = "";
        return;
      }
      if (done) {
        sending = null;
        location.assign(asking.responseURL);
        return;
      }
      keep();
      if (answer && answer.error === "form_lapsed" && !renewed) {
        renew(form, (found) => { if (found) upload(form, true); else complain(file, answer.message); });
        return;
      }
      const field = (answer && answer.field && form.elements[answer.field]) || file;
      const error = complain(field, (answer && answer.message) || words.failed);
      if (answer && answer.signIn) {
        error.append(" ", make("a", { href: answer.signIn, target: "_blank", textContent: words.signin }));
      }
    });
    for (const button of buttons) button.disabled = true;
    [...form.querySelectorAll(".actions")].at(-1).append(bar, cancel);
    asking.open("POST", form.action);
    asking.setRequestHeader("Accept", "application/json");
    asking.send(new FormData(form));
    const isTyped = unsent.delete(form);
    const keep = () => { if (isTyped) unsent.add(form); };
    hint(form, words.sending);
  };

  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (event.submitter && event.submitter.name === "preview" && form.matches(".upload")) return;
    const files = form.matches(".upload") ? [...form.elements.file.files] : [];
    // Its other buttons have addresses of their own.
    if (files.length && !(event.submitter && event.submitter.hasAttribute("formaction"))) {
      event.preventDefault();
      if (sending) return;
      forgive(form);
      if (files.some((file) => file.size > Number(form.dataset.most))) complain(form.elements.file, words.large);
      else upload(form);
    } else if (form.matches(".again") && !form.dataset.renewed) {
      event.preventDefault();
      form.dataset.renewed = "yes";
      renew(form, () => { unsent.delete(form); form.submit(); });
    } else {
      unsent.delete(form);
    }
  });
})();
