// A text that can be marked: an output of the item, or a field of its source. Each has its own element, caret and selection; one store
// holds the spans of all texts.

import { TextView } from "./painting.js";
import { TextSelection } from "./selection.js";

/** Its selection dispatches `pick` and `tap`, see selection.js. */
export class Surface {
  #painted = "";

  /** Set once caret.js is loaded. @type {import("./caret.js").Caret|null} */
  caret = null;

  /**
   * @param {HTMLElement} element  holds the text and nothing else; its `.text-frame` holds the caret and the handles too
   * @param {object} campaign      categories, granularity
   * @param {import("./selection.js").Snapper} snapper
   */
  constructor(element, campaign, snapper) {
    this.element = element;
    this.frame = element.closest(".text-frame");
    this.section = element.closest("[data-surface]");
    /** @type {import("./store.js").Text|null} */
    this.text = null;
    const categories = new Map(campaign.categories.map((category, position) => [category.key, { ...category, position }]));
    this.view = new TextView(element, categories);
    this.selection = new TextSelection(this.view, campaign, snapper);
  }

  get key() {
    return this.text?.key;
  }

  /**
   * Shows a text of the open item, or nothing (null) if the item has no such text.
   *
   * @param {import("./store.js").Text|null} text
   * @param {{start: number, end: number}|null} judged a stretch the item asks about
   */
  take(text, judged) {
    this.text = text;
    this.judged = judged;
    if (this.section) this.section.hidden = !text;
    this.#painted = "";
    this.selection.clear();
  }

  /** Whether the text can be seen: a phone shows one side of the page at a time. */
  get isShown() {
    return this.element.offsetParent !== null;
  }

  /** Scrolls to a span, unless it is already visible. */
  reveal(span) {
    const { top, height } = this.view.boxAt(span.start);
    const pane = this.frame.closest("#marking, #source-body");
    const scrolls = getComputedStyle(pane).overflowY !== "visible";
    const sight = scrolls ? pane.getBoundingClientRect() : { top: 0, bottom: innerHeight };
    const dock = pane.querySelector(".dock")?.getBoundingClientRect().top ?? sight.bottom;
    if (top >= sight.top && top + height <= Math.min(sight.bottom, dock)) return;
    this.view.placeOf(span.start)[0].parentElement.scrollIntoView({ block: "center" });
  }

  /** Whether the campaign allows a category in this text. */
  allows(category) {
    return category.side === "both" || category.side === this.text?.side;
  }

  /**
   * Paints the spans of this text.
   *
   * @param {import("./store.js").Span[]} spans of the item
   * @param {number|null} selected
   */
  paint(spans, selected) {
    if (!this.text) return;
    const own = spans.filter((span) => span.on === this.key);
    const isHere = own.some((span) => span.id === selected);
    // The id also tells a suggestion from a span: an accepted suggestion becomes a span with another id.
    const picture = JSON.stringify([own.map(({ id, start, end, category }) => [id, start, end, category]), isHere && selected]);
    if (picture === this.#painted) return;
    this.view.paint(this.text.text, own, selected, this.judged);
    this.caret?.restore();
    this.#painted = picture;
  }
}
