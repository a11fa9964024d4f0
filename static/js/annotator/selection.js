// From a drag to a stretch of text: reads the browser's own selection (so that mouse, pen, touch, double click and caret all work, in
// either direction and in any script), snaps it to the campaign's granularity and shows what would be marked.

const UNITS = { character: "grapheme", word: "word", sentence: "sentence" };
const TOUCH_SETTLES_MS = 350;

/** Snaps stretches of one text; keeps the segmentation of the text it was last asked about. */
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

/**
 * Watches the text. Dispatches `pick` (detail: start, end, touch) when a stretch has been chosen and `tap` (detail: offset) when a place was
 * clicked; keeps a preview of the snapped stretch painted meanwhile.
 */
export class TextSelection extends EventTarget {
  #dragging = false;
  #exact = false;
  #touch = false;
  #timer = 0;

  /**
   * @param {import("./painting.js").TextView} view
   * @param {{granularity: string, language: string}} campaign
   */
  constructor(view, campaign) {
    super();
    this.view = view;
    this.granularity = campaign.granularity;
    this.snapper = new Snapper(campaign.language);
    view.element.addEventListener("pointerdown", (event) => this.#down(event));
    document.addEventListener("pointerup", (event) => this.#up(event));
    document.addEventListener("pointercancel", () => (this.#dragging = false));
    document.addEventListener("selectionchange", () => this.#changed());
  }

  /** The stretch selected now, snapped; null when there is none. */
  current(exact = this.#exact) {
    const raw = this.#raw();
    return raw && this.snapper.snap(this.view.text, raw.start, raw.end, exact ? "character" : this.granularity);
  }

  preview(stretch) {
    if (!globalThis.CSS?.highlights) return;
    if (stretch) CSS.highlights.set("preview", new Highlight(this.view.rangeOf(stretch.start, stretch.end)));
    else CSS.highlights.delete("preview");
  }

  clear() {
    this.#exact = false;
    clearTimeout(this.#timer);
    const selection = getSelection();
    if (selection.rangeCount && this.view.element.contains(selection.anchorNode)) selection.removeAllRanges();
    this.preview(null);
  }

  #raw() {
    const selection = getSelection();
    if (!selection.rangeCount || selection.isCollapsed) return null;
    const anchor = this.view.offsetOf(selection.anchorNode, selection.anchorOffset);
    if (anchor === null) return null;
    const range = selection.getRangeAt(0);
    const start = this.view.offsetOf(range.startContainer, range.startOffset) ?? 0;
    const end = this.view.offsetOf(range.endContainer, range.endOffset) ?? this.view.text.length;
    return { start, end };
  }

  #down(event) {
    if (event.button !== 0) return;
    this.#dragging = true;
    this.#touch = event.pointerType === "touch";
    this.#exact = event.shiftKey;
    // Every press begins anew: Shift would else extend what was selected before, and a press on selected text drag it away.
    if (!this.#touch) getSelection().removeAllRanges();
  }

  #up(event) {
    if (!this.#dragging) return;
    this.#dragging = false;
    this.#exact ||= event.shiftKey;
    if (!this.#touch || getSelection().isCollapsed) this.#settle();
  }

  #changed() {
    const stretch = this.current();
    this.preview(stretch);
    clearTimeout(this.#timer);
    if (this.#touch && stretch) this.#timer = setTimeout(() => this.#settle(), TOUCH_SETTLES_MS);
  }

  #settle() {
    const stretch = this.current();
    if (stretch) {
      this.dispatchEvent(new CustomEvent("pick", { detail: { ...stretch, touch: this.#touch } }));
      return;
    }
    const selection = getSelection();
    const offset = selection.rangeCount ? this.view.offsetOf(selection.focusNode, selection.focusOffset) : null;
    if (offset !== null) this.dispatchEvent(new CustomEvent("tap", { detail: { offset } }));
  }
}
