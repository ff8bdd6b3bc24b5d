// Shows the pairs that the form asks for, page by page, and says what their votes sum up to. Texts are only ever read,
// never written as markup.
"use strict";
const PER_PAGE = 20;
const form = document.getElementById("filter"), told = document.getElementById("told");
const pages = document.getElementById("pages"), pageList = pages.querySelector("select");
let matches = [], page = 0;
const shown = [...document.querySelectorAll("article")].map((element) => ({
  element, keys: JSON.parse(element.dataset.k), votes: element.dataset.v.split(" ").map(Number), text: null,
}));
const slices = [...form.querySelectorAll("select[data-slice]")].map((select) => [select.name, Number(select.dataset.slice)]);
const count = (number) => number.toLocaleString("en");
const percent = (part, whole) => (100 * part / whole).toFixed(1) + " %";

function chosen() {
  const asked = {};
  for (const [name, value] of new FormData(form)) if (value) asked[name] = value;
  return asked;
}

function fits(one, asked, words) {
  const [a, b, winner, agreement, kind] = one.keys;
  for (const name of [asked.system, asked.against]) if (name && a !== name && b !== name) return false;
  if (asked.system && asked.against && asked.system !== asked.against && a === b) return false;
  if (asked.winner && winner !== asked.winner) return false;
  if (asked.agreement && agreement !== asked.agreement) return false;
  if (asked.kind && kind !== asked.kind) return false;
  if (slices.some(([name, k]) => asked[name] && asked[name] !== one.keys[k])) return false;
  if (asked.comments && !one.element.querySelector("blockquote")) return false;
  if (!words.length) return true;
  one.text ??= one.element.textContent.toLowerCase();
  return words.every((word) => one.text.includes(word));
}

// Votes on two systems alone are summed up for the first; among more, the ties alone mean something.
function sums(kept) {
  const real = kept.filter((one) => one.keys[4] === "real" && one.keys[0] !== one.keys[1]);
  const names = new Set(real.flatMap((one) => one.keys.slice(0, 2)));
  const total = [0, 0, 0], [first, second] = [...names].sort();
  for (const { keys, votes } of real) {
    const turned = keys[0] === first ? 0 : 1;
    total[0] += votes[turned]; total[1] += votes[1 - turned]; total[2] += votes[2];
  }
  const all = total[0] + total[1] + total[2];
  if (!all) return "";
  const ties = `${count(total[2])} ties (${percent(total[2], all)})`;
  if (names.size !== 2) return ` ${count(all)} votes, ${ties}.`;
  const net = (100 * (total[0] - total[1]) / all).toFixed(1).replace("-", "\u2212");
  return ` ${count(all)} votes: ${count(total[0])} for ${first}, ${count(total[1])} for ${second}, ${ties}; net preference for ${first} ${net} points.`;
}

function show() {
  const asked = chosen(), words = (asked.find ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  matches = shown.filter((one) => {
    const keep = fits(one, asked, words);
    if (one.element.hidden === keep) one.element.hidden = !keep;
    return keep;
  });
  const by = asked.winner || asked.agreement ? " Chosen by their votes, so their shares say nothing of other pairs." : "";
  told.textContent = `${count(matches.length)} of ${count(shown.length)} ${told.dataset.what ?? "pairs"}.${sums(matches)}${by}`;
  const number = Math.ceil(matches.length / PER_PAGE);
  pageList.replaceChildren(...Array.from({ length: number }, (_, k) => new Option(`${k + 1} of ${number}`, k)));
  pages.hidden = number < 2;
  turnTo(0);
  return asked;
}

// The pairs of other pages are hidden on the screen alone: print has all that were chosen.
function turnTo(number) {
  page = Math.min(Math.max(number, 0), Math.max(pageList.length - 1, 0));
  matches.forEach((one, k) => one.element.classList.toggle("elsewhere", Math.floor(k / PER_PAGE) !== page));
  pageList.value = page;
  for (const button of pages.querySelectorAll("button")) button.disabled = !pageList.options[page + Number(button.dataset.step)];
}

function keepAddress(asked) {
  const address = new URLSearchParams(asked);
  if (page) address.set("page", page + 1);
  history.replaceState(null, "", "#" + address);
}

function readOn(number) {
  turnTo(number);
  keepAddress(chosen());
  const list = document.getElementById("pairs");
  list.focus({ preventScroll: true });
  list.scrollIntoView();
}

// A bare #n12 is a place on the page; anything with a name and a value is a choice.
function readAddress() {
  const asked = location.hash.slice(1);
  if (asked.includes("=")) {
    const given = new URLSearchParams(asked);
    for (const field of form.elements) {
      if (!field.name) continue;
      if (field.type === "checkbox") field.checked = given.get(field.name) === field.value;
      else field.value = given.get(field.name) ?? "";
    }
    show();
    turnTo((Number(given.get("page")) || 1) - 1);
    return;
  }
  const place = asked && document.getElementById(asked);
  if (place?.hidden) { form.reset(); show(); }
  if (place) goTo(place);
}

// To a pair, on whatever page it is.
function goTo(element) {
  const k = matches.findIndex((one) => one.element === element);
  if (k >= 0) turnTo(Math.floor(k / PER_PAGE));
  element.scrollIntoView({ block: "start" });
}

function changed() {
  keepAddress(show());
}

form.addEventListener("input", changed);
form.addEventListener("reset", () => setTimeout(changed));
form.addEventListener("submit", (event) => event.preventDefault());
addEventListener("hashchange", readAddress);
document.getElementById("pairs").addEventListener("keydown", (event) => {
  const step = { j: 1, k: -1 }[event.key.toLowerCase()];
  if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
  const here = event.target.closest("article");
  const next = matches[here ? matches.findIndex((one) => one.element === here) + step : page * PER_PAGE];
  if (next) { goTo(next.element); next.element.focus(); }
});
pages.addEventListener("click", (event) => {
  const step = Number(event.target.dataset.step);
  if (step) readOn(page + step);
});
pageList.addEventListener("change", () => readOn(Number(pageList.value)));
if (matchMedia("(max-width: 34rem)").matches) {
  for (const table of [...document.querySelectorAll(".tables details")].slice(1)) table.open = false;
}
document.getElementById("plain").hidden = true;
form.hidden = document.getElementById("hint").hidden = false;
if (!location.hash.includes("=")) show();
readAddress();
