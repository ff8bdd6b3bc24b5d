// Keys for a question with several options: a digit is the best, the next one the second best, Enter saves.
"use strict";
{
  const options = () => document.querySelector("#pair .options");
  const picks = (name) => [...options().querySelectorAll(`input[name=${name}]`)];
  const taken = (name) => picks(name).findIndex((one) => one.checked);
  const ranked = () => picks("second").length > 0;
  const clear = (name) => picks(name).forEach((one) => { one.checked = false; });
  const complete = () => taken("first") >= 0 && (!ranked() || taken("second") >= 0);

  function digit(place) {
    if (taken("first") === place) clear("first");
    else if (taken("first") < 0 || complete()) {
      clear("second");
      picks("first")[place].click();
    } else picks("second")[place].click();
  }

  // One option cannot be both: the later choice holds.
  document.addEventListener("change", ({ target }) => {
    if (!options()?.contains(target)) return;
    const other = target.name === "first" ? "second" : "first";
    if (taken(other) === picks(target.name).indexOf(target)) clear(other);
  });

  // Before hit.js sends it: what lacks a choice is not sent.
  document.addEventListener("submit", (event) => {
    if (event.submitter?.name !== "save" || complete()) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    say(options().dataset.incomplete, "incomplete");
  }, true);

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || !options() || event.target.matches("textarea")) return;
    if (event.key === "Enter" && (event.target.type === "radio" || !event.target.closest("button, a, label"))) {
      event.preventDefault();
      document.querySelector("#pair .answers [name=save]")?.click();
    }
    if (!document.getElementById("keys")?.checked || !/^[1-9]$/.test(event.key)) return;
    if (event.key <= picks("first").length && !picks("first")[0].disabled) {
      event.preventDefault();
      digit(event.key - 1);
    }
  });
}
