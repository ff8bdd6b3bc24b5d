// One key or click answers, saves and moves on. Without this file the same forms work as plain pages.
"use strict";
const KEYS = { 1: "left", a: "left", 2: "right", b: "right", 3: "tie", t: "tie" };
const SEEN = 500; // ms for which the head and the end of each response must have been on the screen before an answer
const PATIENCE = 15000; // ms for one reply
const WAITS = [500, 1000, 2000, 4000]; // ms between tries while the server cannot be reached
const FAILURES = ["not_saved", "busy", "failed", "too_large"]; // the page stays as it is, with what was answered
let shownAt = performance.now();
let busy = false;
let unseen = new Map(); // what was not on the screen long enough: its timer while it is on the screen, else null
let unread = new Map(); // the same of what an answer need not wait for
let chatWatch, chatSince = null, chatTime = 0; // since when some of the conversation is on the screen, and for how long it was before

const noticed = { left: 0, copied: 0, pasted: 0 }; // sent where the study counts them; never what was copied or pasted

const pair = () => document.getElementById("pair");
const button = (value) => pair()?.querySelector(`button[name=choice][value=${value}]`);
const pause = (time) => new Promise((done) => setTimeout(done, time));

// Emptied first, so that the same word said again is seen and read out again.
function say(text, kind) {
  const note = document.getElementById("note");
  if (!note) return; // worked examples have none
  note.textContent = "";
  setTimeout(() => { [note.textContent, note.className] = [text, kind]; }, 50);
}

// What to say, in the page's language where it is not English.
const word = (name, english) => document.getElementById("note")?.dataset[name] ?? english;

async function send(url, body) {
  for (const wait of [...WAITS, null]) {
    try {
      const signal = AbortSignal.timeout(PATIENCE);
      const reply = await fetch(url, { method: "POST", headers: { "X-Requested-With": "fetch" }, body, signal });
      const later = reply.status >= 500 || reply.status === 429; // the server is in trouble or asks for patience
      const answer = later && wait !== null ? null : await reply.json();
      if (answer) return answer;
    } catch { /* no network, or no JSON: try again */ }
    if (wait === null) return null;
    say(word("trying", "Not saved yet, trying again"), "not_saved");
    await pause(wait);
  }
}

// Seen before judged: the answers are locked until each turn and each response was on the screen, from head to end.
// `unlock` in hit.toml says for what they wait: the conversation too (seen), the responses, or nothing (open).
function unlock() {
  pair()?.querySelectorAll(".answers button").forEach((button) => {
    if (unseen.size) button.setAttribute("aria-disabled", "true");
    else button.removeAttribute("aria-disabled");
  });
}

function lock() {
  for (const timer of [...unseen.values(), ...unread.values()]) clearTimeout(timer);
  [unseen, unread] = [new Map(), new Map()];
  const answers = pair()?.querySelector(".answers");
  if (!answers) return;
  const bar = getComputedStyle(answers).position === "sticky" ? answers.offsetHeight : 0; // it covers what is below
  const margin = { rootMargin: `0px 0px -${bar}px` };
  const watch = new IntersectionObserver((changes) => changes.forEach(({ target, isIntersecting }) => {
    const parts = [unseen, unread].find((some) => some.has(target));
    if (!parts) return;
    clearTimeout(parts.get(target));
    parts.set(target, isIntersecting ? setTimeout(() => seen(target, parts), SEEN) : null);
  }), margin);
  const seen = (target, parts) => {
    watch.unobserve(target);
    parts.delete(target);
    unlock();
  };
  const waitFor = (head, text, parts) => {
    const end = document.createElement("span");
    text.append(end);
    for (const part of [head, end]) {
      parts.set(part, null);
      watch.observe(part);
    }
  };
  const waitsFor = pair().dataset.unlock ?? "seen";
  for (const turn of pair().querySelectorAll(".chat li")) {
    waitFor(turn.querySelector(".who"), turn.lastElementChild, waitsFor === "seen" ? unseen : unread);
  }
  for (const response of pair().querySelectorAll(".response")) {
    waitFor(response.querySelector("h3"), response.querySelector(".said"), waitsFor === "open" ? unread : unseen);
  }
  for (const box of pair().querySelectorAll(".chat li, .response")) { // what is to be loaded or played: media.js
    const waits = box.matches(".response") ? waitsFor !== "open" : waitsFor === "seen";
    for (const media of globalThis.mediaWaiting?.(box) ?? []) (waits ? unseen : unread).set(media, null);
  }
  unlock();
  chatWatch?.disconnect();
  [chatSince, chatTime] = [null, 0];
  chatWatch = new IntersectionObserver((changes) => timeChat(changes.at(-1).isIntersecting), margin);
  for (const chat of pair().querySelectorAll(".chat")) chatWatch.observe(chat);
}

