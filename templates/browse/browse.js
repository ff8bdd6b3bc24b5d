// Shows the pairs that the form asks for, and says what their votes sum up to. Texts are only ever read, never written
// as markup.
"use strict";
const form = document.getElementById("filter"), told = document.getElementById("told");
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
  const kept = shown.filter((one) => {
    const keep = fits(one, asked, words);
    if (one.element.hidden === keep) one.element.hidden = !keep;
    return keep;
  });
  const by = asked.winner || asked.agreement ? " Chosen by their votes, so their shares say nothing of other pairs." : "";
  told.textContent = `${count(kept.length)} of ${count(shown.length)} ${told.dataset.what ?? "pairs"}.${sums(kept)}${by}`;
  return asked;
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
    return;
  }
  const place = asked && document.getElementById(asked);
  if (place?.hidden) { form.reset(); show(); }
  if (place) place.scrollIntoView();
}

function changed() {
  const asked = show();
  history.replaceState(null, "", "#" + new URLSearchParams(asked));
}

form.addEventListener("input", changed);
form.addEventListener("reset", () => setTimeout(changed));
form.addEventListener("submit", (event) => event.preventDefault());
addEventListener("hashchange", readAddress);
document.getElementById("pairs").addEventListener("keydown", (event) => {
  const step = { j: 1, k: -1 }[event.key.toLowerCase()];
  if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
  const here = event.target.closest("article"), seen = shown.map((one) => one.element).filter((one) => !one.hidden);
  const next = seen[here ? seen.indexOf(here) + step : 0];
  if (next) { next.focus(); next.scrollIntoView({ block: "start" }); }
});
document.getElementById("plain").hidden = true;
form.hidden = document.getElementById("hint").hidden = false;
readAddress();
if (!location.hash.includes("=")) show();
