// Fields of the selected span: category, subcategory, severity, reason and attributes. They are beside the category bar, so that they
// stay visible wherever the span is in a long text.

export class Inspector {
  /** Id, category and kind of the span the fields were made for. */
  #made = "";

  /**
   * @param {HTMLElement|null} box
   * @param {object} desk the item on the page, see main.js
   */
  constructor(box, desk) {
    const { campaign, store, t } = desk;
    Object.assign(this, { box, desk, campaign, store, t });
    box?.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.ctrlKey || event.metaKey || event.isComposing || !event.target.matches("input")) return;
      event.preventDefault();
      this.leave();
    });
  }

  get #span() {
    return this.store.find(this.store.selected);
  }

  render() {
    if (!this.box) return;
    const span = this.#span;
    this.box.hidden = !span;
    if (!span) {
      this.#made = "";
      return;
    }
    const made = JSON.stringify([span.id, span.category]);
    if (made !== this.#made) this.#make(span);
    this.#made = made;
    this.box.querySelector("q").textContent = this.desk.list.quote(span);
    for (const field of this.box.querySelectorAll("[data-field]")) this.#fill(field, span);
  }

  /** Puts the focus on a field of the selected span: the one named, the first that must be filled, or the first. */
  focus(name = null) {
    const fields = [...(this.box?.querySelectorAll("[data-field]") ?? [])];
    const wanted = name ? fields.find((field) => field.dataset.field === name) : fields.find((field) => field.required && !field.value);
    (wanted ?? fields.find((field) => !field.disabled))?.focus();
  }

  /** Moves the focus from the fields to the text; returns whether it was in them. */
  leave() {
    if (!this.box?.contains(document.activeElement)) return false;
    const span = this.#span;
    this.desk.surfaces.get(span?.on ?? "output:0").element.focus({ preventScroll: true });
    return true;
  }

  #make(span) {
    const focused = this.box.contains(document.activeElement) ? document.activeElement.dataset.field : null;
    const { campaign, t } = this;
    const category = this.desk.categories.get(span.category);
    this.box.style.setProperty("--c", category.color);
    const fields = [];
    if (campaign.categories.length > 1) fields.push(this.#select("category", t("category"), this.#categories(span), { required: true, filled: true }));
    if (category.subcategories.length) fields.push(this.#select("subcategory", t("subcategory"), options(category.subcategories)));
    if (campaign.severities.length) fields.push(this.#select("severity", t("severity"), options(campaign.severities), { required: true }));
    for (const attribute of campaign.attributes) fields.push(this.#attribute(attribute));
    if (campaign.reason !== "off") fields.push(this.#input("reason", t("reason"), { required: campaign.reason === "required" }));
    const quote = document.createElement("q");
    quote.className = "quoted";
    quote.dir = "auto";
    this.box.replaceChildren(quote, ...fields, this.#removal());
    if (focused) this.focus(focused);
  }

  /** Options of the categories that are allowed in the span's text. */
  #categories(span) {
    const surface = this.desk.surfaces.get(span.on);
    return options(this.campaign.categories.filter((category) => category.key === span.category || surface.allows(category)));
  }

  #attribute(attribute) {
    const name = `attribute ${attribute.key}`;
    const { label, required } = attribute;
    if (attribute.type === "choice") return this.#select(name, label, attribute.options.map((option) => new Option(option.label, option.key)), { required });
    if (attribute.type === "text") return this.#input(name, label, { required });
    const box = document.createElement("input");
    box.type = "checkbox";
    box.addEventListener("change", () => this.#change(name, box.checked || undefined));
    return labelled(box, name, label, { after: true });
  }

  #select(name, label, choices, { required = false, filled = false } = {}) {
    const select = document.createElement("select");
    select.required = required;
    if (!filled) select.append(new Option("–", ""));
    select.append(...choices);
    select.addEventListener("change", () => this.#change(name, select.value || undefined));
    return labelled(select, name, label);
  }

  #input(name, label, { required }) {
    const input = document.createElement("input");
    input.type = "text";
    input.maxLength = 2000;
    input.autocomplete = "off";
    input.dir = "auto";
    input.required = required;
    input.addEventListener("input", () => this.#change(name, input.value || undefined, name));
    return labelled(input, name, required ? label : this.t("optional", { label }), { grows: true });
  }

  #removal() {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "delete quiet";
    button.textContent = "✕";
    button.setAttribute("aria-label", this.t("delete"));
    button.addEventListener("click", () => {
      this.desk.marks.remove();
      this.desk.surfaces.get("output:0").element.focus({ preventScroll: true });
    });
    return button;
  }

  #change(name, value, step = null) {
    const span = this.#span;
    const [, attribute] = name.split("attribute ");
    const fields = attribute ? { attributes: withValue(span.attributes, attribute, value) } : { [name]: value };
    const { refused } = this.store.change(span.id, fields, step);
    if (!refused) return;
    this.desk.refuse(refused);
    this.render();
  }

  #fill(field, span) {
    const [, attribute] = field.dataset.field.split("attribute ");
    const value = attribute ? span.attributes?.[attribute] : span[field.dataset.field];
    if (field.type === "checkbox") field.checked = value === true;
    // Only if it differs: writing the same value would move the cursor of a typing user.
    else if (field.value !== (value ?? "")) field.value = value ?? "";
  }
}

/** Attributes with one of them changed; undefined when none is left. */
function withValue(attributes, key, value) {
  const { [key]: _before, ...rest } = attributes ?? {};
  const after = value === undefined ? rest : { ...rest, [key]: value };
  return Object.keys(after).length ? after : undefined;
}

const options = (named) => named.map(({ key, name }) => new Option(name, key));

function labelled(field, name, label, { after = false, grows = false } = {}) {
  field.dataset.field = name;
  field.id = `inspector-${name.replaceAll(" ", "-")}`;
  const text = document.createElement("label");
  text.htmlFor = field.id;
  text.textContent = label;
  const element = document.createElement("div");
  element.className = grows ? "field grows" : "field";
  element.append(...(after ? [field, text] : [text, field]));
  return element;
}
