// Painting of spans. The element's text content is exactly the stored text, so that offsets can be read from it. A covered stretch is a
// <mark>, an omission an empty <mark>; CSS draws lines, labels and wedges.

/** Number of line patterns. Categories differ in pattern too, so that colour is never the only sign. */
const PATTERNS = 3;
/** Number of colours. After so many categories colours repeat with the next pattern, so that no two look the same. */
const PALETTE = 12;
/** Minimum length of a block: lists of short lines do not need a block each. */
const BLOCK_LENGTH = 300;

/**
 * Gives every span a lane, so that overlapping spans are underlined at different heights. Spans are taken from left to right, the longer
 * first, each in the first free lane (interval partitioning): no more lanes than spans overlap anywhere.
 *
 * @param {{id: number, start: number, end: number}[]} spans
 * @returns {Map<number, number>} lane by span id, 0 nearest to the text
 */
export function assignLanes(spans) {
  const ends = [];
  const lanes = new Map();
  for (const span of [...spans].sort((a, b) => a.start - b.start || b.end - a.end || a.id - b.id)) {
    let lane = ends.findIndex((end) => end <= span.start);
    if (lane < 0) lane = ends.length;
    ends[lane] = span.end;
    lanes.set(span.id, lane);
  }
  return lanes;
}

/**
 * Cuts the text at the starts and ends of spans. An omission has an empty stretch.
 *
 * @param {number} length of the text
 * @param {{id: number, start: number, end: number}[]} spans
 * @param {number[]} further offsets to cut at
 * @returns {{start: number, end: number, spans: object[]}[]} stretches in order, each with the spans that cover it
 */
export function cutIntoStretches(length, spans, further = []) {
  const cuts = [...new Set([0, length, ...further, ...spans.flatMap((span) => [span.start, span.end])])].sort((a, b) => a - b);
  const omissions = spans.filter(isOmission);
  const waiting = spans.filter((span) => span.start < span.end).sort((a, b) => a.start - b.start);
  const stretches = [];
  let next = 0;
  let open = [];
  for (let i = 0; i < cuts.length; i++) {
    const here = omissions.filter((span) => span.start === cuts[i]);
    if (here.length) stretches.push({ start: cuts[i], end: cuts[i], spans: here });
    if (i + 1 === cuts.length) break;
    open = open.filter((span) => span.end > cuts[i]);
    while (next < waiting.length && waiting[next].start <= cuts[i]) open.push(waiting[next++]);
    stretches.push({ start: cuts[i], end: cuts[i + 1], spans: [...open] });
  }
  return stretches;
}

/**
 * Cuts a text after line feeds into blocks. A change then causes a new layout of its block only, not of the whole text.
 * No block ends with an empty line: Chromium's caret would skip it when it moves up.
 *
 * @param {string} text
 * @returns {number[]} where blocks begin; the first begins at 0
 */
export function blockStarts(text) {
  const starts = [0];
  for (let end = text.indexOf("\n") + 1; end > 0 && end < text.length; end = text.indexOf("\n", end) + 1) {
    if (end - starts.at(-1) > BLOCK_LENGTH && text[end - 2] !== "\n") starts.push(end);
  }
  return starts;
}

/**
 * Element of a block and its content in order: one piece per stretch.
 * @typedef {{element: HTMLElement, pieces: {start: number, look: string, node: Text, element: Node}[]}} Block
 */

/** The text on the page: paints spans and translates between offsets and places in the DOM. */
export class TextView {
  /** Where blocks begin. @type {number[]} */
  #starts = [];
  /** @type {Block[]} */
  #blocks = [];
  #pieces = [];

  /**
   * @param {HTMLElement} element
   * @param {Map<string, {position: number, color: string, hotkey: string|null, name: string}>} categories by key
   */
  constructor(element, categories) {
    this.element = element;
    this.categories = categories;
    this.text = "";
  }

