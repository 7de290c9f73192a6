// Searches that somebody keeps by a name, in the browser alone: for each topic a list of names and addresses.
"use strict";

const saved = document.getElementById("saved");

if (saved) {
  const key = `searches of ${location.pathname}`;
  const list = document.getElementById("saved-list");

  function kept() {
    try {
      const found = JSON.parse(localStorage.getItem(key) ?? "[]");
      return Array.isArray(found) ? found : [];
    } catch {
      return [];
    }
  }

  function keep(searches) {
    if (searches.length) localStorage.setItem(key, JSON.stringify(searches));
    else localStorage.removeItem(key);
    show();
  }

  // What says how to search; not how far an earlier one went.
  function query() {
    const named = new URLSearchParams(location.search);
    named.delete("resume");
    for (const [name, value] of [...named]) if (!value) named.delete(name);
    return named.toString();
  }

  function show() {
    const searches = kept();
    document.getElementById("saved-count").textContent = searches.length ? `(${searches.length})` : "";
    list.replaceChildren(...searches.map((search) => {
      const item = document.createElement("li");
      const link = document.createElement("a");
      link.textContent = search.name;
      link.href = `${location.pathname}?${search.query}`;
      link.title = decodeURIComponent(search.query.replaceAll("+", " "));
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = "Delete";
      button.setAttribute("aria-label", `Delete ${search.name}`);
      button.addEventListener("click", () => keep(kept().filter((other) => other.name !== search.name)));
      item.append(link, " ", button);
      return item;
    }));
  }

  document.getElementById("save").addEventListener("submit", (event) => {
    event.preventDefault();
    const field = document.getElementById("save-name");
    const name = field.value.trim();
    if (!name) return;
    keep([...kept().filter((other) => other.name !== name), { name, query: query() }]);
    field.value = "";
  });

  saved.hidden = false;
  show();
}
