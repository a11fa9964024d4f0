// Selection of a stretch of text. It reads the browser's own selection, so that mouse, pen, touch, double click and caret work in any
// direction and script. It snaps the selection to the campaign's granularity and previews the mark.

const UNITS = { character: "grapheme", word: "word", sentence: "sentence" };
const TOUCH_SETTLES_MS = 350;
/** A finger that moves this far sideways selects; vertical movement scrolls. */
const SWIPE_PX = 10;

/** Snaps stretches to units of text. The segmentation of the last text is cached. */
export class Snapper {
  #segments = new Map();
  #text = null;

  /** @param {string} language BCP 47 tag, a hint to the segmentation rules */
  constructor(language) {
    this.language = language;
  }

  /**
   * Widens a stretch to whole units. White space at either end is left out unless there is nothing else, or the unit is the character.
   *
   * @param {string} text
   * @param {number} start UTF-16 offset
   * @param {number} end UTF-16 offset, not before start
   * @param {"character"|"word"|"sentence"} granularity
   * @returns {{start: number, end: number}|null} null when nothing is left
   */
  snap(text, start, end, granularity) {
    if (start >= end) return null;
    const segments = this.#of(text, granularity);
    const from = segments.containing(start).index;
    const last = segments.containing(end - 1);
    const to = last.index + last.segment.length;
    if (granularity === "character") return { start: from, end: to };
    const inner = text.slice(from, to);
    const trimmed = inner.trim();
    if (!trimmed) return null;
    const lead = inner.length - inner.trimStart().length;
    return { start: from + lead, end: from + lead + trimmed.length };
  }

  /**
   * The unit edge for one end of a span that is moved. The other end stays, whatever granularity it was snapped to.
   *
   * @param {string} text
   * @param {{start: number, end: number}} span
   * @param {"start"|"end"} edge
   * @param {number} offset  where the edge was moved to
   * @param {"character"|"word"|"sentence"} granularity
   * @returns {number|null} null when nothing would be left between the two ends
   */
  snapEdge(text, span, edge, offset, granularity) {
    const snapped = edge === "end" ? this.snap(text, span.start, offset, granularity) : this.snap(text, offset, span.end, granularity);
    if (!snapped) return null;
    const moved = { ...span, [edge]: snapped[edge] };
    return moved.start < moved.end ? snapped[edge] : null;
  }

  /**
   * The next unit edge from a place, in the direction of reading or against it.
   *
   * @param {string} text
   * @param {number} offset
   * @param {1|-1} step
   * @param {"character"|"word"|"sentence"} granularity
   */
  next(text, offset, step, granularity) {
    const segments = this.#of(text, granularity);
    for (let at = step > 0 ? offset : offset - 1; at >= 0 && at < text.length; ) {
      const { index, segment } = segments.containing(at);
      if (granularity === "character" || segment.trim()) return step > 0 ? index + segment.length : index;
      at = step > 0 ? index + segment.length : index - 1;
    }
    return step > 0 ? text.length : 0;
  }

  /** The unit edge nearest to a place. */
  nearest(text, offset, granularity) {
    if (offset <= 0 || offset >= text.length) return Math.max(0, Math.min(offset, text.length));
    const { index, segment } = this.#of(text, granularity).containing(offset);
    return offset - index <= index + segment.length - offset ? index : index + segment.length;
  }

  #of(text, granularity) {
    if (text !== this.#text) {
      this.#segments.clear();
      this.#text = text;
    }
    if (!this.#segments.has(granularity)) {
      const segmenter = new Intl.Segmenter(this.language, { granularity: UNITS[granularity] });
      this.#segments.set(granularity, segmenter.segment(text));
    }
    return this.#segments.get(granularity);
  }
}

/** A press that may become a swipe; `from` is the offset it began at, once it has moved far enough. */
function swipeFrom({ clientX, clientY }) {
  return { x: clientX, y: clientY, from: null };
}

/** Preview of the mark, on all texts of the page; null if the browser has no highlights. */
const preview = globalThis.CSS?.highlights ? new Highlight() : null;
if (preview) CSS.highlights.set("preview", preview);

/**
 * Watches one text. Dispatches `pick` (detail: start, end, touch) when a stretch has been chosen and `tap` (detail: offset, omission, exact)
 * when a place, or the wedge of an omission, was clicked; keeps a preview of the snapped stretch painted meanwhile.
 */
export class TextSelection extends EventTarget {
  #dragging = false;
  #exact = false;
  #touch = false;
  #timer = 0;
  #previewed = null;
  #held = null;
  #swipe = null;

