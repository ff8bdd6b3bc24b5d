"use strict";
// What the page does beyond being read: unfold for print and for links, sort tables, tell the value under the pointer.
(() => {
  const folds = [...document.querySelectorAll("details")];
  const unfold = document.getElementById("unfold");
  unfold.hidden = folds.length === 0;
  unfold.addEventListener("click", () => {
    const open = folds.some((fold) => !fold.open);
    for (const fold of folds) fold.open = open;
    unfold.textContent = open ? "Fold all" : "Unfold all";
  });

  let closed = [];
  addEventListener("beforeprint", () => {
    closed = folds.filter((fold) => !fold.open);
    for (const fold of closed) fold.open = true;
  });
  addEventListener("afterprint", () => { for (const fold of closed) fold.open = false; });

  const reveal = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let fold = target?.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
    target?.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  if (location.hash) reveal();

  // A dash has no value and stays at the end; "<.0001", "34.5 %" and "1,234" count by their first number.
  const key = (cell) => {
    const text = cell.textContent.trim().replaceAll("\u2212", "-").replaceAll(",", "");
    const number = /^[<>~+]?-?(\d+\.?\d*|\.\d+)/.exec(text);
    return number ? Number(number[0].replace(/^[<>~+]/, "")) : text === "-" || text === "" ? null : text;
  };
  const before = (a, b) =>
    typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
  for (const table of document.querySelectorAll("table:not(.wide)")) {
    const [head] = table.tHead.rows, body = table.tBodies[0];
    if (body.rows.length < 3) continue;
    [...head.cells].forEach((cell, column) => {
      if (!cell.textContent.trim()) return;
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = cell.textContent;
      cell.replaceChildren(button);
      button.addEventListener("click", () => {
        const down = cell.getAttribute("aria-sort") === "ascending";
        for (const other of head.cells) other.removeAttribute("aria-sort");
        cell.setAttribute("aria-sort", down ? "descending" : "ascending");
        const rows = [...body.rows].map((row) => [key(row.cells[column]), row]);
        rows.sort(([a], [b]) => (a === null) - (b === null) || (a === null ? 0 : (down ? -1 : 1) * before(a, b)));
        body.append(...rows.map(([, row]) => row));
      });
    });
  }

  const value = document.getElementById("value");
  const near = (strip, x) => {
    const gaps = [...strip.querySelectorAll("[data-value]")].map((mark) => {
      const box = mark.getBoundingClientRect();
      return [Math.max(box.left - x, x - box.right, 0) + box.width / 1e4, mark];
    });
    return gaps.sort(([a], [b]) => a - b)[0]?.[1];
  };
  document.addEventListener("pointermove", (event) => {
    const strip = event.target.closest?.(".strip"), mark = strip && near(strip, event.clientX);
    value.hidden = !mark;
    if (!mark) return;
    value.textContent = mark.dataset.value;
    const room = innerWidth - value.offsetWidth - 8;
    value.style.left = `${Math.max(8, Math.min(event.clientX + 12, room))}px`;
    value.style.top = `${event.clientY + 16}px`;
  });
})();
