// Pages with several questions: a number answers the marked one and goes on to the next, Enter saves, U takes back.
// Loaded after hit.js, which sends the form. Without both files the same form works as a plain page.
"use strict";
const BOUNCE = 300; // ms after a pair appears in which a key is not taken for an answer
const given = []; // the groups that were answered by key, the last one at the end

const groups = () => [...(pair()?.querySelectorAll("[data-group]") ?? [])];
const radios = (group) => [...group.querySelectorAll("input[type=radio]")];
const isAnswered = (group) => radios(group).some((one) => one.checked);
const save = () => pair()?.querySelector(".save");

// The group in which the rater stands; else the first without an answer; after an undo, whose answers stand there, the first.
function current() {
  return document.activeElement?.closest("[data-group]") ?? groups().find((group) => !isAnswered(group)) ?? (given.some((group) => group.isConnected) ? undefined : groups()[0]);
}

function mark() {
  const now = current();
  for (const group of groups()) group.classList.toggle("now", group === now);
}

function goOn() {
  const next = groups().find((group) => !isAnswered(group)) ?? groups()[groups().indexOf(given.at(-1)) + 1];
  const text = [...pair().querySelectorAll("textarea[required]")].find((one) => !one.value.trim());
  (next ? radios(next).find((one) => one.checked) ?? radios(next)[0] : text ?? save()).focus();
  mark();
}

function press(key) {
  const group = current();
  const radio = group && radios(group)[key === "0" ? 9 : key - 1];
  if (!radio) return;
  radio.checked = true;
  radio.dispatchEvent(new Event("change", { bubbles: true }));
  given.push(group);
  if (pair().querySelectorAll(".asked").length === 1 && groups().length === 1) save().click();
  else goOn();
}

function takeBack() {
  let group = given.pop();
  while (group && !(group.isConnected && isAnswered(group))) group = given.pop();
  if (!group) return pair().querySelector(".undo")?.click();
  for (const one of radios(group)) one.checked = false;
  radios(group)[0].dispatchEvent(new Event("change", { bubbles: true }));
  radios(group)[0].focus();
  mark();
}

document.addEventListener("keydown", (event) => {
  if (!save() || event.target.matches("audio, video") && !/^[\du]$/i.test(event.key)) return; // a player has keys of its own
  event.stopPropagation(); // before hit.js takes a letter of a comment for its key
  const writes = event.target.matches("textarea");
  if (writes && event.key === "Enter" && (event.ctrlKey || event.metaKey)) return save().click();
  if (writes || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
  if (!document.getElementById("keys")?.checked) return;
  const key = event.key.toLowerCase();
  const mine = event.target.matches("h1, body, input[type=radio]");
  if (key === "enter" && mine) save().click();
  else if (/^\d$/.test(key) && performance.now() - shownAt >= BOUNCE) press(key);
  else if (key === "u") takeBack();
  else return;
  event.preventDefault();
}, true);

// With one question alone, a click answers and saves at once; the arrow keys of a radio group only move.
document.addEventListener("click", (event) => {
  const alone = save() && pair().querySelectorAll(".asked").length === 1 && groups().length === 1;
  if (alone && event.detail > 0 && event.target.matches(".option *")) setTimeout(() => isAnswered(groups()[0]) && save()?.click());
});

document.addEventListener("focusin", mark);
mark();
