// Renders a source for reading. Everything is put in place as text: nothing in a source can become markup.

/** Branches that lie this deep, or hold more entries, are folded at first. */
const OPEN_DEPTH = 4;
const OPEN_ENTRIES = 30;
const TABLE_COLUMNS = 12;

/**
 * @param {unknown} source any JSON value
 * @returns {Node}
 */
export function renderSource(source) {
  if (typeof source === "string") return paragraph(source);
  return renderValue(source, 0);
}

function renderValue(value, depth) {
  if (Array.isArray(value)) return renderList(value, depth);
  if (isRecord(value)) return renderRecord(value, depth);
  return scalar(value);
}

function renderList(list, depth) {
  if (!list.length) return scalar(null);
  if (list.every((entry) => !isStructured(entry))) return simpleList(list);
  const flat = list.map((entry) => (isRecord(entry) ? flatten(entry) : null));
  const columns = [...new Set(flat.flatMap((entry) => Object.keys(entry ?? {})))];
  if (flat.every(Boolean) && list.length > 1 && columns.length <= TABLE_COLUMNS) return table(flat, columns);
  const element = document.createElement("ol");
  element.className = "tree";
  list.forEach((entry) => {
    const item = document.createElement("li");
    item.append(renderValue(entry, depth + 1));
    element.append(item);
  });
  return element;
}

function renderRecord(record, depth) {
  const element = document.createElement("div");
  element.className = "record";
  let pairs = null;
  for (const [name, value] of Object.entries(record)) {
    if (isStructured(value) && size(value) > 0 && !isShortList(value)) {
      pairs = null;
      element.append(branch(name, value, depth));
      continue;
    }
    if (!pairs) element.append((pairs = document.createElement("dl")));
    pairs.append(withText("dt", label(name)));
    const cell = document.createElement("dd");
    cell.append(isStructured(value) ? simpleList(value) : scalar(value));
    pairs.append(cell);
  }
  return element;
}

function branch(name, value, depth) {
  const details = document.createElement("details");
  details.open = depth < OPEN_DEPTH && size(value) <= OPEN_ENTRIES;
  const summary = withText("summary", label(name));
  if (Array.isArray(value)) summary.append(withText("span", ` (${value.length})`, "count"));
  details.append(summary, renderValue(value, depth + 1));
  return details;
}

function table(rows, columns) {
  const wrap = document.createElement("div");
  wrap.className = "table-wrap";
  wrap.tabIndex = 0;
  wrap.setAttribute("role", "group");
  wrap.setAttribute("aria-label", columns.map(label).join(", "));
  const element = document.createElement("table");
  const head = element.createTHead().insertRow();
  for (const column of columns) {
    const cell = withText("th", label(column));
    cell.scope = "col";
    head.append(cell);
  }
  const body = element.createTBody();
  for (const row of rows) {
    const line = body.insertRow();
    for (const column of columns) {
      const cell = line.insertCell();
      if (typeof row[column] === "number") cell.className = "number";
      cell.append(scalar(row[column]));
    }
  }
  wrap.append(element);
  return wrap;
}

/** A record of records as one row, `time.elapsed` beside `type`; null when something in it does not fit into cells. */
function flatten(record, prefix = "") {
  const row = {};
  for (const [name, value] of Object.entries(record)) {
    if (Array.isArray(value)) return null;
    if (!isRecord(value)) {
      row[prefix + name] = value;
      continue;
    }
    const inner = flatten(value, `${prefix}${name}.`);
    if (!inner) return null;
    Object.assign(row, inner);
  }
  return row;
}

function simpleList(list) {
  const element = document.createElement("ul");
  element.className = list.every((entry) => String(entry).length <= 24) ? "inline-list" : "plain-list";
  for (const entry of list) {
    const item = document.createElement("li");
    item.append(scalar(entry));
    element.append(item);
  }
  return element;
}

function scalar(value) {
  if (value === null || value === undefined || value === "") return withText("span", "–", "none");
  return withText("span", typeof value === "number" ? String(value) : String(value), "value");
}

function paragraph(text) {
  const element = withText("div", text, "plain-source");
  element.dir = "auto";
  return element;
}

function withText(tag, text, className) {
  const element = document.createElement(tag);
  element.textContent = text;
  if (className) element.className = className;
  return element;
}

/** `elapsed_time` and `time.elapsed` as people write them. */
function label(name) {
  return name.replaceAll("_", " ").replaceAll(".", " · ");
}

const isRecord = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isStructured = (value) => typeof value === "object" && value !== null;
const isShortList = (value) => Array.isArray(value) && value.every((entry) => !isStructured(entry));
const size = (value) => (Array.isArray(value) ? value.length : Object.keys(value).length);

/** The find box: highlights what is typed wherever it stands in the source, and opens what is folded around it. */
export class SourceSearch {
  #ranges = [];
  #current = -1;

  /**
   * @param {HTMLElement} pane
   * @param {HTMLInputElement} box
   * @param {HTMLElement} count  where "2 of 7" is written
   */
  constructor(pane, box, count) {
    Object.assign(this, { pane, box, count });
    box.addEventListener("input", () => this.search());
    box.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      this.#show(this.#current + (event.shiftKey ? -1 : 1));
    });
  }

  search() {
    const wanted = this.box.value.trim().toLowerCase();
    this.#ranges = wanted ? this.#matches(wanted) : [];
    this.#current = -1;
    this.#paint();
    if (this.#ranges.length) this.#show(0);
    else this.count.textContent = wanted ? "0" : "";
  }

  #matches(wanted) {
    const ranges = [];
    const walker = document.createTreeWalker(this.pane, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const node = walker.currentNode;
      const text = node.data.toLowerCase();
      // Lower case has another length for a few letters; offsets would then point elsewhere.
      if (text.length !== node.data.length) continue;
      for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
        const range = document.createRange();
        range.setStart(node, at);
        range.setEnd(node, at + wanted.length);
        ranges.push(range);
      }
    }
    return ranges;
  }

  #show(index) {
    if (!this.#ranges.length) return;
    this.#current = (index + this.#ranges.length) % this.#ranges.length;
    const place = this.#ranges[this.#current].startContainer.parentElement;
    for (let up = place; up && up !== this.pane; up = up.parentElement) if (up.tagName === "DETAILS") up.open = true;
    place.scrollIntoView({ block: "nearest" });
    this.count.textContent = `${this.#current + 1} / ${this.#ranges.length}`;
    this.#paint();
  }

  #paint() {
    if (!globalThis.CSS?.highlights) return;
    CSS.highlights.set("found", new Highlight(...this.#ranges));
    const current = this.#ranges[this.#current];
    CSS.highlights.set("found-current", new Highlight(...(current ? [current] : [])));
  }
}