function mediaSeen(media) {
  for (const parts of [unseen, unread]) parts.delete(media);
  unlock();
}

// Also called before an answer is sent, for the time until then.
function timeChat(isOnScreen) {
  const now = performance.now();
  if (chatSince !== null) chatTime += now - chatSince;
  chatSince = isOnScreen ? now : null;
}

// What is stored of the screen with an answer: the kind of device, the turns that were on it, and for how many seconds.
function view() {
  const touched = matchMedia("(hover: none) and (pointer: coarse)").matches;
  const device = !touched ? "desktop" : Math.min(screen.width, screen.height) < 600 ? "phone" : "tablet";
  const parts = [...unseen.keys(), ...unread.keys()];
  const turns = [...pair().querySelectorAll(".chat li")].filter((turn) => !parts.some((part) => turn.contains(part)));
  timeChat(chatSince !== null);
  return [device, turns.length, (chatTime / 1000).toFixed(2)].join();
}

// A key or click that comes too early: nothing where the time is not over, else the way to what was not seen.
function tooEarly() {
  const [hidden] = [...unseen].find(([, timer]) => timer === null) ?? [];
  if (!hidden) return;
  if (hidden.matches(".media *")) return leadToMedia(hidden);
  const response = hidden.closest(".response"), letter = response?.querySelector("h3").lastChild.textContent;
  if (!response) {
    hidden.scrollIntoView({ block: "center" });
    return say(word("unreadAbove", "Please read the whole conversation first"), "unseen");
  }
  if (response.matches(".talk")) return leadTo(response, letter); // a conversation: conversations.js
  hidden.scrollIntoView({ block: "center" });
  say(word("unseen", "Please look at response @ to its end first").replace("@", letter), "unseen");
}

function show(html) {
  pair().outerHTML = html;
  shownAt = performance.now();
  Object.assign(noticed, { left: 0, copied: 0, pasted: 0 });
  lock();
  pair().querySelector("h1").focus({ preventScroll: true });
  window.scrollTo({ top: 0 });
}

async function submit(form, pressed) {
  busy = true;
  form.setAttribute("aria-busy", "true");
  if (pressed.name === "choice") pressed.classList.add("chosen");
  if (form.elements.noticed) form.elements.noticed.value = Object.values(noticed).join(",");
  if (form.elements.view) form.elements.view.value = view();
  form.elements.seconds.value = ((performance.now() - shownAt) / 1000).toFixed(2);
  const answer = await send(pressed.hasAttribute("formaction") ? pressed.formAction : form.action, new URLSearchParams(new FormData(form, pressed)));
  busy = false;
  if (answer?.kept) keep(answer.kept);
  if (answer?.html) {
    show(answer.html);
    history.replaceState(null, "", answer.next); // so that a page that is loaded again can still take this answer back
    say(answer.said, answer.note);
  } else if (answer && !FAILURES.includes(answer.status) && !(answer.status === "bad_request" && wrote(form))) {
    location.assign(answer.next ?? form.dataset.next);
  } else {
    form.removeAttribute("aria-busy");
    pressed.classList.remove("chosen");
    say(answer?.said || (answer?.status === "bad_request"
      ? word("refused", "Not saved: this page is out of date. Copy what you wrote, then load the page again.")
      : word("failed", "Not saved. Check your connection and answer again.")), "not_saved");
  }
}

// What somebody typed is on this page and nowhere else, so a refused save leaves it there.
const wrote = (form) => [...form.querySelectorAll("textarea")].some((box) => box.value.trim());

document.addEventListener("submit", (event) => {
  const form = event.target;
  const locked = form.id === "pair" && unseen.size > 0 && !event.submitter.classList.contains("undo");
  if (!locked && (form.id !== "pair" || !form.elements.lease.value)) return; // consent and worked examples: plain forms
  event.preventDefault();
  if (locked) tooEarly();
  else if (!busy) submit(form, event.submitter);
});

// A digit is a digit where the keyboard writes another sign without Shift (AZERTY), and where the letters are not
// Latin a key is taken by its place.
function pressed(event) {
  const key = event.key.toLowerCase(), place = event.code.replace(/^(Key|Digit|Numpad)/, "").toLowerCase();
  return !event.shiftKey && /^[1-9]$/.test(place) || key > "~" ? place : key;
}

