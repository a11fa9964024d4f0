// Tables with data-table, which stand whole on the page: headings sort, a field over longer ones finds rows by typing, and what is
// shown downloads. All of it stands in the address (?sort=cost-&find=gold; behind the table's name and a dot where data-several says
// that the page has several) and holds when a live part is swapped. Without this file the table stands as the server wrote it.

import { beginsWithGreatest, keysOf, matches, nextSort, order, readSort, toCsv } from "./table_data.js";

const FIND_FROM_ROWS = 8;
const ADDRESS_AFTER_MS = 200; // browsers take only so many changes of the address

const tables = new Map(); // by name, also of those that a swap has replaced

export function enhanceTables(body) {
  adopt(body);
  let place = null;
  body.addEventListener("htmx:beforeSwap", (event) => (place = placeIn(event.detail.target)));
  body.addEventListener("htmx:afterSwap", () => {
    adopt(body);
    if (place) returnTo(place);
    place = null;
  });
  // A form that asks for the page anew, and a swap that brings a new address, know nothing of the tables.
  body.addEventListener("formdata", (event) => {
    const { action, method } = event.target;
    if (method !== "get" || new URL(action, location.href).pathname !== location.pathname) return;
    for (const table of tables.values()) {
      for (const [name, value] of table.state()) if (!event.formData.has(name)) event.formData.set(name, value);
    }
  });
  body.addEventListener("htmx:afterSwap", () => {
    for (const table of tables.values()) if (table.isOneOfSeveral) table.writeAddress();
  });
  addEventListener("popstate", () => {
    for (const table of tables.values()) table.readAddress();
  });
  body.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
    const field = body.querySelector(".table-tools:not([hidden]) input[aria-keyshortcuts]");
    if (!field) return;
    field.focus();
    event.preventDefault();
  });
}

function adopt(body) {
  for (const element of body.querySelectorAll("table[data-table]:not([data-adopted])")) {
    const name = element.dataset.table;
    if (!tables.has(name)) tables.set(name, new StudioTable(name, "several" in element.dataset));
    tables.get(name).adopt(element);
  }
}

class StudioTable {
  constructor(name, isOneOfSeveral) {
    this.name = name;
    this.isOneOfSeveral = isOneOfSeveral;
    this.parameters = isOneOfSeveral ? { sort: `${name}.sort`, find: `${name}.find` } : { sort: "sort", find: "find" };
    this.makeTools();
    this.readAddress();
  }

  /** Take a table that came with the page or was swapped in. */
  adopt(element) {
    element.dataset.adopted = "";
    this.element = element;
    this.rows = [...element.tBodies[0].rows];
    this.cells = this.rows.map((row) => [...row.cells].map(readCell));
    const headings = [...element.tHead.rows].at(-1).cells;
    this.headings = [...headings].map((heading) => textOf(heading));
    this.keys = keysOf(this.headings);
    this.columns = [...headings].map((heading, column) => ({ heading, key: this.keys[column] }));
    this.sortable = this.columns.filter(({ heading }, column) => this.headings[column] && !("unsorted" in heading.dataset));
    if (this.rows.length > 1) for (const { heading, key } of this.sortable) this.makeButton(heading, key);
    this.placeTools();
    this.show();
  }

  readAddress() {
    const address = new URLSearchParams(location.search);
    this.sort = address.get(this.parameters.sort) ?? "";
    this.find = this.field.value = address.get(this.parameters.find) ?? "";
    if (this.element) this.show();
  }

  /** What stands in the address: pairs of a parameter and what it says now. */
  state() {
    return ["sort", "find"].filter((part) => this[part]).map((part) => [this.parameters[part], this[part]]);
  }

  writeAddress() {
    const address = new URL(location.href);
    for (const parameter of Object.values(this.parameters)) address.searchParams.delete(parameter);
    for (const [parameter, value] of this.state()) address.searchParams.set(parameter, value);
    if (address.href !== location.href) history.replaceState(history.state, "", address);
  }

