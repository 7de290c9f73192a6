// A table that is wider than its box can be moved with the keys as well.
"use strict";

function makeReachable() {
  for (const box of document.querySelectorAll("main .scroll")) {
    if (box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
}

makeReachable();
addEventListener("resize", makeReachable);
document.addEventListener("htmx:afterSwap", makeReachable);
document.addEventListener("toggle", makeReachable, true);
