// The category bar, and the small chooser that appears at a selection made before a category was picked.

/** Distance between the selection and the chooser. */
const GAP_PX = 6;

/**
 * Dispatches `choose` (detail: key, from: "bar" | "chooser") when a category is picked with the mouse, by touch or with Enter.
 */
export class CategoryBar extends EventTarget {
  #armed = null;

  /**
   * @param {HTMLElement} bar      with one button per category, `data-category` holding its key
   * @param {HTMLElement} chooser  empty element, filled with a copy of the buttons
   * @param {{key: string, color: string, hotkey: string|null, name: string}[]} categories
   */
  constructor(bar, chooser, categories) {
    super();
    this.bar = bar;
    this.chooser = chooser;
    this.categories = categories;
    for (const button of this.#buttons()) {
      const category = categories.find(({ key }) => key === button.dataset.category);
      button.style.setProperty("--c", category.color);
      const copy = button.cloneNode(true);
      copy.removeAttribute("aria-pressed");
      this.chooser.append(copy);
      button.addEventListener("click", () => this.#choose(category.key, "bar"));
      copy.addEventListener("click", () => this.#choose(category.key, "chooser"));
      // A button that took the focus on press would end the selection it is about to mark.
      for (const element of [button, copy]) element.addEventListener("mousedown", (event) => event.preventDefault());
    }
    chooser.addEventListener("keydown", (event) => this.#walk(event));
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

  get chooserIsOpen() {
    return !this.chooser.hidden;
  }

  /** Shows the chooser below the end of a selection, or above where there is no room. */
  openChooser(range, { focus = false } = {}) {
    const rects = range.getClientRects();
    const place = rects[rects.length - 1] ?? range.getBoundingClientRect();
    this.chooser.hidden = false;
    const { width, height } = this.chooser.getBoundingClientRect();
    const left = Math.max(GAP_PX, Math.min(place.right - width / 2, innerWidth - width - GAP_PX));
    const below = place.bottom + GAP_PX;
    const top = below + height < innerHeight ? below : Math.max(GAP_PX, rects[0].top - height - GAP_PX);
    this.chooser.style.setProperty("left", `${left}px`);
    this.chooser.style.setProperty("top", `${top}px`);
    if (focus) this.chooser.querySelector("button")?.focus();
  }

  closeChooser() {
    this.chooser.hidden = true;
  }

  #buttons() {
    return this.bar.querySelectorAll("button[data-category]");
  }

  #choose(key, from) {
    this.dispatchEvent(new CustomEvent("choose", { detail: { key, from } }));
  }

  #walk(event) {
    const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const buttons = [...this.chooser.querySelectorAll("button")];
    const now = buttons.indexOf(document.activeElement);
    buttons[(now + step + buttons.length) % buttons.length].focus();
    event.preventDefault();
  }
}