  change(part, value) {
    this[part] = value;
    this.show();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.writeAddress(), ADDRESS_AFTER_MS);
  }

  sortBy(key) {
    this.change("sort", nextSort(this.sort, key, this.hasGreatestFirst(key)));
  }

  hasGreatestFirst(key) {
    return beginsWithGreatest(this.valuesOf(this.keys.indexOf(key)));
  }

  valuesOf(column) {
    return this.cells.map((cells) => cells[column]?.value ?? "");
  }

  /** Bring the rows into their order, and hide those that were not looked for. */
  show() {
    const { key, descending } = readSort(this.sort);
    const column = this.keys.indexOf(key);
    const language = document.documentElement.lang;
    this.order = column < 0 ? [...this.rows.keys()] : order(this.valuesOf(column), descending, language);
    const inOrder = this.order.map((place) => this.rows[place]);
    const body = this.element.tBodies[0];
    if (inOrder.some((row, place) => body.rows[place] !== row)) body.append(...inOrder); // what has the focus keeps it otherwise
    this.isShown = this.cells.map((cells) => matches(cells.map((cell) => cell.text), this.find));
    this.rows.forEach((row, place) => (row.hidden = !this.isShown[place]));
    for (const { heading, key: ofColumn } of this.sortable) {
      if (ofColumn === key) heading.ariaSort = descending ? "descending" : "ascending";
      else heading.removeAttribute("aria-sort");
    }
    this.choice.value = this.sort;
    const said = this.find.trim() ? `${this.isShown.filter(Boolean).length} of ${this.rows.length}` : "";
    if (this.found.textContent !== said) this.found.textContent = said;
  }

  makeButton(heading, key) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.append(...heading.childNodes);
    button.addEventListener("click", () => this.sortBy(key));
    heading.append(button);
  }

  /** The field over the table and the button below it are made once; they move to the table that a swap brings. */
  makeTools() {
    const label = made("label", {}, made("span", { className: "visually-hidden", textContent: "Find in the table" }));
    this.field = made("input", { type: "search", placeholder: "Find in the table", autocomplete: "off", spellcheck: false });
    label.append(this.field);
    this.found = made("output", { className: "muted figures" });
    this.choice = made("select", { ariaLabel: "Sort by" });
    this.tools = made("div", { className: "table-tools" }, label, this.choice, this.found);
    this.field.addEventListener("input", () => this.change("find", this.field.value));
    this.field.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !this.field.value) return;
      this.field.value = "";
      this.change("find", "");
    });
    this.choice.addEventListener("change", () => this.change("sort", this.choice.value));
    const save = made("button", { type: "button", className: "quiet small", textContent: "Download these rows (CSV)" });
    save.addEventListener("click", () => this.download());
    this.below = made("p", { className: "table-download" }, save);
  }

  placeTools() {
    const region = this.element.closest(".scroll") ?? this.element;
    const isLong = this.rows.length >= FIND_FROM_ROWS || this.find !== "";
    const isStacked = this.element.matches(".stacks") && this.rows.length > 1;
    this.tools.classList.toggle("stacked", isStacked);
    this.tools.classList.toggle("short", !isLong);
    this.tools.hidden = !isLong && !isStacked;
    this.choice.replaceChildren(new Option("In the page's own order", ""), ...this.sortable.flatMap(({ key }) => this.optionsOf(key)));
    if (region.previousElementSibling !== this.tools) region.before(this.tools);
    if (this.rows.length > 1 && !("downloads" in this.element.dataset)) region.after(this.below);
    const isFirst = this.element.ownerDocument.querySelector("[aria-keyshortcuts='/']") === null;
    if (isFirst && isLong) this.field.setAttribute("aria-keyshortcuts", "/");
  }

  optionsOf(key) {
    const heading = this.headings[this.keys.indexOf(key)];
    const directions = this.hasGreatestFirst(key) ? [`${key}-`, key] : [key, `${key}-`];
    return directions.map((sort) => new Option(`${heading} ${readSort(sort).descending ? "↓" : "↑"}`, sort));
  }

  download() {
    const rows = this.order.filter((place) => this.isShown[place]).map((place) => this.cells[place].map((cell) => cell.value));
    const file = URL.createObjectURL(new Blob([toCsv([this.headings, ...rows])], { type: "text/csv;charset=utf-8" }));
    made("a", { href: file, download: `${this.name}.csv` }).click();
    setTimeout(() => URL.revokeObjectURL(file), 60_000);
  }
}

function made(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

function textOf(element) {
  return element.textContent.replace(/\s+/g, " ").trim();
}

/** A cell with controls says what its data-value says: their options and labels are no data. */
function readCell(cell) {
  const value = cell.dataset.value;
  const text = cell.querySelector("select, button") ? "" : textOf(cell);
  return { text: value === undefined ? text : `${text}\n${value}`, value: value ?? (text === "–" ? "" : text) };
}

/** Where somebody is in a part of the page that is about to be replaced. */
function placeIn(part) {
  const slid = [...tables.values()].map(({ name, element }) => ({ name, left: element.closest(".scroll")?.scrollLeft ?? 0 }));
  const active = document.activeElement;
  if (!part.contains(active)) return { slid };
  const table = [...tables.values()].find(({ element, tools, below }) => [element, tools, below].some((own) => own.contains(active)));
  const number = table && active.matches(".sort") ? table.columns.findIndex(({ heading }) => heading.contains(active)) : -1;
  const selection = active.matches("input[type='search']") ? [active.selectionStart, active.selectionEnd] : null;
  return { slid, active, table, key: table?.keys[number], link: active.getAttribute("href"), selection };
}

function returnTo({ slid, active, table, key, link, selection }) {
  for (const { name, left } of slid) {
    const region = tables.get(name).element.closest(".scroll");
    if (region && left) region.scrollLeft = left;
  }
  if (!active || document.activeElement !== document.body) return;
  let target = active.isConnected ? active : null;
  if (key) target = table.columns.find((column) => column.key === key)?.heading.querySelector(".sort");
  else if (table && link) target = [...table.element.querySelectorAll("a[href]")].find((one) => one.getAttribute("href") === link);
  target?.focus({ preventScroll: true });
  if (target && selection) target.setSelectionRange(...selection);
}
