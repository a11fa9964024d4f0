// Handles at both ends of the selected mark. Dragging one with mouse, pen or finger moves that end, snapped like a selection.
// A handle has its knob below the line. Letters have priority: a press on a letter starts a selection, even beside a handle.

/** Distance from the border of the scrolling pane at which a drag scrolls it, and the size of each step. */
const SCROLL_ZONE_PX = 40;
const SCROLL_STEP_PX = 12;

export class Handles {
  #handles = {};
  #drag = null;
  #frame = 0;

  /** @param {object} desk the item on the page, see main.js */
  constructor(desk) {
    this.desk = desk;
    for (const edge of ["start", "end"]) this.#handles[edge] = this.#make(edge);
    for (const event of ["change", "select"]) desk.store.addEventListener(event, () => this.#place());
    const observer = new ResizeObserver(() => this.#place());
    for (const { frame } of desk.surfaces.values()) observer.observe(frame);
  }

  #make(edge) {
    const handle = document.createElement("div");
    handle.className = `handle ${edge}`;
    handle.hidden = true;
    // Screen reader users resize with the listed keys, so a handle to drag is only noise for them.
    handle.setAttribute("aria-hidden", "true");
    handle.addEventListener("pointerdown", (event) => this.#begin(event, edge));
    handle.addEventListener("pointermove", (event) => this.#move(event));
    handle.addEventListener("pointerup", (event) => this.#end(event));
    handle.addEventListener("pointercancel", () => this.#cancel());
    return handle;
  }

  /** Places the handles in the next frame: measuring now would force an extra layout. */
  #place() {
    cancelAnimationFrame(this.#frame);
    this.#frame = requestAnimationFrame(() => this.#placeNow());
  }

  #placeNow(span = this.desk.store.find(this.desk.store.selected)) {
    const shown = span && span.start < span.end && !this.desk.categories.get(span.category).exclusive;
    for (const handle of Object.values(this.#handles)) handle.hidden = !shown;
    if (!shown) return;
    const { view, frame } = this.desk.surfaces.get(span.on);
    const origin = frame.getBoundingClientRect();
    const places = { start: view.boxAt(span.start, "after"), end: view.boxAt(span.end, "before") };
    for (const [edge, handle] of Object.entries(this.#handles)) {
      if (handle.parentElement !== frame) frame.append(handle);
      const { x, top, height, rightwards } = places[edge];
      handle.classList.toggle("leftmost", (edge === "start") === rightwards); // the knob hangs outside the mark
      handle.style.setProperty("left", `${x - origin.left}px`);
      handle.style.setProperty("top", `${top - origin.top}px`);
      handle.style.setProperty("height", `${height}px`);
    }
  }

  #begin(event, edge) {
    if (event.button !== 0 || this.#drag) return;
    event.preventDefault();
    event.stopPropagation();
    const { store, surfaces } = this.desk;
    const span = store.find(store.selected);
    const surface = surfaces.get(span.on);
    document.body.classList.add("resizing"); // handles ignore the pointer from now on, so that look-ups by point find the text below
    // The touch zone is larger than the visible knob and covers letters of the next line: a press there is meant for the letters.
    if (!isOnKnob(event) && surface.view.letterAt(event.clientX, event.clientY) !== null) {
      document.body.classList.remove("resizing");
      surface.selection.begin(event);
      return;
    }
    const { x, top, height } = surface.view.boxAt(span[edge], edge === "start" ? "after" : "before");
    // The knob is below the line: the grip converts the pointer's position to the place in the line.
    const grip = { x: x - event.clientX, y: top + height / 2 - event.clientY };
    this.#drag = { span, edge, surface, grip, moved: span };
    event.target.setPointerCapture(event.pointerId);
  }

  #move(event) {
    if (!this.#drag) return;
    const { span, edge, surface, grip } = this.#drag;
    scrollNear(surface.element, event.clientY);
    const offset = surface.view.offsetAt(event.clientX + grip.x, event.clientY + grip.y);
    if (offset === null) return;
    const { desk } = this;
    const granularity = event.shiftKey ? "character" : desk.campaign.granularity;
    const place = desk.snapper.snapEdge(surface.text.text, span, edge, offset, granularity);
    if (place === null) return;
    const moved = { ...span, [edge]: place };
    const refused = desk.store.refusal(moved, span.id);
    if (refused) return desk.refuse(refused);
    desk.message("");
    this.#drag.moved = moved;
    this.#show(moved);
  }

  /** Previews the moved mark; the store changes only when the handle is released. */
  #show(moved) {
    const { spans } = this.desk.store;
    const shown = spans.map((span) => (span.id === moved.id ? moved : span));
    this.#drag.surface.paint(shown, moved.id);
    this.#placeNow(moved);
  }

  #end(event) {
    if (!this.#drag) return;
    event.stopPropagation();
    const { moved } = this.#drag;
    this.#finish();
    const { span } = this.desk.store.change(moved.id, { start: moved.start, end: moved.end });
    if (span) this.desk.announceSpan(span);
  }

  #cancel() {
    if (!this.#drag) return;
    this.#show(this.#drag.span);
    this.#finish();
  }

  #finish() {
    this.#drag = null;
    document.body.classList.remove("resizing");
  }
}

/** Whether a handle was pressed where its knob is drawn. */
function isOnKnob({ target: handle, clientX, clientY }) {
  const { left, right, bottom } = handle.getBoundingClientRect();
  const size = parseFloat(getComputedStyle(handle, "::before").width);
  const from = handle.classList.contains("leftmost") ? right - size : left;
  return clientX >= from && clientX <= from + size && clientY >= bottom && clientY <= bottom + size;
}

/** Scrolls the pane of the text when the pointer comes near its border. */
function scrollNear(element, y) {
  let scroller = element.parentElement;
  while (scroller && !(scroller.scrollHeight > scroller.clientHeight && getComputedStyle(scroller).overflowY === "auto")) scroller = scroller.parentElement;
  const { top, bottom } = scroller ? scroller.getBoundingClientRect() : { top: 0, bottom: innerHeight };
  const step = y < top + SCROLL_ZONE_PX ? -SCROLL_STEP_PX : y > bottom - SCROLL_ZONE_PX ? SCROLL_STEP_PX : 0;
  if (step) (scroller ?? globalThis).scrollBy(0, step);
}
