// Live conversations: what is said goes and comes without the page being loaded. Without this file the same forms work,
// and a page that waits looks again by itself.
"use strict";
{
  const LOOKS = [700, 1000, 1000, 1500, 1500, 2000]; // ms between looks at whether both have answered; the last one stays
  const DRAFT = "said "; // of what is being written, where the page is left: for this tab only
  let timer = null, looks = 0, sending = false;

  const form = () => document.getElementById("pair");
  const box = () => form()?.querySelector("textarea[name=text]");
  const stage = (of) => of?.elements.stage?.value;
  const draftOf = (of) => DRAFT + of.elements.lease.value + of.elements.turn.value;

  function keepDraft() {
    try { sessionStorage.setItem(draftOf(form()), box().value); } catch { /* storage is blocked: nothing is kept */ }
  }
  function restoreDraft() {
    try {
      if (box() && !box().value) box().value = sessionStorage.getItem(draftOf(form())) ?? "";
    } catch { /* as above */ }
  }

  // A page may hold what was there before, so only new lines are put in: a screen reader reads those and nothing else.
  function take(answer) {
    const next = answer?.html && new DOMParser().parseFromString(answer.html, "text/html").getElementById("pair");
    if (!next) return answer && answer.status !== "task" && answer.next ? location.assign(answer.next) : undefined;
    const now = form();
    history.replaceState(null, "", answer.next);
    if (next.elements.lease.value !== now.elements.lease.value) {
      show(answer.html);
      return begin();
    }
    if (stage(next) === stage(now) && next.elements.turn.value === now.elements.turn.value && !sending) return begin();
    const columns = now.querySelectorAll(".talk ol"), places = [];
    next.querySelectorAll(".talk ol").forEach((list, side) => {
      const lines = [...list.children].slice(columns[side].children.length);
      columns[side].append(...lines.map((line) => document.importNode(line, true)));
      places.push(columns[side].closest(".talk"));
    });
    const above = now.querySelector(".talks");
    while (above.nextSibling) above.nextSibling.remove();
    next.querySelectorAll("noscript").forEach((part) => part.remove());
    while (next.querySelector(".talks").nextSibling) above.parentNode.append(document.adoptNode(next.querySelector(".talks").nextSibling));
    for (const name of ["turn", "stage"]) now.elements[name].value = next.elements[name].value;
    const left = now.querySelector("#minutes"), given = next.querySelector("#minutes");
    if (left && given) left.dataset.given = Number(given.textContent) + (performance.now() - shownAt) / 60000;
    for (const column of places) { // what was said last stands at the top, so that a long answer is read from its head
      const said = [...column.querySelectorAll("li.other")].at(-1);
      if (said) column.scrollTop += said.getBoundingClientRect().top - column.getBoundingClientRect().top - 60;
    }
    lock();
    begin();
    const active = document.activeElement, types = matchMedia("(hover: hover)").matches; // else a keyboard would cover the answers
    if (types && (!active || active === document.body)) (box() ?? now.querySelector(".ways button, .answers button"))?.focus({ preventScroll: true });
  }

  function begin() {
    clearTimeout(timer);
    restoreDraft();
    if (stage(form()) !== "wait") {
      looks = 0;
      return;
    }
    timer = setTimeout(look, LOOKS[Math.min(looks++, LOOKS.length - 1)]);
  }

  async function look() {
    try {
      const reply = await fetch(form().dataset.next, { headers: { "X-Requested-With": "fetch" } });
      if (reply.ok) return take(await reply.json());
    } catch { /* not reachable: look again later */ }
    begin();
  }

  async function talk(button) {
    const now = form(), body = new URLSearchParams(new FormData(now, button));
    if (sending || (button.formAction.endsWith("/say") && !box().value.trim())) return box()?.focus();
    sending = true;
    now.setAttribute("aria-busy", "true");
    const answer = await send(button.formAction, body);
    now.removeAttribute("aria-busy");
    if (answer?.html || (answer && answer.status !== "task" && !FAILURES.includes(answer.status) && answer.next)) {
      try { sessionStorage.removeItem(draftOf(now)); } catch { /* storage is blocked */ }
      say("", "");
      take(answer);
    } else {
      say(answer?.said || word("failed", "Not saved. Check your connection and answer again."), "not_saved");
    }
    sending = false;
  }

  document.addEventListener("submit", (event) => {
    const button = event.submitter;
    if (event.target.id !== "pair" || !button || !("talk" in button.dataset)) return;
    event.preventDefault();
    event.stopImmediatePropagation(); // hit.js sends votes, and waits until both were read
    talk(button);
  }, true);

  document.addEventListener("keydown", (event) => {
    if (event.target !== box() || event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    if (matchMedia("(hover: none)").matches) return; // a keyboard on the screen has no other key for a new line
    event.preventDefault();
    form().querySelector("[data-talk]").click();
  });
  document.addEventListener("input", (event) => { if (event.target === box()) keepDraft(); });

  begin();
}
