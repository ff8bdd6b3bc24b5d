// The board of a ranking: a letter that is dragged to a rank presses the button of that rank, which keys and clicks
// press as well. Loaded after questions.js. Without these files the buttons alone do.
"use strict";
{
  let drag = null; // the letter in hand, where it was taken up, and whose pointer holds it

  const boards = () => [...document.querySelectorAll("#pair .board")];
  const ranks = (board, place) => [...document.getElementsByName(`${board.dataset.question}-${place}`)];
  const laneAt = (board, x, y) => document.elementsFromPoint(x, y).map((one) => one.closest(".lane")).find((lane) => lane && board.contains(lane));

  // What the buttons say, on the board.
  function draw(board) {
    board.hidden = false;
    const chips = [...board.querySelectorAll(".chip")].sort((one, other) => one.dataset.place - other.dataset.place);
    for (const chip of chips) {
      const rank = ranks(board, chip.dataset.place).find((one) => one.checked)?.value ?? "";
      board.querySelector(`.lane[data-rank="${rank}"]`).append(chip);
    }
  }

  function give(board, place, rank) {
    for (const one of ranks(board, place)) one.checked = one.value === rank;
    ranks(board, place)[0].dispatchEvent(new Event("change", { bubbles: true }));
  }

  // Where no two may share a rank, the later choice holds.
  document.addEventListener("change", ({ target }) => {
    const board = boards().find((one) => target.name?.startsWith(`${one.dataset.question}-`));
    if (!board) return;
    const held = document.getElementsByName(target.name);
    const rank = [...held].find((one) => one.checked)?.value;
    if ("strict" in board.dataset && rank) {
      for (const chip of board.querySelectorAll(".chip")) {
        const other = ranks(board, chip.dataset.place).find((one) => one.value === rank);
        if (other.name !== target.name) other.checked = false;
      }
    }
    draw(board);
  });

  document.addEventListener("pointerdown", (event) => {
    const chip = event.target.closest?.(".chip");
    if (!chip || event.button || drag) return;
    event.preventDefault();
    chip.setPointerCapture(event.pointerId);
    chip.classList.add("dragged");
    drag = { chip, board: chip.closest(".board"), x: event.clientX, y: event.clientY, pointer: event.pointerId };
  });

  document.addEventListener("pointermove", (event) => {
    if (event.pointerId !== drag?.pointer) return;
    drag.chip.style.translate = `${event.clientX - drag.x}px ${event.clientY - drag.y}px`;
    const lane = laneAt(drag.board, event.clientX, event.clientY);
    for (const one of drag.board.querySelectorAll(".lane")) one.classList.toggle("over", one === lane);
  });

  function drop(event) {
    if (event.pointerId !== drag?.pointer) return;
    const { chip, board } = drag;
    drag = null;
    chip.classList.remove("dragged");
    chip.style.translate = "";
    const lane = event.type === "pointerup" ? laneAt(board, event.clientX, event.clientY) : null;
    for (const one of board.querySelectorAll(".lane")) one.classList.remove("over");
    if (lane) give(board, chip.dataset.place, lane.dataset.rank);
  }
  document.addEventListener("pointerup", drop);
  document.addEventListener("pointercancel", drop);

  const ready = () => boards().filter((board) => board.hidden).forEach(draw);
  document.addEventListener("focusin", ready); // a new set has come: its heading gets the focus
  ready();
}
