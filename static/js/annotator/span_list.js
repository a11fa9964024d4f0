// List of the spans as real buttons, each with its category, quote and details. The details are edited in inspector.js.

import { isOmission } from "./painting.js";

const QUOTE_LENGTH = 80;
const CONTEXT_LENGTH = 15;

/** A quote short enough for a list or an announcement; cut at whole characters. */
export function shorten(quote, length = QUOTE_LENGTH) {
  const characters = [...quote];
  return characters.length <= length ? quote : `${characters.slice(0, length - 1).join("")}…`;
}

export class SpanList {
  #rows = new Map();
  /** Content of each row. @type {WeakMap<HTMLElement, {span: import("./store.js").Span, selected: boolean}>} */
  #shown = new WeakMap();

  /**
   * @param {HTMLElement} list   the `<ul>`
   * @param {HTMLElement} empty  shown while there is no span
   * @param {import("./store.js").ItemStore} store
   * @param {object} campaign    categories, severities, reason, attributes
   * @param {(key: string, values?: object) => string} t
   */
  constructor(list, empty, store, campaign, t) {
    Object.assign(this, { list, empty, store, campaign, t });
    this.categories = new Map(campaign.categories.map((category) => [category.key, category]));
    this.severities = new Map(campaign.severities.map(({ key, name }) => [key, name]));
  }

  /** The quote of a span or stretch; for an omission, the text around it with a sign or word in the gap. */
  quote(span, gap = "▾") {
    if (!isOmission(span)) return shorten(this.store.quote(span));
    const { text } = this.store.texts.get(span.on);
    const before = [...text.slice(0, span.start)];
    const shown = before.length > CONTEXT_LENGTH ? `…${before.slice(-CONTEXT_LENGTH).join("")}` : before.join("");
    return `${shown}${gap}${shorten(text.slice(span.start), CONTEXT_LENGTH)}`;
  }

  /** The same, to be read out. */
  spoken(span) {
    return this.quote(span, ` (${this.t("missing_here")}) `);
  }

  /** Whether the campaign asks anything about a span, beside its category. */
  asksAbout(span) {
    const { severities, reason, attributes } = this.campaign;
    return severities.length > 0 || reason !== "off" || attributes.length > 0 || this.categories.get(span.category).subcategories.length > 0;
  }

  render() {
    const { spans } = this.store;
    this.empty.hidden = spans.length > 0;
    const seen = new Set(spans.map((span) => span.id));
    for (const [id, row] of this.#rows) {
      if (seen.has(id)) continue;
      row.remove();
      this.#rows.delete(id);
    }
    spans.forEach((span, place) => {
      if (!this.#rows.has(span.id)) this.#rows.set(span.id, this.#row(span.id));
      const row = this.#rows.get(span.id);
      this.#update(row, span);
      if (this.list.children[place] !== row) this.list.insertBefore(row, this.list.children[place] ?? null);
    });
  }

  focus(id) {
    this.#rows.get(id)?.querySelector("button").focus({ preventScroll: true });
  }

  /** Scrolls the list to a row. `scrollIntoView` would also move the text, which must stay. */
  scrollTo(id) {
    requestAnimationFrame(() => {
      const row = this.#rows.get(id);
      if (row && this.list.scrollHeight > this.list.clientHeight) this.list.scrollTop = row.offsetTop - this.list.offsetTop - this.list.clientHeight / 2;
    });
  }

  #row(id) {
    const row = document.createElement("li");
    row.className = "span-row colored";
    const quote = document.createElement("button");
    quote.type = "button";
    quote.className = "quote";
    const key = element("kbd");
    key.removeAttribute("dir");
    key.setAttribute("aria-hidden", "true");
    quote.append(key, element("q"), " ", element("span", "category-name"), " ", element("span", "about muted"));
    quote.addEventListener("click", () => this.store.select(this.store.selected === id ? null : id));
    const remove = element("button", "delete quiet");
    remove.type = "button";
    remove.textContent = "✕";
    remove.addEventListener("click", () => this.store.remove(id));
    row.append(quote, remove);
    return row;
  }

  #update(row, span) {
    const selected = this.store.selected === span.id;
    const shown = this.#shown.get(row);
    if (shown?.span === span && shown.selected === selected) return; // the store makes a new object of a span that it changes
    this.#shown.set(row, { span, selected });
    const { color, hotkey, name } = this.categories.get(span.category);
    const quote = this.quote(span);
    row.style.setProperty("--c", color);
    row.classList.toggle("selected", selected);
    row.querySelector(".quote").setAttribute("aria-pressed", String(selected));
    row.querySelector("kbd").textContent = hotkey ?? name.slice(0, 2);
    row.querySelector("q").textContent = quote;
    row.querySelector("q").classList.toggle("omission", isOmission(span));
    row.querySelector(".category-name").textContent = name;
    row.querySelector(".about").textContent = this.about(span).join(" · ");
    row.querySelector(".delete").setAttribute("aria-label", this.t("delete_span", { quote }));
  }

  /** The details of a span, and its text if that is not the first output. */
  about(span) {
    const { side, output } = this.store.texts.get(span.on);
    const subcategory = this.categories.get(span.category).subcategories.find(({ key }) => key === span.subcategory);
    const parts = [
      side === "source" ? this.t("in_source") : output > 0 ? this.t("in_second") : null,
      isOmission(span) ? this.t("missing_here") : null,
      subcategory?.name,
      this.severities.get(span.severity),
      ...this.campaign.attributes.map((attribute) => inWords(attribute, span.attributes?.[attribute.key])),
      span.reason && shorten(span.reason),
    ];
    return parts.filter(Boolean);
  }
}

function inWords(attribute, value) {
  if (attribute.type === "checkbox") return value ? attribute.label : null;
  if (attribute.type === "choice") return attribute.options.find(({ key }) => key === value)?.label;
  return value && shorten(value);
}

/** Makes an element with the direction of its content, because quotes and the page may have different scripts. */
function element(tag, className = "") {
  const made = document.createElement(tag);
  made.dir = "auto";
  if (className) made.className = className;
  return made;
}
