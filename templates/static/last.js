// The last questions: what is filled in stands there again after a reload, and goes along with who leaves by the way out.
// Without this file "Send these answers" alone sends them.
"use strict";
{
  const KEY = "last-questions"; // in this tab only, until it is sent
  const form = document.querySelector("form.about"), note = document.getElementById("unsent");
  const wayOut = (target) => target?.closest(".out a, .out form");
  const fields = () => [...new FormData(form)].filter(([name]) => name.startsWith("about-"));
  const filled = () => fields().some(([, value]) => value.trim()) || form.querySelector(":checked") !== null;
  const kept = () => { try { return JSON.parse(sessionStorage.getItem(KEY)); } catch { return null; } };
  const keep = (draft) => { try { draft ? sessionStorage.setItem(KEY, JSON.stringify(draft)) : sessionStorage.removeItem(KEY); } catch { /* blocked: nothing is kept */ } };

  function changed() {
    keep({ seat: form.elements.seat.value, told: fields() });
    note.hidden = !filled() || !wayOut(document.querySelector(".out :is(a, form)"));
  }

  // What was sent and came back incomplete stands there already.
  function restore() {
    const draft = kept();
    if (filled() || draft?.seat !== form.elements.seat.value) return;
    for (const [name, value] of draft.told) {
      for (const one of document.getElementsByName(name)) one.type === "radio" ? one.checked = one.value === value : one.value = value;
    }
  }

  // Nothing is waited for: who leaves is on the way already.
  function tell({ target }) {
    if (!wayOut(target) || !filled()) return;
    const told = new URLSearchParams(new FormData(form));
    told.set("leaving", "yes");
    navigator.sendBeacon(form.action, told);
  }

  if (form) {
    restore();
    changed();
    form.addEventListener("input", changed);
    document.addEventListener("click", (event) => event.target.closest("a") && tell(event));
    document.addEventListener("submit", tell);
  } else keep(null); // it was told
}
