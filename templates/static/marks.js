// Passages that are wrong: a pen is taken up, then the first and the last word are chosen by click, tap or key, or the
// passage is dragged across. Ranges count characters, not the halves of which some are made in JavaScript.
"use strict";
{
  const SPACELESS = /[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]/; // no spaces between words
  const MOST = 60; // of one page, as crowd/rating/marking.py takes
  const DRAFT = "marks "; // of passages that are not sent yet: for this tab only, under the lease of the pair
  let pen = null, first = null, pressed = null, passages = [], dragged = false, draft = null;
  const form = () => document.querySelector("#pair");
  const bar = () => form()?.querySelector(".marking");
  const boxes = () => [...form().querySelectorAll(".response .said")];
  const pens = () => [...bar().querySelectorAll(".pen")];
  const wordsIn = (box) => [...box.querySelectorAll(".word")];
  const long = (text) => [...text].length;
  const placeOf = (word) => boxes().indexOf(word.closest(".said"));
  const rangeOf = (word) => [Number(word.dataset.start), Number(word.dataset.end)];

  function pieces(text) {
    const chunks = text.split(/(\s+)/).filter(Boolean);
    const segment = globalThis.Intl?.Segmenter && new Intl.Segmenter(undefined, { granularity: "word" });
    return chunks.flatMap((chunk) => segment && SPACELESS.test(chunk) ? [...segment.segment(chunk)].map((one) => one.segment) : [chunk]);
  }

  // Every word becomes an element of its own; what stands between keeps its place.
  function split(box) {
    const text = box.firstChild;
    if (box.matches(".parts, .rendered") || text?.nodeType !== Node.TEXT_NODE || box.querySelector(".word")) return;
    const made = document.createDocumentFragment();
    let at = 0;
    for (const piece of pieces(text.data)) {
      const span = document.createElement("span");
      span.className = piece.trim() ? "word" : "gap";
      span.textContent = piece;
      [span.dataset.start, span.dataset.end] = [at, at += long(piece)];
      made.append(span);
    }
    text.replaceWith(made);
  }

  function keptDraft() {
    try { return sessionStorage.getItem(draft); } catch { return null; }
  }
  function forgetDraft() {
    try { sessionStorage.removeItem(draft); } catch { /* storage is blocked: nothing was kept */ }
  }
  function changed() {
    try { sessionStorage.setItem(draft, JSON.stringify(passages)); } catch { /* as above */ }
    draw();
  }

  function begin() {
    if (!bar()) return;
    bar().hidden = false;
    boxes().forEach(split);
    const own = DRAFT + form().elements.lease.value;
    if (draft && draft !== own) forgetDraft(); // that pair was answered
    draft = own;
    const sent = keptDraft() || form().elements.marks.value;
    passages = sent ? JSON.parse(sent) : [];
    take(null);
    draw();
  }

  function take(number) {
    [pen, first] = [number, null];
    form().classList.toggle("pen-on", pen !== null);
    pens().forEach((one, k) => one.setAttribute("aria-pressed", k === pen));
    bar().querySelector(".how-to").hidden = pen === null;
    for (const box of boxes()) {
      wordsIn(box).forEach((word, k) => {
        word.classList.remove("first");
        if (pen === null) for (const name of ["role", "tabindex", "aria-pressed"]) word.removeAttribute(name);
        else {
          word.setAttribute("role", "button");
          word.tabIndex = k ? -1 : 0; // one stop of the Tab key, then the arrow keys
        }
      });
    }
    if (pen !== null) draw();
  }

  const touches = ([place, start, end], word) => place === placeOf(word) && Number(word.dataset.start) < end && Number(word.dataset.end) > start;

  function draw() {
    form().elements.marks.value = JSON.stringify(passages);
    for (const word of form().querySelectorAll(".said :is(.word, .gap)")) {
      const is = passages.some((passage) => touches(passage, word));
      word.classList.toggle("wrong", is);
      if (word.hasAttribute("role")) word.setAttribute("aria-pressed", is);
    }
    const list = bar().querySelector(".passages"), line = bar().querySelector("template");
    list.replaceChildren(...passages.map(([place, start, end, category], k) => {
      const item = line.content.firstElementChild.cloneNode(true);
      const letter = form().querySelectorAll(".response h3")[place].lastChild.textContent.trim();
      const inside = [...boxes()[place].querySelectorAll(".word, .gap")].filter((word) => touches([place, start, end], word));
      item.querySelector("q").textContent = inside.map((word) => word.textContent).join("");
      item.querySelector(".kind").textContent = (letter ? `${letter}: ` : "") + pens()[category].textContent.trim();
      item.querySelector(".remove").addEventListener("click", () => {
        passages.splice(k, 1);
        changed();
        (bar().querySelectorAll(".remove")[k] ?? bar().querySelector(".pen")).focus();
      });
      return item;
    }));
    list.hidden = !passages.length;
    const full = passages.length >= MOST;
    for (const button of pens()) button.disabled = full;
    if (full && pen !== null) take(null);
  }

  // A passage of the same kind that it meets becomes one with it.
  function add(place, start, end) {
    const meets = (one) => one[0] === place && one[3] === pen && one[1] <= end && one[2] >= start;
    const met = passages.filter(meets);
    passages = passages.filter((one) => !meets(one));
    passages.push([place, Math.min(start, ...met.map((one) => one[1])), Math.max(end, ...met.map((one) => one[2])), pen]);
    passages.sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[3] - b[3]);
    first?.classList.remove("first");
    first = null;
    changed();
  }

  function choose(word) {
    const inside = passages.findIndex((passage) => passage[3] === pen && touches(passage, word));
    if (!first && inside >= 0) {
      passages.splice(inside, 1);
      return changed();
    }
    if (!first || placeOf(first) !== placeOf(word)) {
      first?.classList.remove("first");
      first = word;
      return first.classList.add("first");
    }
    const [one, other] = [rangeOf(first), rangeOf(word)];
    add(placeOf(word), Math.min(one[0], other[0]), Math.max(one[1], other[1]));
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest?.(".pen"), word = event.target.closest?.(".pen-on .said .word");
    if (button) return take(pens().indexOf(button) === pen ? null : pens().indexOf(button));
    if (word && !dragged) choose(word);
    dragged = false;
  });

  // Across words with the mouse; a finger scrolls.
  const wordAt = ({ clientX, clientY }) => document.elementFromPoint(clientX, clientY)?.closest(".pen-on .said .word");
  document.addEventListener("pointerdown", (event) => { pressed = event.pointerType === "mouse" ? wordAt(event) : null; });
  document.addEventListener("pointerup", (event) => {
    const word = pressed && wordAt(event);
    if (!word || word === pressed || placeOf(word) !== placeOf(pressed)) return;
    const [one, other] = [rangeOf(pressed), rangeOf(word)];
    dragged = true;
    setTimeout(() => { dragged = false; });
    add(placeOf(word), Math.min(one[0], other[0]), Math.max(one[1], other[1]));
  });

  document.addEventListener("keydown", (event) => {
    if (pen === null || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") return take(null);
    const word = event.target.closest?.(".said .word");
    if (!word) return;
    const words = wordsIn(word.closest(".said")), at = words.indexOf(word);
    const turned = getComputedStyle(word).direction === "rtl" ? -1 : 1;
    const to = { ArrowRight: at + turned, ArrowLeft: at - turned, ArrowDown: at + 8, ArrowUp: at - 8, Home: 0, End: words.length - 1 }[event.key];
    if (to === undefined && event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    event.stopImmediatePropagation(); // Enter saves elsewhere
    if (to === undefined) return choose(word);
    const next = words[Math.max(0, Math.min(words.length - 1, to))];
    word.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }, true);

  new MutationObserver(begin).observe(document.querySelector("main"), { childList: true });
  begin();
}
