// Caret mode: in the focused text, arrow keys move a caret and Shift selects. The browser's own selection moves, so that words, lines,
// writing direction and combined characters behave as in any text field. This module draws the caret, because browsers show one only
// in editable text.

const MOVES = {
  ArrowLeft: ["left", "character"],
  ArrowRight: ["right", "character"],
  ArrowUp: ["backward", "line"],
  ArrowDown: ["forward", "line"],
  Home: ["backward", "lineboundary"],
  End: ["forward", "lineboundary"],
};

/**
 * Dispatches `move` (detail: the character or word now behind the caret) and `extend` after a change of the selection by keys, and
 * `enter` when Enter is pressed.
 */
export class Caret extends EventTarget {
  #offset = 0;
  #frame = 0;
  /** Whether the next drawing scrolls to the caret: only after keys moved it. */
  #reveals = false;

  /**
   * @param {import("./painting.js").TextView} view
   * @param {HTMLElement} mark  the drawn caret, positioned in the text's offset parent
   */
  constructor(view, mark) {
    super();
    this.view = view;
    this.mark = mark;
    view.element.addEventListener("keydown", (event) => this.#key(event));
    view.element.addEventListener("focus", () => this.#enter());
    view.element.addEventListener("blur", () => (this.mark.hidden = true));
    document.addEventListener("selectionchange", () => this.#draw());
    addEventListener("resize", () => this.#draw());
  }

  /** Restores the caret after the text was repainted. */
  restore() {
    if (document.activeElement !== this.view.element) return;
    this.#offset = Math.min(this.#offset, this.view.text.length);
    getSelection().collapse(...this.view.placeOf(this.#offset));
    this.#draw();
  }

  /** Offset of the caret, or of its next place if the text has no focus. */
  get offset() {
    return this.#focusOffset() ?? this.#offset;
  }

  /** Where the caret can be seen; null when it cannot. */
  get shownAt() {
    const isShown = document.activeElement === this.view.element && getSelection().isCollapsed;
    return isShown ? this.#focusOffset() : null;
  }

  /** Moves the caret to a place in the text, which has the focus. */
  jump(offset) {
    this.#offset = offset;
    this.#reveals = true;
    this.restore();
  }

  /** Sets the offset of the caret for the next focus of the text. */
  place(offset) {
    this.#offset = offset;
  }

  #enter() {
    // A press of the mouse focuses too, and places its own selection.
    if (this.view.element.matches(":focus-visible") && this.#focusOffset() === null) this.restore();
  }

  #focusOffset() {
    const selection = getSelection();
    return selection.rangeCount ? this.view.offsetOf(selection.focusNode, selection.focusOffset) : null;
  }

  #key(event) {
    const move = MOVES[event.key];
    if (event.key === "Enter" && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      this.dispatchEvent(new Event("enter"));
      return;
    }
    if (!move || event.altKey) return;
    event.preventDefault();
    if (this.#focusOffset() === null) this.restore();
    const wide = event.ctrlKey || event.metaKey;
    this.#move(move[0], wide ? { character: "word", line: "paragraph" }[move[1]] : move[1], event.shiftKey, event.key);
  }

  #move(direction, unit, extend, key) {
    const selection = getSelection();
    const { anchorNode, anchorOffset, focusNode, focusOffset } = selection;
    const before = this.#focusOffset();
    // Ctrl with Home or End has no unit: "documentboundary" would leave the text.
    if (unit) selection.modify(extend ? "extend" : "move", direction, unit);
    else this.#jump(key === "End" ? this.view.text.length : 0, extend);
    const after = this.#focusOffset();
    if (after === null) {
      // The move left the text: stay inside.
      selection.setBaseAndExtent(anchorNode, anchorOffset, focusNode, focusOffset);
      return;
    }
    this.#offset = after;
    if (extend) this.dispatchEvent(new Event("extend"));
    else this.dispatchEvent(new CustomEvent("move", { detail: this.#passed(before, after, unit) }));
    this.#reveals = true;
    this.#draw();
  }

  #jump(offset, extend) {
    const place = this.view.placeOf(offset);
    if (extend) getSelection().extend(...place);
    else getSelection().collapse(...place);
  }

  /** Returns the text that a screen reader would say after this move: the word passed, or the character now at the caret. */
  #passed(before, after, unit) {
    if (unit === "word") return this.view.text.slice(Math.min(before, after), Math.max(before, after)).trim();
    return String.fromCodePoint(this.view.text.codePointAt(after) ?? 0x20);
  }

  /** Draws with the next frame: measuring now would lay the page out twice. */
  #draw() {
    cancelAnimationFrame(this.#frame);
    this.#frame = requestAnimationFrame(() => this.#drawNow());
  }

  #drawNow() {
    const selection = getSelection();
    const offset = this.#focusOffset();
    const shown = offset !== null && selection.isCollapsed && document.activeElement === this.view.element;
    this.mark.hidden = !shown;
    if (!shown) return;
    this.#offset = offset;
    const box = this.#boxAt(offset);
    const frame = this.mark.offsetParent.getBoundingClientRect();
    this.mark.style.setProperty("left", `${box.x - frame.left}px`);
    this.mark.style.setProperty("top", `${box.top - frame.top}px`);
    this.mark.style.setProperty("height", `${box.height}px`);
    if (this.#reveals) this.mark.scrollIntoView({ block: "nearest" });
    this.#reveals = false;
  }

  #boxAt(offset) {
    const [box] = this.view.rangeOf(offset, offset).getClientRects();
    // Chromium returns no box for an empty range at some edges: use the side of a neighbouring character.
    return box ? { x: box.left, top: box.top, height: box.height } : this.view.boxAt(offset);
  }
}
