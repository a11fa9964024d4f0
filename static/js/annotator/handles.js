// Handles at both ends of the selected mark: dragged with mouse, pen or finger they move that end, snapped as a drag over the text is.

/** How near the edge of what scrolls a drag makes it scroll, and how far at a time. */
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
    // The keys that do the same are listed; a screen reader has no use for something to drag.
    handle.setAttribute("aria-hidden", "true");
    handle.addEventListener("pointerdown", (event) => this.#begin(event, edge));
    handle.addEventListener("pointermove", (event) => this.#move(event));
    handle.addEventListener("pointerup", (event) => this.#end(event));
    handle.addEventListener("pointercancel", () => this.#cancel());
    return handle;
  }

  /** Puts the handles at the selected mark with the next frame, when the page has been laid out anyway. */
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
    const { x, top, height } = surface.view.boxAt(span[edge], edge === "start" ? "after" : "before");
    // The pointer holds the handle, which stands beside the letters: what counts is the place in the line that it moves.
    const grip = { x: x - event.clientX, y: top + height / 2 - event.clientY };
    this.#drag = { span, edge, surface, grip, moved: span };
    event.target.setPointerCapture(event.pointerId);
    document.body.classList.add("resizing");
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

  /** Shows the mark as it would be; the store learns of it when the handle is let go. */
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

/** Scrolls what holds the text when the pointer comes near its border. */
function scrollNear(element, y) {
  let scroller = element.parentElement;
  while (scroller && !(scroller.scrollHeight > scroller.clientHeight && getComputedStyle(scroller).overflowY === "auto")) scroller = scroller.parentElement;
  const { top, bottom } = scroller ? scroller.getBoundingClientRect() : { top: 0, bottom: innerHeight };
  const step = y < top + SCROLL_ZONE_PX ? -SCROLL_STEP_PX : y > bottom - SCROLL_ZONE_PX ? SCROLL_STEP_PX : 0;
  if (step) (scroller ?? globalThis).scrollBy(0, step);
}
