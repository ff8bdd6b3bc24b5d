// Two whole conversations: scrolled in step where the rater asks for it. Without this file each scrolls by itself.
"use strict";
{
  let inStep = false;
  let led = null; // the column that was moved by the other one, which must not move it back, and to where
  const columns = () => [...document.querySelectorAll(".talk")];
  const turns = (column) => [...column.querySelectorAll("li")];
  const scrolls = (column) => column.scrollHeight > column.clientHeight + 1;
  const topOf = (column, turn) => turn.getBoundingClientRect().top - column.getBoundingClientRect().top + column.scrollTop - column.querySelector("h3").offsetHeight;

  // Turn by turn: the same turn stands at the top of both, as far gone. Past its last turn a column stays at its end.
  function follow(from, to) {
    const shown = turns(from), number = shown.findLastIndex((turn) => topOf(from, turn) <= from.scrollTop + 1);
    const other = turns(to)[Math.max(number, 0)], atEnd = from.scrollTop + from.clientHeight >= from.scrollHeight - 1;
    let place = to.scrollHeight;
    if (number < 0) place = 0;
    else if (other && !atEnd) {
      const gone = (from.scrollTop - topOf(from, shown[number])) / shown[number].offsetHeight;
      place = topOf(to, other) + Math.min(gone, 1) * other.offsetHeight;
    }
    if (Math.abs(place - to.scrollTop) < 1) return;
    const before = to.scrollTop;
    to.scrollTop = place;
    if (to.scrollTop !== before) led = { column: to, place: to.scrollTop };
  }

  document.addEventListener("scroll", ({ target }) => {
    if (!inStep || !target.matches?.(".talk")) return;
    const moved = led?.column === target && led.place === target.scrollTop; // else the rater went on in the same moment
    if (led?.column === target) led = null;
    if (!moved) columns().filter((one) => one !== target && scrolls(one)).forEach((one) => follow(target, one));
  }, true);

  document.addEventListener("change", ({ target }) => {
    if (target.id === "step") inStep = target.checked;
  });

  // What the rater asked for holds for the next pair too.
  new MutationObserver(() => {
    const box = document.getElementById("step");
    if (box) box.checked = inStep;
  }).observe(document.querySelector("main"), { childList: true });
}

// A key or click before a conversation was seen to its end: its column gets the keys, and nothing of it is skipped.
function leadTo(column, letter) {
  const { top, bottom } = column.getBoundingClientRect();
  if (bottom < 0 || top > window.innerHeight) column.scrollIntoView();
  column.focus({ preventScroll: true });
  say(document.getElementById("note")?.dataset.unread.replace("@", letter) ?? "", "unseen");
}
