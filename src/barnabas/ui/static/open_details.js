// What was unfolded stays so when a part of the page is shown anew.
"use strict";

let unfolded = [];

document.addEventListener("htmx:beforeSwap", (event) => {
  unfolded = [...event.detail.target.querySelectorAll("details[id][open]")].map((each) => each.id);
});
document.addEventListener("htmx:afterSwap", () => {
  for (const id of unfolded) document.getElementById(id)?.setAttribute("open", "");
  unfolded = [];
});
