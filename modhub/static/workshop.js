// Comfort for authors: without this file buttons order the images, files are chosen, and mods and games are typed.
"use strict";
(() => {
  const addLine = (area, line) => {
    const lines = area.value.split("\n").filter((text) => text.trim());
    if (!lines.includes(line)) area.value = [...lines, line].join("\n");
    area.dispatchEvent(new Event("input", { bubbles: true }));
  };

  // Games of the list are added by a click.
  for (const list of document.querySelectorAll("[data-add]")) {
    const area = document.getElementById(list.dataset.add);
    for (const item of list.children) {
      const button = Object.assign(document.createElement("button"), { type: "button", className: "chip" });
      button.textContent = item.textContent.trim();
      button.addEventListener("click", () => addLine(area, item.dataset.value));
      item.replaceChildren(button);
    }
  }

  // Mods are found by their titles while typing.
  const findMods = (input, id, choose) => {
    const found = Object.assign(document.createElement("datalist"), { id });
    input.setAttribute("list", id);
    input.after(found);
    let waiting = 0;
    input.addEventListener("input", () => {
      clearTimeout(waiting);
      if ([...found.children].some((option) => option.value === input.value)) {
        choose(input);
        return;
      }
      if (input.value.trim().length < 2) return;
      waiting = setTimeout(async () => {
        try {
          const answer = await fetch(`/api/modhub?size=10&q=${encodeURIComponent(input.value)}`);
          const { mods } = await answer.json();
          found.replaceChildren(...mods.map((mod) => new Option(mod.title, `${mod.title} – ${mod.guid}`)));
        } catch {
          found.replaceChildren();
        }
      }, 200);
    });
  };
  for (const area of document.querySelectorAll("textarea[data-find]")) {
    const input = Object.assign(document.createElement("input"), { type: "search", autocomplete: "off" });
    input.setAttribute("aria-label", area.dataset.find);
    input.placeholder = area.dataset.find;
    input.addEventListener("keydown", (event) => { if (event.key === "Enter") event.preventDefault(); });
    area.after(input);
    findMods(input, `${area.id}-found`, () => {
      addLine(area, input.value);
      input.value = "";
    });
  }
  // One mod: what is chosen stays in the field.
  for (const field of document.querySelectorAll("input[data-find]")) findMods(field, `${field.id}-found`, () => {});
})();

// Drag images into another order.
(() => {
  let dragged = null;
  let before = "";
  const idsOf = (list) => [...list.children].map((item) => item.dataset.id).join(" ");
  const listOf = (node) => node instanceof Element && node.closest("[data-order]");

  // The handle is the image itself, so that text in the fields can still be selected.
  const prepare = (event) => {
    const image = event.target instanceof Element && event.target.closest("[data-order] img");
    if (image) image.closest("li").draggable = true;
  };
  const release = () => {
    for (const item of document.querySelectorAll('[data-order] li[draggable="true"]')) item.draggable = false;
  };

  document.addEventListener("pointerdown", prepare);
  document.addEventListener("pointerup", release);
  document.addEventListener("dragstart", (event) => {
    const item = event.target instanceof Element && event.target.closest("[data-order] > li");
    if (!item) return;
    dragged = item;
    before = idsOf(listOf(item));
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", item.dataset.id);
    event.dataTransfer.setDragImage(item, 0, 0);
  });
  document.addEventListener("dragover", (event) => {
    const over = event.target instanceof Element && event.target.closest("[data-order] > li");
    if (!dragged || !over || listOf(over) !== listOf(dragged)) return;
    event.preventDefault();
    if (over === dragged) return;
    const isLater = dragged.compareDocumentPosition(over) & Node.DOCUMENT_POSITION_FOLLOWING;
    over[isLater ? "after" : "before"](dragged);
  });
  document.addEventListener("drop", (event) => { if (dragged && listOf(event.target)) event.preventDefault(); });
  document.addEventListener("dragend", () => {
    release();
    if (!dragged) return;
    const list = listOf(dragged);
    dragged = null;
    const value = idsOf(list);
    if (value === before) return;
    const button = Object.assign(document.createElement("button"), {
      name: "order", value, hidden: true, formAction: list.dataset.order, formEnctype: "application/x-www-form-urlencoded",
      formNoValidate: true,
    });
    list.after(button);
    list.closest("form").requestSubmit(button);
  });
})();

// Drop files on a form, or paste a screenshot. Images are sent at once; the other forms wait for their button.
(() => {
  document.documentElement.classList.add("drops");
  const hasFiles = (event) => event.dataTransfer && [...event.dataTransfer.types].includes("Files");
  const formOf = (event) => event.target instanceof Element && event.target.closest("form.upload");
  const mark = (form) => {
    for (const field of document.querySelectorAll(".drop.over")) field.classList.remove("over");
    if (form) form.querySelector(".drop").classList.add("over");
  };
  const give = (form, files) => {
    const input = form.elements.file;
    const chosen = new DataTransfer();
    for (const file of input.multiple ? files : files.slice(0, 1)) chosen.items.add(file);
    input.files = chosen.files;
    input.focus();
    if (input.multiple && !form.querySelector("[type=submit]").disabled) form.requestSubmit();
  };

  // A file that misses the forms must not replace the page, with what is typed on it.
  document.addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    const form = formOf(event);
    event.dataTransfer.dropEffect = form ? "copy" : "none";
    mark(form);
  });
  document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) mark(null); });
  document.addEventListener("drop", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    mark(null);
    const form = formOf(event);
    const files = [...event.dataTransfer.files];
    if (form && files.length) give(form, files);
  });

  document.addEventListener("paste", (event) => {
    const form = [...document.querySelectorAll("form.upload")].find((one) => one.elements.file.multiple);
    const files = [...event.clipboardData.files].filter((file) => file.type.startsWith("image/"));
    const isText = event.clipboardData.types.includes("text/plain") && event.target.matches("input, textarea");
    if (!form || !files.length || isText) return;
    event.preventDefault();
    give(form, files);
  });
})();

// A preview beside a chosen file: without this the file has to be chosen again.
document.addEventListener("submit", (event) => {
  const [form, button] = [event.target, event.submitter];
  if (!form.matches(".upload") || !button || button.name !== "preview" || button.dataset.plain) return;
  event.preventDefault();
  const fields = new FormData(form, button);
  fields.delete("file");
  const asking = new XMLHttpRequest();
  asking.open("POST", button.formAction);
  asking.responseType = "document";
  // Who has to sign in again sees so on the page that the form itself leads to.
  const plainly = () => {
    button.dataset.plain = "yes";
    form.requestSubmit(button);
  };
  asking.addEventListener("error", plainly);
  asking.addEventListener("load", () => {
    const id = new URL(button.formAction).hash.slice(1);
    const [old, found] = [document.getElementById(id), asking.response && asking.response.getElementById(id)];
    if (!found) {
      plainly();
      return;
    }
    if (old) old.remove();
    button.closest(".format").after(document.adoptNode(found));
    found.tabIndex = -1;
    found.focus();
  });
  asking.send(new URLSearchParams(fields));
});
