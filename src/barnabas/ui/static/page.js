// What every page does beyond links and forms: keys and the theme.
"use strict";

const root = document.documentElement;
const isDark = () => root.dataset.theme
  ? root.dataset.theme === "dark"
  : matchMedia("(prefers-color-scheme: dark)").matches;

function switchTheme() {
  root.dataset.theme = isDark() ? "light" : "dark";
  const secure = location.protocol === "https:" ? "; secure" : "";
  const path = root.dataset.base || "/";
  document.cookie = `theme=${root.dataset.theme}; path=${path}; max-age=31536000; samesite=lax${secure}`;
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
