// Paints spans into the text. The element's text content is the stored text and nothing else, so that offsets can be read from it:
// a covered stretch is a <mark>, lines and labels are drawn by CSS.

/** How the line under a category looks besides its colour, so that colour is never the only sign. */
const PATTERNS = 3;

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
 * Cuts the text where a span starts or ends.
 *
 * @param {number} length of the text
 * @param {{id: number, start: number, end: number}[]} spans
 * @returns {{start: number, end: number, spans: object[]}[]} stretches in order, each with the spans that cover it
 */
export function cutIntoStretches(length, spans) {
  const cuts = [...new Set([0, length, ...spans.flatMap((span) => [span.start, span.end])])].sort((a, b) => a - b);
  const waiting = spans.filter((span) => span.start < span.end).sort((a, b) => a.start - b.start);
  const stretches = [];
  let next = 0;
  let open = [];
  for (let i = 0; i + 1 < cuts.length; i++) {
    open = open.filter((span) => span.end > cuts[i]);
    while (next < waiting.length && waiting[next].start <= cuts[i]) open.push(waiting[next++]);
    stretches.push({ start: cuts[i], end: cuts[i + 1], spans: [...open] });
  }
  return stretches;
}

/** The text on the page: paints spans and translates between offsets and places in the DOM. */
export class TextView {
  /** What is in the element, in order: a piece per stretch. @type {{start: number, look: string, node: Text, element: Node}[]} */
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

  /** Shows the spans. Only the stretches that look different from before are made anew, so that long texts stay quick. */
  paint(text, spans, selected) {
    const lanes = assignLanes(spans);
    const depth = Math.max(0, ...lanes.values()) + 1;
    this.element.style.setProperty("--lanes", String(Math.max(2, depth)));
    const stretches = cutIntoStretches(text.length, spans);
    const looks = stretches.map((stretch) => this.#look(stretch, lanes, selected));
    const before = text === this.text ? this.#pieces : [];
    if (!before.length) this.element.replaceChildren();
    const shorter = Math.min(before.length, looks.length);
    let head = 0;
    while (head < shorter && before[head].look === looks[head]) head++;
    let tail = 0;
    while (tail < shorter - head && before.at(-1 - tail).look === looks.at(-1 - tail)) tail++;
    const fresh = stretches.slice(head, stretches.length - tail).map((stretch, i) => {
      const node = document.createTextNode(text.slice(stretch.start, stretch.end));
      const element = stretch.spans.length ? this.#mark(node, stretch, lanes, selected) : node;
      return { start: stretch.start, look: looks[head + i], node, element };
    });
    const kept = before.slice(before.length - tail);
    for (const piece of before.slice(head, before.length - tail)) piece.element.remove();
    const place = document.createDocumentFragment();
    place.append(...fresh.map((piece) => piece.element));
    this.element.insertBefore(place, kept[0]?.element ?? null);
    this.text = text;
    this.#pieces = [...before.slice(0, head), ...fresh, ...kept];
  }

  /** Everything that decides how a stretch is drawn, as a string to compare. */
  #look({ start, end, spans }, lanes, selected) {
    const lines = spans.map((span) => [span.category, lanes.get(span.id), span.start === start, span.id === selected && span.end === end]);
    const innermost = innermostOf(spans)?.category;
    return JSON.stringify([start, end, lines, innermost, spans.some((span) => span.id === selected)]);
  }

  #mark(node, stretch, lanes, selected) {
    const mark = document.createElement("mark");
    const lines = stretch.spans.map((span) => this.#line(span, lanes.get(span.id)));
    const chosen = stretch.spans.find((span) => span.id === selected);
    mark.style.setProperty("--c", this.categories.get((chosen ?? innermostOf(stretch.spans)).category).color);
    mark.style.setProperty("background-image", lines.map((line) => line.image).join(","));
    mark.style.setProperty("background-position", lines.map((line) => line.place).join(","));
    const starting = stretch.spans.filter((span) => span.start === stretch.start);
    if (starting.length) mark.dataset.label = starting.map((span) => this.#label(span)).join("·");
    mark.classList.toggle("selected", Boolean(chosen));
    mark.append(node);
    return mark;
  }

  #label(span) {
    const category = this.categories.get(span.category);
    return category.hotkey ?? category.name.slice(0, 2);
  }

  #line(span, lane) {
    const category = this.categories.get(span.category);
    const color = `color-mix(in oklab, ${category.color} var(--line-share), var(--line-mix))`;
    const stripes = [`${color} 0 100%`, `${color} 0 7px, transparent 7px 10px`, `${color} 0 3px, transparent 3px 6px`];
    return {
      image: `repeating-linear-gradient(90deg, ${stripes[category.position % PATTERNS]})`,
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

  rangeOf(start, end) {
    const range = document.createRange();
    range.setStart(...this.placeOf(start));
    range.setEnd(...this.placeOf(end));
    return range;
  }
}

function innermostOf(spans) {
  return spans.reduce((a, b) => (!a || b.end - b.start <= a.end - a.start ? b : a), undefined);
}
