// The category bar, and the small chooser that appears at a selection made before a category was picked. Where there are many categories
// both can be filtered by typing.

/** Distance between the selection and the chooser. */
const GAP_PX = 6;

/** Dispatches `choose` (detail: key) when a category is picked with the mouse, by touch or with Enter. */
export class CategoryBar extends EventTarget {
  #armed = null;
  #filters = {};

  /**
   * @param {HTMLElement} bar      with one button per category, `data-category` holding its key
   * @param {HTMLElement} chooser  gets a copy of the buttons, in its list where it has one
   * @param {{key: string, color: string, hotkey: string|null, name: string}[]} categories
   */
  constructor(bar, chooser, categories) {
    super();
    this.bar = bar;
    this.chooser = chooser;
    this.categories = categories;
    const list = chooser.querySelector("[role=listbox]") ?? chooser;
    for (const button of this.#buttons()) {
      const category = categories.find(({ key }) => key === button.dataset.category);
      button.style.setProperty("--c", category.color);
      const copy = button.cloneNode(true);
      copy.removeAttribute("aria-pressed");
      list.append(copy);
      for (const element of [button, copy]) {
        element.addEventListener("click", () => this.#choose(category.key));
        // A press would move the focus to the button and so end the selection that it is about to mark.
        element.addEventListener("mousedown", (event) => event.preventDefault());
      }
    }
    for (const place of [bar, chooser]) {
      const field = place.querySelector("input");
      if (field) this.#filters[place.id] = new CategoryFilter(field, place, categories, (key) => this.#choose(key));
    }
    if (!this.#filters.chooser) chooser.addEventListener("keydown", (event) => this.#walk(event));
  }

  get armed() {
    return this.#armed;
  }

  /** Makes a category the one that the next drag marks with; null for none. */
  arm(key) {
    this.#armed = key;
    for (const button of this.#buttons()) button.setAttribute("aria-pressed", String(button.dataset.category === key));
  }

  byHotkey(character) {
    return this.categories.find(({ hotkey }) => hotkey?.toLowerCase() === character.toLowerCase());
  }

  /** Moves the focus to the filter of categories, if there is one. */
  focusFilter() {
    (this.chooserIsOpen ? this.#filters.chooser : this.#filters.categories)?.focus();
  }

  /** Leaves and empties the bar's filter; returns whether it had the focus. */
  leaveFilter() {
    return this.#filters.categories?.leave() ?? false;
  }

  get chooserIsOpen() {
    return !this.chooser.hidden;
  }

  /**
   * Shows the chooser below the end of a selection, or above it if there is no room.
   *
   * @param {Range} range
   * @param {{key: string}[]} fitting the categories to choose from
   */
  openChooser(range, fitting, { focus = false } = {}) {
    const keys = new Set(fitting.map(({ key }) => key));
    for (const button of this.#choices()) button.hidden = !keys.has(button.dataset.category);
    this.#filters.chooser?.open(keys);
    const rects = range.getClientRects();
    const place = rects[rects.length - 1] ?? range.getBoundingClientRect();
    this.chooser.hidden = false;
    const { width, height } = this.chooser.getBoundingClientRect();
    const left = Math.max(GAP_PX, Math.min(place.right - width / 2, innerWidth - width - GAP_PX));
    const below = place.bottom + GAP_PX;
    const top = below + height < innerHeight ? below : Math.max(GAP_PX, (rects[0] ?? place).top - height - GAP_PX);
    this.chooser.style.setProperty("left", `${left}px`);
    this.chooser.style.setProperty("top", `${top}px`);
    if (!focus) return;
    if (this.#filters.chooser) this.#filters.chooser.focus();
    else this.#choices().find((button) => !button.hidden)?.focus();
  }

  closeChooser() {
    this.chooser.hidden = true;
  }

  #buttons() {
    return this.bar.querySelectorAll("button[data-category]");
  }

  #choices() {
    return [...this.chooser.querySelectorAll("[data-category]")];
  }

  #choose(key) {
    this.dispatchEvent(new CustomEvent("choose", { detail: { key } }));
  }

  #walk(event) {
    const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const buttons = this.#choices().filter((button) => !button.hidden);
    const now = buttons.indexOf(document.activeElement);
    buttons[(now + step + buttons.length) % buttons.length].focus();
    event.preventDefault();
  }
}

/**
 * A field that shows only the categories whose names contain the typed text. Arrows move the highlight, Enter picks the highlighted one.
 * In the chooser it is the field of a combobox, in the bar a search field beside toggle buttons.
 */
class CategoryFilter {
  #names;
  #allowed;
  #active = null;

  /**
   * @param {HTMLInputElement} field
   * @param {HTMLElement} place       holds the buttons
   * @param {{key: string, name: string}[]} categories
   * @param {(key: string) => void} choose
   */
  constructor(field, place, categories, choose) {
    Object.assign(this, { field, choose });
    this.buttons = [...place.querySelectorAll("[data-category]")];
    this.#names = new Map(categories.map(({ key, name }) => [key, plain(name)]));
    this.#allowed = new Set(this.#names.keys());
    if (this.#isCombobox) {
      for (const button of this.buttons) {
        button.setAttribute("role", "option");
        button.tabIndex = -1;
        button.id = `choice-${button.dataset.category}`;
      }
    }
    field.addEventListener("input", () => this.#filter());
    field.addEventListener("keydown", (event) => this.#key(event));
  }

  get #isCombobox() {
    return this.field.getAttribute("role") === "combobox";
  }

  focus() {
    this.field.focus();
    this.#filter();
  }

  /** Clears the filter and shows the categories that are allowed now. */
  open(allowed) {
    this.#allowed = allowed;
    this.field.value = "";
    this.#filter();
  }

  leave() {
    if (document.activeElement !== this.field) return false;
    this.field.value = "";
    this.#filter();
    this.#point(null);
    this.field.blur();
    return true;
  }

  #filter() {
    const wanted = plain(this.field.value.trim());
    const matches = (button) => this.#names.get(button.dataset.category).includes(wanted);
    for (const button of this.buttons) button.hidden = !this.#allowed.has(button.dataset.category) || !matches(button);
    const shown = this.#shown();
    const begins = shown.find((button) => this.#names.get(button.dataset.category).startsWith(wanted));
    // In the bar nothing is highlighted before something is typed, so that Enter in the empty field picks nothing.
    this.#point(wanted || this.#isCombobox ? (begins ?? shown[0] ?? null) : null);
  }

  #shown() {
    return this.buttons.filter((button) => !button.hidden);
  }

  #point(button) {
    this.#active = button;
    for (const other of this.buttons) {
      other.classList.toggle("pointed", other === button);
      if (this.#isCombobox) other.setAttribute("aria-selected", String(other === button));
    }
    if (this.#isCombobox && button) this.field.setAttribute("aria-activedescendant", button.id);
    else this.field.removeAttribute("aria-activedescendant");
    button?.scrollIntoView({ block: "nearest" });
  }

  #key(event) {
    if (event.isComposing || event.ctrlKey || event.metaKey) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const shown = this.#shown();
    if (step && shown.length) this.#point(shown[(shown.indexOf(this.#active) + step + shown.length) % shown.length]);
    else if (event.key === "Enter" && this.#active) {
      this.choose(this.#active.dataset.category);
    } else return;
    event.preventDefault();
  }
}

/** Letters alone, so that accents and capitals need not be typed. */
function plain(text) {
  return text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
}
