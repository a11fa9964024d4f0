// The spans as a list of real buttons, each with its category and what else the campaign asks about a span.

const QUOTE_LENGTH = 80;

/** A quote short enough for a list or an announcement; cut at whole characters. */
export function shorten(quote, length = QUOTE_LENGTH) {
  const characters = [...quote];
  return characters.length <= length ? quote : `${characters.slice(0, length - 1).join("")}…`;
}

export class SpanList {
  #rows = new Map();

  /**
   * @param {HTMLElement} list   the `<ul>`
   * @param {HTMLElement} empty  what is shown while there is none
   * @param {import("./store.js").ItemStore} store
   * @param {object} campaign    categories, severities, reason
   * @param {(key: string, values?: object) => string} t
   */
  constructor(list, empty, store, campaign, t) {
    Object.assign(this, { list, empty, store, campaign, t });
    this.categories = new Map(campaign.categories.map((category) => [category.key, category]));
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
      let row = this.#rows.get(span.id);
      if (!row || row.dataset.category !== span.category) {
        const fresh = this.#row(span);
        const field = row?.contains(document.activeElement) ? document.activeElement.name : null;
        row?.replaceWith(fresh);
        this.#rows.set(span.id, fresh);
        row = fresh;
        if (field) row.querySelector(`[name="${field}"]`)?.focus();
      }
      this.#update(row, span);
      if (this.list.children[place] !== row) this.list.insertBefore(row, this.list.children[place] ?? null);
    });
  }

  focus(id) {
    this.#rows.get(id)?.querySelector("button").focus();
  }

  /** Brings a row into sight with the next frame, when the page has been laid out anyway. */
  scrollTo(id) {
    requestAnimationFrame(() => this.#rows.get(id)?.scrollIntoView({ block: "nearest" }));
  }

  /** The first field of a span that must still be filled. */
  focusMissing(id, field) {
    this.#rows.get(id)?.querySelector(`[name="${field}"]`)?.focus();
  }

  #row(span) {
    const category = this.categories.get(span.category);
    const row = document.createElement("li");
    row.className = "span-row colored";
    row.dataset.category = span.category;
    row.style.setProperty("--c", category.color);
    const fields = [this.#quoteButton(span), this.#categorySelect(span)];
    if (category.subcategories.length) fields.push(this.#select(span, "subcategory", category.subcategories));
    if (this.campaign.severities.length) fields.push(this.#select(span, "severity", this.campaign.severities));
    if (this.campaign.reason !== "off") fields.push(this.#reasonInput(span));
    const parts = document.createElement("div");
    parts.append(...fields);
    row.append(parts, this.#deleteButton(span));
    return row;
  }

  #update(row, span) {
    const shown = JSON.stringify([span, this.store.selected === span.id]);
    if (row.dataset.shown === shown) return;
    row.dataset.shown = shown;
    const quote = shorten(this.store.text.slice(span.start, span.end));
    const selected = this.store.selected === span.id;
    row.classList.toggle("selected", selected);
    const button = row.querySelector(".quote");
    button.setAttribute("aria-pressed", String(selected));
    button.querySelector("q").textContent = quote;
    row.querySelector(".delete").setAttribute("aria-label", this.t("delete_span", { quote }));
    for (const field of row.querySelectorAll("select, input")) {
      if (field !== document.activeElement || field.tagName === "SELECT") field.value = span[field.name] ?? "";
    }
  }

  #quoteButton(span) {
    const { hotkey, name } = this.categories.get(span.category);
    const button = document.createElement("button");
    button.type = "button";
    button.className = "quote";
    const key = document.createElement("kbd");
    key.textContent = hotkey ?? name.slice(0, 2);
    key.setAttribute("aria-hidden", "true");
    const category = document.createElement("span");
    category.className = "visually-hidden";
    category.textContent = `${name}: `;
    button.append(key, category, document.createElement("q"));
    button.addEventListener("click", () => this.store.select(this.store.selected === span.id ? null : span.id));
    return button;
  }

  #categorySelect(span) {
    const select = this.#select(span, "category", this.campaign.categories, { required: true });
    select.disabled = this.campaign.categories.length < 2;
    return select;
  }

  #select(span, name, options, { required = false } = {}) {
    const select = document.createElement("select");
    select.name = name;
    select.setAttribute("aria-label", this.t(name));
    if (!required) select.append(new Option(`${this.t(name)}…`, ""));
    select.append(...options.map((option) => new Option(option.name, option.key)));
    select.addEventListener("change", () => {
      const { refused } = this.store.change(span.id, { [name]: select.value || undefined });
      if (refused) {
        select.value = this.store.find(span.id)[name] ?? "";
        this.list.dispatchEvent(new CustomEvent("refused", { detail: refused }));
      }
    });
    return select;
  }

  #reasonInput(span) {
    const input = document.createElement("input");
    input.name = "reason";
    input.type = "text";
    input.maxLength = 2000;
    input.autocomplete = "off";
    input.placeholder = this.t(this.campaign.reason === "required" ? "reason_required" : "reason_optional");
    input.setAttribute("aria-label", this.t("reason"));
    input.addEventListener("input", () => this.store.change(span.id, { reason: input.value || undefined }));
    return input;
  }

  #deleteButton(span) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "delete quiet";
    button.textContent = "✕";
    button.addEventListener("click", () => this.store.remove(span.id));
    return button;
  }
}