// A box that scrolls needs no focus for Page Down: the responses in turn, from their heads to their ends, then the page;
// Page Up goes the same way back, and then up the conversation.
function turnPage(event) {
  const down = event.key === "PageDown", from = event.target;
  if (!down && event.key !== "PageUp" || event.ctrlKey || event.metaKey || event.altKey || !pair()) return;
  if (!from.matches("body, h1, button, input[type=radio], input[type=checkbox]")) return; // it has a box of its own
  const left = (box) => down ? box.scrollHeight - box.clientHeight - box.scrollTop : box.scrollTop;
  const scrolls = (box) => {
    const { top, bottom } = box.getBoundingClientRect(), inView = top < innerHeight - 40 && bottom > 40;
    return inView && getComputedStyle(box).overflowY !== "visible" && box.scrollHeight > box.clientHeight + 1;
  };
  const boxes = [...pair().querySelectorAll(".response")].filter((box) => scrolls(box) && left(box) > 1);
  const chat = pair().querySelector(".chat"), above = chat && chat.scrollHeight - chat.clientHeight + chat.scrollTop; // from its end
  const box = down ? boxes[0] : boxes.at(-1) ?? (chat && scrolls(chat) && above > 1 ? chat : null);
  if (!box) return;
  event.preventDefault();
  box.scrollIntoView({ block: "nearest" });
  box.scrollBy({ top: (down ? 0.85 : -0.85) * box.clientHeight });
}

document.addEventListener("keydown", turnPage, true);
document.addEventListener("keydown", (event) => {
  if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || !pair() || event.target.matches("textarea")) return;
  if (!document.getElementById("keys")?.checked) return;
  const key = pressed(event);
  const target = key === "u" ? pair().querySelector(".undo") : key in KEYS ? button(KEYS[key]) : null;
  if (target) {
    event.preventDefault();
    target.click();
  }
});

window.addEventListener("blur", () => { noticed.left += 1; });
document.addEventListener("copy", () => { noticed.copied += 1; });
document.addEventListener("paste", () => { noticed.pasted += 1; });

// Shortcuts can be switched off, for people whose software types letters for them (WCAG 2.1.4).
const keys = document.getElementById("keys");
if (keys) {
  try { keys.checked = localStorage.getItem("keys") !== "off"; } catch { /* storage is blocked: on for this page */ }
  keys.addEventListener("change", () => {
    try { localStorage.setItem("keys", keys.checked ? "on" : "off"); } catch { /* as above */ }
  });
}

lock();
document.getElementById("next")?.focus();

// The minutes left for the pair go down while it stands there; they are named when they are the last two.
setInterval(() => {
  const minutes = document.getElementById("minutes");
  if (!minutes) return;
  minutes.dataset.given ??= minutes.textContent;
  const left = Math.max(0, Math.ceil(minutes.dataset.given - (performance.now() - shownAt) / 60000));
  minutes.textContent = left;
  document.getElementById("left").hidden = left > 2;
  document.getElementById("to-go")?.toggleAttribute("hidden", left <= 2);
}, 5000);

// A page that could not be shown sends its form again; one without a form is loaded again by the browser.
const retry = document.getElementById("retry");
if (retry) setTimeout(() => retry.requestSubmit(), retry.dataset.seconds * 1000);

// The waiting page looks again by itself and moves only when there is something new, so nothing jumps under a reader.
const again = document.getElementById("again");
if (again) {
  setInterval(async () => {
    try {
      const text = await (await fetch(again.href)).text();
      if (!text.includes('id="again"')) location.assign(again.href);
    } catch { /* not reachable: look again later */ }
  }, 10000);
}

// In a frame of another site that gets no cookies, what an answer brings is kept here: it shows at the next HIT who has
// agreed before. The seat in the page's address would not: whoever is passed an address must not be taken for them.
const kept = `seat ${new URL(document.currentScript.src).pathname.replace(/\/static\/.*/, "")}`; // one for each study
function keep(proof) {
  try {
    if (window.top !== window) localStorage.setItem(kept, proof);
  } catch { /* storage is blocked: they read the text of consent again */ }
}
async function recognise() {
  const seat = document.querySelector("input[name=seat]")?.value;
  const consent = document.querySelector('form[action$="/consent"]');
  if (window.top === window || !seat) return;
  try {
    if (!consent || !localStorage.getItem(kept)) return;
    const body = new URLSearchParams({ seat, kept: localStorage.getItem(kept) });
    const headers = { "X-Requested-With": "fetch" };
    const reply = await fetch(consent.action.replace(/consent$/, "known"), { method: "POST", headers, body });
    const answer = await reply.json();
    if (answer.known) location.replace(answer.next);
  } catch { /* storage is blocked, or the server not reachable: they read the text again */ }
}
recognise();
