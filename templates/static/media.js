// Pages with images, recordings and videos: an answer waits until they were loaded and played, as `unlock_media` says.
// Loaded after hit.js. Without both files everything can be looked at and played, and nothing waits.
"use strict";
const WHOLE = 0.95; // of the length: players leave out the last moments
const hurdles = (box) => [...box.querySelectorAll(".media :is(img, audio, video)")];

// How much of it was played, wherever the rater went back and forth. Some files name no length, or a wrong one: at the
// end it is known.
function playedShare(media) {
  let seconds = 0;
  for (let k = 0; k < media.played.length; k += 1) seconds += media.played.end(k) - media.played.start(k);
  const length = media.ended ? media.currentTime : media.duration;
  return length > 0 ? seconds / length : 0;
}

function isDone(media) {
  if (media.matches("img")) return media.complete && media.naturalWidth > 0;
  const asked = pair().dataset.media ?? "played";
  return asked === "shown" || (asked === "begun" ? media.played.length > 0 : playedShare(media) >= WHOLE);
}

const isBroken = (media) => media.matches("img") ? media.complete && media.naturalWidth === 0 : media.error !== null;

function tellBroken(media) {
  media.classList.add("failed");
  say(word("unloaded", "Something on this page could not be loaded. Load the page again."), "unseen");
}

// What is still to be loaded or played within a box, for hit.js: it is told when that changes.
function mediaWaiting(box) {
  const waiting = hurdles(box).filter((media) => !isDone(media));
  waiting.filter(isBroken).forEach(tellBroken); // before this file could hear of it
  return waiting;
}

// A key or click that comes too early leads to what was not played.
function leadToMedia(media) {
  media.scrollIntoView({ block: "center" });
  if (isBroken(media)) return tellBroken(media);
  if (media.matches("img")) return say(word("loading", "This picture is still loading"), "unseen");
  media.focus({ preventScroll: true });
  if (pair().dataset.media === "begun") return say(word("unbegun", "Please play this first"), "unseen");
  say(word("unplayed", "Please play this to its end first"), "unseen");
}

for (const event of ["load", "timeupdate", "ended", "pause", "playing"]) {
  document.addEventListener(event, ({ target }) => {
    if (target.matches?.(".media :is(img, audio, video)") && isDone(target)) mediaSeen(target);
  }, true);
}
// One at a time, so that nobody hears A over B.
document.addEventListener("play", ({ target }) => {
  for (const other of document.querySelectorAll("audio, video")) if (other !== target) other.pause();
}, true);
document.addEventListener("error", ({ target }) => {
  if (target.matches?.(".media :is(img, audio, video)")) tellBroken(target);
}, true);
// A recording has no picture on which a browser could show its captions.
function showCaptions() {
  for (const line of document.querySelectorAll(".spoken")) {
    const track = line.parentElement.querySelector("audio")?.textTracks[0];
    if (!track || track.oncuechange) continue;
    track.mode = "hidden";
    const words = (cue) => cue.getCueAsHTML().textContent; // without the marks of WebVTT, such as who speaks
    track.oncuechange = () => { line.textContent = [...(track.activeCues ?? [])].map(words).join("\n"); };
  }
}
showCaptions();
new MutationObserver(showCaptions).observe(document.querySelector("main"), { childList: true });
