// Ranks of which no two may be the same: the later choice holds. Without this file the server says so.
"use strict";
document.addEventListener("change", ({ target }) => {
  const { strict } = target.closest("[data-strict]")?.dataset ?? {};
  if (!strict || !target.checked) return;
  for (const other of document.querySelectorAll(`[data-strict="${strict}"] input:checked`)) {
    if (other !== target && other.value === target.value) other.checked = false;
  }
});