  /**
   * @param {import("./painting.js").TextView} view
   * @param {{granularity: string}} campaign
   * @param {Snapper} snapper
   */
  constructor(view, campaign, snapper) {
    super();
    this.view = view;
    this.granularity = campaign.granularity;
    this.snapper = snapper;
    view.element.addEventListener("pointerdown", (event) => this.#down(event));
    document.addEventListener("pointerup", (event) => this.#up(event));
    document.addEventListener("pointercancel", () => this.#cancel());
    view.element.addEventListener("pointermove", (event) => this.#follow(event));
    view.element.addEventListener("dblclick", (event) => this.#wordUnder(event));
    view.element.addEventListener("copy", (event) => this.#copy(event));
    document.addEventListener("selectionchange", () => this.#changed());
  }

  /** The stretch selected now, snapped, or the one that is held; null when there is none. */
  current() {
    const raw = this.#raw();
    if (!raw) return this.#held;
    return this.snapper.snap(this.view.text, raw.start, raw.end, this.#exact ? "character" : this.granularity);
  }

  /** Keeps a stretch chosen while the browser's selection goes elsewhere, into a field for instance. */
  hold({ start, end }) {
    this.#held = { start, end };
    this.preview(this.#held);
  }

  preview(stretch) {
    if (this.#previewed) preview?.delete(this.#previewed);
    this.#previewed = stretch && this.view.rangeOf(stretch.start, stretch.end);
    if (this.#previewed) preview?.add(this.#previewed);
  }

  clear() {
    this.#exact = false;
    this.#held = null;
    clearTimeout(this.#timer);
    const selection = getSelection();
    if (selection.rangeCount && this.view.element.contains(selection.anchorNode)) selection.removeAllRanges();
    this.preview(null);
  }

  /** Starts a selection from a press on an element over the text, such as a handle; the browser would not start one there. */
  begin(event) {
    event.preventDefault();
    this.view.element.setPointerCapture(event.pointerId);
    this.#down(event);
    this.#swipe ??= swipeFrom(event);
  }

  #raw() {
    const selection = getSelection();
    if (!selection.rangeCount || selection.isCollapsed) return null;
    const anchor = this.view.offsetOf(selection.anchorNode, selection.anchorOffset);
    if (anchor === null) return null;
    const range = selection.getRangeAt(0);
    // A selection that goes beyond the text is cut at its borders.
    const start = this.view.offsetOf(range.startContainer, range.startOffset) ?? 0;
    const end = this.view.offsetOf(range.endContainer, range.endOffset) ?? this.view.text.length;
    return { start, end };
  }

  /** Copies exactly the selected characters: browsers add line feeds at the ends of blocks. */
  #copy(event) {
    const raw = this.#raw();
    if (!raw || !this.view.element.contains(getSelection().getRangeAt(0).commonAncestorContainer)) return;
    event.clipboardData.setData("text/plain", this.view.text.slice(raw.start, raw.end));
    event.preventDefault();
  }

  #down(event) {
    if (event.button !== 0) return;
    this.#drag(true);
    this.#touch = event.pointerType === "touch";
    this.#exact = event.shiftKey;
    this.#held = null;
    this.#swipe = this.#touch && event.isPrimary ? swipeFrom(event) : null;
    // Each press starts a new selection. Otherwise Shift would extend the old one, and a press on selected text would drag it.
    if (!this.#touch) getSelection().removeAllRanges();
  }

  #up(event) {
    if (!this.#dragging) return;
    this.#exact ||= event.shiftKey;
    this.#finish(event);
    this.#drag(false); // last: during a drag, elements over the text do not hide it from look-ups by point
  }

  #finish(event) {
    if (this.#swipe?.from != null && this.#held) {
      this.dispatchEvent(new CustomEvent("pick", { detail: { ...this.#held, touch: false } }));
      return;
    }
    if (!this.#touch || getSelection().isCollapsed) this.#settle(event);
  }

  /** Sets the class that makes elements over the text, such as handles, ignore the pointer. */
  #drag(dragging) {
    this.#dragging = dragging;
    document.body.classList.toggle("dragging", dragging);
  }

  #cancel() {
    if (this.#dragging) this.#drag(false);
    if (this.#swipe?.from != null) this.clear();
    this.#swipe = null;
  }

  /** Selects the word under a double click: on the outer half of its last letter, browsers select the space after it. */
  #wordUnder({ clientX, clientY }) {
    if (this.current()) return;
    const at = this.view.letterAt(clientX, clientY);
    if (at === null) return;
    const word = this.snapper.snap(this.view.text, at, at + 1, this.granularity === "sentence" ? "sentence" : "word");
    if (word) this.dispatchEvent(new CustomEvent("pick", { detail: { ...word, touch: this.#touch } }));
  }

  /** Follows a sideways swipe of a finger. `touch-action` in the style sheet leaves this gesture to the page. */
  #follow(event) {
    const swipe = this.#swipe;
    if (!this.#dragging || !swipe || !event.isPrimary) return;
    if (swipe.from === null) {
      const across = Math.abs(event.clientX - swipe.x);
      if (across < SWIPE_PX || across < Math.abs(event.clientY - swipe.y)) return;
      swipe.from = this.view.offsetAt(swipe.x, swipe.y);
    }
    const to = this.view.offsetAt(event.clientX, event.clientY);
    if (swipe.from === null || to === null) return;
    const stretch = this.snapper.snap(this.view.text, Math.min(swipe.from, to), Math.max(swipe.from, to), this.granularity);
    if (stretch) this.hold(stretch);
  }

  #changed() {
    const stretch = this.current();
    this.preview(stretch);
    clearTimeout(this.#timer);
    // Touch selections have no final event: handles move them for a while, so wait until they rest.
    if (this.#touch && this.#raw()) this.#timer = setTimeout(() => this.#settle(), TOUCH_SETTLES_MS);
  }

  #settle(event = null) {
    const stretch = this.current();
    if (stretch) {
      this.dispatchEvent(new CustomEvent("pick", { detail: { ...stretch, touch: this.#touch } }));
      return;
    }
    if (!event || !this.view.element.contains(event.target)) return;
    const omission = event.target.classList.contains("omission");
    const offset = omission ? this.view.offsetOf(event.target, 0) : this.#placeOf(event);
    if (offset !== null) this.dispatchEvent(new CustomEvent("tap", { detail: { offset, omission, exact: this.#exact } }));
  }

  /** Offset of a click or tap. Browsers put the caret at a mouse click, but not at a tap of a finger. */
  #placeOf(event) {
    const selection = getSelection();
    const caret = selection.rangeCount ? this.view.offsetOf(selection.focusNode, selection.focusOffset) : null;
    return caret ?? this.view.offsetAt(event.clientX, event.clientY);
  }
}