  /**
   * Shows the spans. Only stretches that look different are replaced, so that long texts stay fast.
   *
   * @param {string} text
   * @param {object[]} spans
   * @param {number|null} selected id of the span that stands out
   * @param {{start: number, end: number}|null} judged a stretch the item asks about
   */
  paint(text, spans, selected, judged = null) {
    if (text !== this.text || !this.#blocks.length) this.#begin(text);
    const lanes = assignLanes(spans.filter((span) => !isOmission(span)));
    const starts = this.#starts;
    // The line feed at the end of a block has a text node of its own: Chromium's caret skips the last node when it moves up.
    const edges = starts.slice(1).flatMap((start) => [start - 1, start]);
    const stretches = cutIntoStretches(text.length, spans, judged ? [...edges, judged.start, judged.end] : edges);
    let from = 0;
    this.#blocks.forEach((block, number) => {
      let to = from;
      // Negated, because the last block has no next start, and every comparison with undefined is false.
      while (to < stretches.length && !(stretches[to].start >= starts[number + 1])) to++;
      this.#paintBlock(block, stretches.slice(from, to), { lanes, selected, judged });
      from = to;
    });
    this.#pieces = this.#blocks.flatMap(({ pieces }) => pieces);
  }

  /** Makes a block for each part of a text. */
  #begin(text) {
    this.text = text;
    this.#starts = blockStarts(text);
    this.#blocks = this.#starts.map(() => {
      const element = document.createElement("span");
      element.className = "block";
      return { element, pieces: [] };
    });
    this.element.replaceChildren(...this.#blocks.map(({ element }) => element));
  }

  #paintBlock(block, stretches, { lanes, selected, judged }) {
    const { pieces: before } = block;
    for (const stretch of stretches) stretch.judged = Boolean(judged) && judged.start <= stretch.start && stretch.end <= judged.end;
    const looks = stretches.map((stretch) => this.#look(stretch, lanes, selected));
    // Only pieces that changed are replaced: the others keep their nodes, and with them the browser's selection.
    const shorter = Math.min(before.length, looks.length);
    let head = 0;
    while (head < shorter && before[head].look === looks[head]) head++;
    if (head === before.length && head === looks.length) return;
    let tail = 0;
    while (tail < shorter - head && before.at(-1 - tail).look === looks.at(-1 - tail)) tail++;
    const fresh = stretches.slice(head, stretches.length - tail).map((stretch, i) => {
      const node = document.createTextNode(this.text.slice(stretch.start, stretch.end));
      const element = stretch.spans.length || stretch.judged ? this.#mark(node, stretch, lanes, selected) : node;
      return { start: stretch.start, look: looks[head + i], node, element };
    });
    const kept = before.slice(before.length - tail);
    for (const piece of before.slice(head, before.length - tail)) piece.element.remove();
    const place = document.createDocumentFragment();
    place.append(...fresh.map((piece) => piece.element));
    block.element.insertBefore(place, kept[0]?.element ?? null);
    block.pieces = [...before.slice(0, head), ...fresh, ...kept];
  }

  /** All properties that decide how a stretch is drawn, as a string for comparison. */
  #look({ start, end, spans, judged }, lanes, selected) {
    const lines = spans.map((span) => [span.category, lanes.get(span.id), span.start === start, span.id === selected && span.end === end, span.suggested]);
    const innermost = innermostOf(spans)?.category;
    return JSON.stringify([start, end, lines, innermost, judged, spans.map((span) => span.id === selected)]);
  }

  #mark(node, stretch, lanes, selected) {
    const { spans } = stretch;
    const mark = document.createElement("mark");
    mark.append(node);
    mark.classList.toggle("judged", stretch.judged);
    if (!spans.length) return mark;
    const chosen = spans.find((span) => span.id === selected);
    mark.style.setProperty("--c", this.categories.get((chosen ?? innermostOf(spans)).category).color);
    mark.classList.toggle("selected", Boolean(chosen));
    mark.classList.toggle("suggested", spans.every((span) => span.suggested));
    const starting = spans.filter((span) => span.start === stretch.start);
    if (starting.length) mark.dataset.label = starting.map((span) => this.#label(span)).join("·");
    if (stretch.start === stretch.end) {
      mark.className += " omission";
      return mark;
    }
    // A mark is as deep as its own lowest line, so only lines of text with many overlaps become higher.
    mark.style.setProperty("--lanes", String(Math.max(...spans.map((span) => lanes.get(span.id))) + 1));
    const lines = spans.map((span) => this.#line(span, lanes.get(span.id)));
    mark.style.setProperty("background-image", lines.map((line) => line.image).join(","));
    mark.style.setProperty("background-position", lines.map((line) => line.place).join(","));
    return mark;
  }

  #label(span) {
    const category = this.categories.get(span.category);
    return (category.hotkey ?? category.name.slice(0, 2)) + (span.suggested ? "?" : "");
  }

  #line(span, lane) {
    const category = this.categories.get(span.category);
    const color = `color-mix(in oklab, ${category.color} var(--line-share), var(--line-mix))`;
    const stripes = [`${color} 0 100%`, `${color} 0 7px, transparent 7px 10px`, `${color} 0 3px, transparent 3px 6px`];
    return {
      image: `repeating-linear-gradient(90deg, ${stripes[(category.position + Math.floor(category.position / PALETTE)) % PATTERNS]})`,
      place: `0 calc(100% - (var(--lanes) - 1 - ${lane}) * var(--lane))`,
    };
  }

  /** Offset in the text of a place in the DOM; null when the place is outside the text. */
  offsetOf(node, offset) {
    if (!this.element.contains(node)) return null;
    const known = this.#pieces.find((piece) => piece.node === node);
    if (known) return known.start + offset;
    const range = document.createRange();
    range.setStart(this.element, 0);
    range.setEnd(node, offset);
    return range.toString().length;
  }

  /** Place in the DOM of an offset in the text. */
  placeOf(offset) {
    const piece = this.#pieces.findLast((candidate) => candidate.start <= offset);
    return piece ? [piece.node, Math.min(offset - piece.start, piece.node.length)] : [this.element, 0];
  }

  /** Offset of the character edge nearest to a point of the window; null outside the text. */
  offsetAt(x, y) {
    const place = document.caretPositionFromPoint?.(x, y);
    if (place) return this.offsetOf(place.offsetNode, place.offset);
    const range = document.caretRangeFromPoint?.(x, y); // Safari
    return range ? this.offsetOf(range.startContainer, range.startOffset) : null;
  }

  /** Offset of the character drawn at a point of the window; null if there is none, or only white space. */
  letterAt(x, y) {
    const edge = this.offsetAt(x, y);
    if (edge === null) return null;
    // The edge nearest to the point belongs to the characters on both of its sides.
    const found = [edge - 1, edge].find((at) => {
      if (!this.text[at]?.trim()) return false;
      return [...this.rangeOf(at, at + 1).getClientRects()].some((box) => box.left <= x && x <= box.right && box.top <= y && y <= box.bottom);
    });
    return found ?? null;
  }

  /**
   * Position of an offset in the window, beside the character before or after it. The two differ if a line or a writing direction ends
   * between them.
   *
   * @param {number} offset
   * @param {"before"|"after"} neighbour
   * @returns {{x: number, top: number, height: number, rightwards: boolean}} and whether that character runs from left to right
   */
  boxAt(offset, neighbour = "after") {
    const { text } = this;
    const isAfter = offset < text.length && (neighbour === "after" || offset === 0);
    // Two units, because the neighbour may be a surrogate pair.
    const characters = [...(isAfter ? text.slice(offset, offset + 2) : text.slice(Math.max(0, offset - 2), offset))];
    const character = (isAfter ? characters[0] : characters.at(-1)) ?? "";
    const range = isAfter ? this.rangeOf(offset, offset + character.length) : this.rangeOf(offset - character.length, offset);
    // A range that ends at the start of the next piece also has an empty box there, which is elsewhere if the direction changes.
    const rects = [...range.getClientRects()].filter(({ width }) => width > 0);
    const box = rects.at(isAfter ? 0 : -1) ?? range.getClientRects()[0] ?? this.element.getBoundingClientRect();
    const rightwards = isRightwards(character, this.element);
    return { x: isAfter === rightwards ? box.left : box.right, top: box.top, height: box.height, rightwards };
  }

  rangeOf(start, end) {
    const range = document.createRange();
    range.setStart(...this.placeOf(start));
    range.setEnd(...this.placeOf(end));
    return range;
  }
}

/** Whether a span marks an omission. */
export function isOmission(span) {
  return span.start === span.end;
}

const LEFTWARDS = /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u;

/** Whether a character runs from left to right; a neutral one follows the direction of its text. */
function isRightwards(character, element) {
  if (/[\p{L}\p{M}\p{Nd}]/u.test(character)) return !LEFTWARDS.test(character) || /\p{Nd}/u.test(character);
  return getComputedStyle(element).direction === "ltr";
}

function innermostOf(spans) {
  return spans.reduce((a, b) => (!a || b.end - b.start <= a.end - a.start ? b : a), undefined);
}
