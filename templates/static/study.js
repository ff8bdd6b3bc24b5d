// Brings the numbers up to date in place, unless the box is unticked or somebody works in the table.
"use strict";
setInterval(async () => {
  if (!document.getElementById("refresh").checked || document.getElementById("live").contains(document.activeElement)) return;
  try {
    const reply = await fetch(location.href);
    if (!reply.ok) return;
    const fresh = new DOMParser().parseFromString(await reply.text(), "text/html");
    for (const part of ["#live", "header"]) document.querySelector(part).replaceWith(fresh.querySelector(part));
  } catch { /* not reachable: look again later */ }
}, 10000);
