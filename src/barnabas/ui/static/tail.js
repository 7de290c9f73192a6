// The live tail of a topic, with the search and the forms of keys and values that are in the form.
"use strict";

const MOST_ROWS = 500;
const FIELDS = ["q", "where", "cel", "partition", "key_as", "key_schema", "value_as", "value_schema"];
const tail = document.getElementById("tail");
let source = null;

function stopTail() {
  if (source) source.close();
  source = null;
  tail.setAttribute("aria-pressed", "false");
  tail.textContent = "Live tail";
}

function startTail() {
  const form = new FormData(document.getElementById("search"));
  const chosen = new URLSearchParams();
  for (const name of FIELDS) {
    if (form.get(name)) chosen.set(name, form.get(name));
  }
  const rows = document.getElementById("records");
  const summary = document.getElementById("summary");
  const counts = { shown: 0, passed: 0, skipped: 0 };
  source = new EventSource(`${tail.dataset.url}?${chosen}`);
  tail.setAttribute("aria-pressed", "true");
  tail.textContent = "Stop";
  summary.textContent = "Connecting …";
  source.addEventListener("ready", () => {
    rows.replaceChildren();
    document.querySelector("p.empty")?.remove();
    document.getElementById("more")?.replaceChildren();
    summary.textContent = "Waiting for records …";
  });
  source.addEventListener("message", (event) => {
    const said = JSON.parse(event.data);
    rows.insertAdjacentHTML("afterbegin", said.rows);
    while (rows.childElementCount > MOST_ROWS) rows.lastElementChild.remove();
    for (const name of Object.keys(counts)) counts[name] += said[name];
    const text = [`${(counts.shown + counts.passed + counts.skipped).toLocaleString()} came`];
    if (counts.passed) text.push(`${counts.shown.toLocaleString()} match`);
    if (counts.skipped) text.push(`${counts.skipped.toLocaleString()} too fast to show`);
    summary.textContent = text.join(", ");
    Object.assign(summary.dataset, counts);
  });
  source.addEventListener("problem", (event) => {
    stopTail();
    summary.textContent = JSON.parse(event.data);
  });
  source.addEventListener("error", () => {
    if (source && source.readyState === EventSource.CLOSED) {
      stopTail();
      summary.textContent = "The tail ended: the page does not answer.";
    }
  });
}

tail.addEventListener("click", () => (source ? stopTail() : startTail()));
addEventListener("pagehide", () => source && source.close());
