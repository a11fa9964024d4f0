// The text of a check, where a researcher selects the words that should be marked, with the mouse or the annotators' caret.

import { Caret } from "../annotator/caret.js";
import { OffsetIndex } from "../offsets.js";

/** View of a text in one text node, with the methods that the caret needs. */
class PlainView {
  constructor(element) {
    this.element = element;
  }

  get text() {
    return this.element.textContent;
  }

  offsetOf(node, offset) {
    if (node === this.element) return offset === 0 ? 0 : this.text.length;
    return node && node === this.element.firstChild ? offset : null;
  }

  placeOf(offset) {
    return [this.element.firstChild ?? this.element, offset];
  }

  rangeOf(start, end) {
    const range = document.createRange();
    range.setStart(...this.placeOf(start));
    range.setEnd(...this.placeOf(end));
    return range;
  }

  boxAt(offset) {
    const last = this.text.length - 1;
    const at = Math.min(offset, last);
    const box = last < 0 ? this.element.getBoundingClientRect() : this.rangeOf(at, at + 1).getBoundingClientRect();
    return { x: offset > last && last >= 0 ? box.right : box.left, top: box.top, height: box.height };
  }
}

/**
 * @param {HTMLElement} text   one of `[data-text-of]`, named by the check
 * @param {(message: string) => void} say
 */
export function markExpected(text, say) {
  const name = text.dataset.textOf;
  const button = document.querySelector(`[data-expect="${CSS.escape(name)}"]`);
  if (!button) return;
  const view = new PlainView(text);
  const mark = Object.assign(document.createElement("span"), { className: "caret", hidden: true });
  text.after(mark);
  const caret = new Caret(view, mark);
  const take = () => expectSelection(name, view, say, button.dataset);
  caret.addEventListener("enter", take);
  caret.addEventListener("extend", () => say(getSelection().toString()));
  caret.addEventListener("move", (event) => say(event.detail));
  button.hidden = false;
  button.addEventListener("mousedown", (event) => event.preventDefault()); // the selection stays
  button.addEventListener("click", take);
}

/** Write what is selected in a check's text into the fields of its expected span. */
function expectSelection(name, view, say, words) {
  const selection = getSelection();
  const [from, to] = [selection.anchorNode, selection.focusNode].map((node, end) =>
    view.offsetOf(node, end ? selection.focusOffset : selection.anchorOffset),
  );
  if (selection.isCollapsed || from === null || to === null) return say(words.sayNothing);
  const place = emptyPlace(name);
  if (!place) return say(words.sayNoPlace);
  const [first, last] = [Math.min(from, to), Math.max(from, to)];
  const index = new OffsetIndex(view.text);
  const quote = view.text.slice(first, last);
  for (const [field, value] of Object.entries({ quote, start: index.toCodePoints(first), end: index.toCodePoints(last) })) {
    document.getElementById(`f-${place}.${field}`).value = value;
  }
  document.getElementById(`f-${place}.quote`).dispatchEvent(new Event("change", { bubbles: true }));
  say(`${words.sayTaken} “${quote}”`);
}

/** The expected span to fill in: the first without a quote, else the last. */
function emptyPlace(name) {
  const quotes = [...document.querySelectorAll(`[id^="f-${CSS.escape(name)}."][id$=".quote"]`)];
  const chosen = quotes.find((field) => !field.value) ?? quotes.at(-1);
  return chosen?.id.slice("f-".length, -".quote".length);
}

/** Highlight the expected words in each text, if the browser supports highlights. */
export function showExpected(texts) {
  if (!globalThis.Highlight) return;
  const shown = new Highlight();
  for (const text of texts) {
    const view = new PlainView(text);
    for (const quote of document.querySelectorAll(`[id^="f-${CSS.escape(text.dataset.textOf)}."][id$=".quote"]`)) {
      const start = startOf(view.text, quote);
      if (start !== null) shown.add(view.rangeOf(start, start + quote.value.length));
    }
  }
  CSS.highlights.set("expected", shown);
}

function startOf(text, quote) {
  if (!quote.value) return null;
  const stated = document.getElementById(quote.id.replace(/\.quote$/, ".start"))?.value;
  const index = new OffsetIndex(text);
  const inside = /^\d+$/.test(stated ?? "") && Number(stated) <= index.length;
  const start = inside ? index.toUtf16(Number(stated)) : text.indexOf(quote.value);
  return start >= 0 && text.startsWith(quote.value, start) ? start : null;
}
