// The find box of a source: highlights all matches, ignoring case and accents, and opens folded parts around them.
// The DOM of the source does not change, so that marks and selections in it stay intact.

/** Inline elements: a word may continue across their borders. */
const INLINE = new Set("A ABBR B BDI BDO CITE CODE DEL DFN EM FONT I INS KBD MARK Q S SAMP SMALL SPAN STRIKE STRONG SUB SUP TIME TT U VAR WBR".split(" "));
const NAMES = ["found", "found-current"];

/** Text for comparing, with the place of each of its characters in the original. */
export function fold(text) {
  const folded = [];
  const places = [];
  let at = 0;
  for (const character of text) {
    const plain = /\s/.test(character) ? " " : character.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
    if (plain !== " " || folded.at(-1) !== " ") {
      for (const unit of plain.split("")) {
        folded.push(unit);
        places.push(at);
      }
    }
    at += character.length;
  }
  places.push(at);
  return { folded: folded.join(""), places };
}

export class SourceSearch {
  /** @type {{folded: string, places: number[], nodes: [Text, number][]}[] | null} */
  #blocks = null;
  #ranges = [];
  #current = -1;

  /**
   * @param {HTMLElement} pane  holds the source, perhaps in frames
   * @param {HTMLElement} bar   holds the input, the count and the buttons
   * @param {() => void} leave  called on Escape in the empty box
   */
  constructor(pane, bar, leave = () => {}) {
    Object.assign(this, { pane, leave });
    this.box = bar.querySelector("input");
    this.count = bar.querySelector("output");
    this.buttons = [...bar.querySelectorAll("[data-find]")];
    new MutationObserver((changes) => {
      if (changes.some(({ target }) => !this.boxes?.layer.contains(target))) this.refresh();
    }).observe(pane, { childList: true, characterData: true, subtree: true });
    this.boxes = globalThis.CSS?.highlights ? null : new Boxes(pane);
    this.box.addEventListener("input", () => this.search());
    this.box.addEventListener("keydown", (event) => this.#key(event));
    for (const button of this.buttons) button.addEventListener("click", () => this.#show(this.#current + Number(button.dataset.find)));
  }

  /** Searches again after a change of the source or of marks in it; scrolls to a match only while the box has the focus. */
  refresh() {
    this.#blocks = null;
    if (!this.box.value && !this.#ranges.length) return;
    this.search({ from: this.#current, move: document.activeElement === this.box });
  }

  search({ from = 0, move = true } = {}) {
    const wanted = fold(this.box.value.trim()).folded;
    this.#ranges = wanted ? this.#matches(wanted) : [];
    this.#current = -1;
    for (const button of this.buttons) button.hidden = this.#ranges.length < 2;
    this.count.textContent = wanted ? String(this.#ranges.length) : "";
    if (move && this.#ranges.length) this.#show(Math.max(0, Math.min(from, this.#ranges.length - 1)));
    else this.#paint();
  }

  #key(event) {
    if (event.isComposing) return;
    if (event.key === "Enter" && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      this.#show(this.#current + (event.shiftKey ? -1 : 1));
    } else if (event.key === "Escape") {
      event.preventDefault();
      if (!this.box.value) return this.leave();
      this.box.value = "";
      this.search();
    }
  }

  #matches(wanted) {
    this.#blocks ??= this.#index();
    const ranges = [];
    for (const { folded, places, nodes } of this.#blocks) {
      for (let at = folded.indexOf(wanted); at >= 0; at = folded.indexOf(wanted, at + wanted.length)) {
        const range = nodes[0][0].ownerDocument.createRange();
        range.setStart(...placeIn(nodes, places[at], false));
        range.setEnd(...placeIn(nodes, places[at + wanted.length], true));
        ranges.push(range);
      }
    }
    return ranges;
  }

  /** Cuts the source into blocks of text that are read without a break. */
  #index() {
    const runs = [];
    const walk = (root) => {
      const walker = root.ownerDocument.createTreeWalker(root, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT, (node) =>
        node.nodeName === "svg" ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT,
      );
      let holder = null;
      while (walker.nextNode()) {
        const node = walker.currentNode;
        if (node.nodeType === Node.ELEMENT_NODE) {
          if (node.nodeName === "IFRAME" && node.contentDocument?.body) walk(node.contentDocument.body);
          if (!INLINE.has(node.nodeName)) holder = null;
          continue;
        }
        const block = blockOf(node);
        if (block !== holder || !runs.length) runs.push({ text: "", nodes: [] });
        holder = block;
        const run = runs.at(-1);
        run.nodes.push([node, run.text.length]);
        run.text += node.data;
      }
    };
    walk(this.pane);
    return runs.map(({ text, nodes }) => ({ ...fold(text), nodes }));
  }

  #show(index) {
    if (!this.#ranges.length) return;
    this.#current = (index + this.#ranges.length) % this.#ranges.length;
    reveal(this.#ranges[this.#current]);
    this.count.textContent = `${this.#current + 1} / ${this.#ranges.length}`;
    this.#paint();
  }

  #paint() {
    const current = this.#ranges.slice(this.#current, this.#current + 1);
    const found = [this.#ranges, this.#current < 0 ? [] : current];
    if (this.boxes) return this.boxes.draw(...found);
    const documents = new Set([document, ...[...this.pane.querySelectorAll("iframe")].map((frame) => frame.contentDocument)]);
    for (const place of documents) {
      const view = place?.defaultView;
      if (!view) continue;
      NAMES.forEach((name, which) => {
        // Each frame has its own registry, whose highlights can hold only ranges of the frame's document.
        const here = found[which].filter((range) => range.startContainer.ownerDocument === place);
        view.CSS.highlights.set(name, new view.Highlight(...here));
      });
    }
  }
}

/** Boxes over the matches, for browsers without highlights. */
class Boxes {
  constructor(pane) {
    this.pane = pane;
    this.layer = document.createElement("div");
    this.layer.className = "found-boxes";
    this.layer.setAttribute("aria-hidden", "true");
    pane.append(this.layer);
    new ResizeObserver(() => this.draw(...(this.last ?? [[], []]))).observe(pane);
  }

  draw(ranges, current) {
    this.last = [ranges, current];
    const origin = this.layer.getBoundingClientRect();
    const boxes = ranges.slice(0, 500).flatMap((range) => [...range.getClientRects()].map((rect) => [rect, current.includes(range), offsetOf(range)]));
    this.layer.replaceChildren(
      ...boxes.map(([rect, isCurrent, [left, top]]) => {
        const box = document.createElement("span");
        box.classList.toggle("current", isCurrent);
        const place = { left: left + rect.left - origin.left, top: top + rect.top - origin.top, width: rect.width, height: rect.height };
        for (const [name, value] of Object.entries(place)) box.style.setProperty(name, `${value}px`);
        return box;
      }),
    );
  }
}

function blockOf(node) {
  let element = node.parentElement;
  while (INLINE.has(element.nodeName)) element = element.parentElement;
  return element;
}

/** The text node, and the offset in it, of a place in a block; an end belongs to the node before it. */
function placeIn(nodes, place, isEnd) {
  const at = nodes.findLastIndex(([, start]) => (isEnd ? start < place : start <= place));
  const [node, start] = nodes[Math.max(at, 0)];
  return [node, place - start];
}

/** Position of a range's document on the page: a frame has coordinates of its own. */
function offsetOf(range) {
  const frame = range.startContainer.ownerDocument.defaultView.frameElement;
  if (!frame) return [0, 0];
  const { left, top } = frame.getBoundingClientRect();
  return [left + frame.clientLeft, top + frame.clientTop];
}

/** Opens folded parts around a range, and scrolls all panes until it is visible. */
function reveal(range) {
  const inside = range.startContainer.parentElement;
  const frame = inside.ownerDocument.defaultView.frameElement;
  const around = [...ancestors(inside), ...(frame ? ancestors(frame) : [])];
  for (const element of around) if (element.nodeName === "DETAILS") element.open = true;
  for (const element of around) {
    const [left, top] = offsetOf(range);
    const rect = range.getBoundingClientRect();
    if (element.ownerDocument !== document) continue;
    const isPage = element === document.documentElement;
    const overflow = isPage ? "auto" : getComputedStyle(element).overflowY;
    if (!/auto|scroll/.test(overflow)) continue;
    const bounds = isPage ? { top: 0, bottom: innerHeight, left: 0, right: innerWidth } : element.getBoundingClientRect();
    const margin = Math.min(64, (bounds.bottom - bounds.top) / 4);
    if (rect.top + top < bounds.top + margin || rect.bottom + top > bounds.bottom - margin) {
      element.scrollTop += rect.top + top - (bounds.top + bounds.bottom) / 2;
    }
    if (rect.left + left < bounds.left || rect.right + left > bounds.right) {
      element.scrollLeft += rect.left + left - (bounds.left + bounds.right) / 2;
    }
  }
}

function ancestors(element) {
  const found = [];
  for (let up = element; up; up = up.parentElement) found.push(up);
  return found;
}
