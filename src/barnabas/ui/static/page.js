// What the page does beyond links and forms: keys, the theme, and the live tail.
"use strict";

const root = document.documentElement;
const isDark = () => root.dataset.theme
  ? root.dataset.theme === "dark"
  : matchMedia("(prefers-color-scheme: dark)").matches;

function switchTheme() {
  root.dataset.theme = isDark() ? "light" : "dark";
  document.cookie = `theme=${root.dataset.theme}; path=/; max-age=31536000; samesite=lax`;
}

document.getElementById("theme").addEventListener("click", switchTheme);
document.getElementById("help").addEventListener("click", () => document.getElementById("keys").showModal());

// Keys

let isGoing = false;

function move(step) {
  const links = [...document.querySelectorAll("main .list tbody tr a:first-of-type")]
    .filter((link) => link === link.closest("tr").querySelector("a"));
  const at = links.findIndex((link) => link.closest("tr").contains(document.activeElement));
  const next = links[Math.max(0, Math.min(links.length - 1, at + step))];
  if (next) next.focus();
}

// A list that is shown anew has other elements: whoever went down it by keys stays at the same one.
let linkBefore = null;

document.addEventListener("htmx:beforeSwap", () => {
  linkBefore = document.activeElement.closest("main .list a")?.getAttribute("href");
});
document.addEventListener("htmx:afterSwap", () => {
  if (linkBefore && document.activeElement === document.body) {
    document.querySelector(`main .list a[href="${CSS.escape(linkBefore)}"]`)?.focus({ preventScroll: true });
  }
});

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const target = event.target;
  if (target.matches("input, textarea, select")) {
    if (event.key === "Escape") target.blur();
    return;
  }
  if (isGoing) {
    isGoing = false;
    const link = document.querySelector(`nav a[data-key="${CSS.escape(event.key)}"]`);
    if (link) link.click();
    return;
  }
  const keys = {
    "/": () => {
      const search = document.querySelector("input[type=search]");
      search?.focus();
      search?.select();
    },
    "?": () => document.getElementById("keys").showModal(),
    d: switchTheme,
    g: () => { isGoing = true; },
    j: () => move(1),
    k: () => move(-1),
  };
  const action = keys[event.key];
  if (action) {
    event.preventDefault();
    action();
  }
});

// The live tail

const MOST_ROWS = 500;
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
  for (const name of ["q", "where", "partition"]) {
    if (form.get(name)) chosen.set(name, form.get(name));
  }
  const rows = document.getElementById("records");
  const summary = document.getElementById("summary");
  let shown = 0;
  let skipped = 0;
  source = new EventSource(`${tail.dataset.url}?${chosen}`);
  tail.setAttribute("aria-pressed", "true");
  tail.textContent = "Stop";
  summary.textContent = "Connecting …";
  source.addEventListener("ready", () => {
    rows.replaceChildren();
    document.querySelector("p.empty")?.remove();
    summary.textContent = "Waiting for records …";
  });
  source.addEventListener("message", (event) => {
    const said = JSON.parse(event.data);
    const before = rows.childElementCount;
    rows.insertAdjacentHTML("afterbegin", said.rows);
    shown += rows.childElementCount - before;
    skipped += said.skipped;
    while (rows.childElementCount > MOST_ROWS) rows.lastElementChild.remove();
    summary.textContent = `${shown.toLocaleString()} came${skipped ? `, ${skipped.toLocaleString()} too fast to show` : ""}`;
  });
  source.addEventListener("error", () => {
    if (source && source.readyState === EventSource.CLOSED) {
      stopTail();
      summary.textContent = "The tail ended: the page does not answer.";
    }
  });
}

if (tail) {
  tail.addEventListener("click", () => (source ? stopTail() : startTail()));
  addEventListener("pagehide", () => source && source.close());
}
