// Drag images into another order; without this file the buttons below each image do it.
"use strict";
(() => {
  let dragged = null;
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
    const form = document.getElementById(list.dataset.order);
    const order = [...list.children].map((item) => item.dataset.id).join(" ");
    if (!form || form.elements.order.value === order) return;
    form.elements.order.value = order;
    form.requestSubmit();
  });
})();
