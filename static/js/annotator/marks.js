// Keyboard work on marks: visiting, resizing and deleting them, and marking with the caret.

import { Handles } from "./handles.js";
import { isOmission } from "./painting.js";
import { shorten } from "./span_list.js";

export class Marks {
  /** The text in which the caret stood last. */
  #surface;
  /** Whether Esc was pressed in the text: Tab then leaves it. */
  #leaving = false;

  /** @param {object} desk the item on the page, see main.js */
  constructor(desk) {
    this.desk = desk;
    this.handles = new Handles(desk);
    this.#surface = desk.surfaces.get("output:0");
    globalThis.visualViewport?.addEventListener("resize", () => document.body.classList.toggle("zoomed", visualViewport.scale > 1.05));
  }

  /** Lets keys work in a text. */
  follow(surface, caret) {
    const { desk } = this;
    surface.caret = caret;
    caret.addEventListener("move", ({ detail }) => {
      this.#leaving = false;
      desk.announce(detail);
    });
    caret.addEventListener("extend", () => {
      const { stretch } = desk;
      if (stretch) desk.announce(desk.store.quote(stretch));
    });
    caret.addEventListener("enter", () => {
      const { stretch } = desk;
      if (stretch) desk.markOrChoose(stretch, { focus: true });
      else desk.inspector.focus();
    });
    surface.element.addEventListener("focus", () => {
      this.#surface = surface;
      this.#leaving = false;
    });
    surface.element.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.#leaving = true;
      if (event.key === "Tab" && !this.#leaving && this.#visit(surface, event.shiftKey ? -1 : 1)) event.preventDefault();
    });
  }

  /** Marks an omission at the visible caret; without one, at the next click. */
  missing() {
    const { desk } = this;
    if (!desk.campaign.omissions) return;
    const offset = this.#surface.caret.shownAt;
    if (desk.placing) {
      desk.place(false);
      desk.message("");
    } else if (offset !== null) desk.markMissing(this.#surface, offset, { focus: true });
    else desk.place(true);
  }

  /** Goes to the next or previous mark of the item, in the list. */
  step(step) {
    const { shown, selected } = this.desk.store;
    if (!shown.length) return;
    const now = shown.findIndex((span) => span.id === selected);
    const next = shown[now < 0 ? (step > 0 ? 0 : shown.length - 1) : (now + step + shown.length) % shown.length];
    this.desk.store.select(next.id);
    (next.suggested ? this.desk.suggestions : this.desk.list).focus(next.id);
    this.desk.announceSpan(next);
  }

  /** Selects the next or previous mark from the caret; returns false if the text has no further mark. */
  #visit(surface, step) {
    const { store } = this.desk;
    const here = store.shown.filter((span) => span.on === surface.key);
    const now = here.findIndex((span) => span.id === store.selected);
    const caret = surface.caret.offset;
    const beyond = step > 0 ? here.find((span) => span.start >= caret) : here.findLast((span) => span.start < caret);
    const next = now < 0 ? beyond : here[now + step];
    if (!next) {
      store.select(null);
      return false;
    }
    store.select(next.id);
    surface.caret.jump(next.start);
    this.desk.announceSpan(next);
    return true;
  }

  remove() {
    const { store, list, announce, t } = this.desk;
    if (store.findPending(store.selected)) return this.desk.suggestions.dismiss();
    const span = store.find(store.selected);
    if (!span) return;
    const quote = list.spoken(span);
    store.remove(span.id);
    announce(t("deleted", { quote }));
  }

  /**
   * Moves an end of the selected mark by a unit: with Shift its end, else its start; with Ctrl by a character. Consecutive moves of one end
   * are one step to undo.
   */
  resize({ key, shiftKey, ctrlKey, metaKey }) {
    const { desk } = this;
    const span = desk.store.find(desk.store.selected);
    if (!span) return desk.suggestions?.resize(() => this.resize({ key, shiftKey, ctrlKey, metaKey })) ?? false;
    if (isOmission(span)) return true;
    const surface = desk.surfaces.get(span.on);
    const { text } = surface.text;
    const rightwards = getComputedStyle(surface.element).direction === "ltr";
    const step = (key === "ArrowRight") === rightwards ? 1 : -1;
    const edge = shiftKey ? "end" : "start";
    const granularity = ctrlKey || metaKey ? "character" : desk.campaign.granularity;
    const offset = desk.snapper.next(text, span[edge], step, granularity);
    // A unit that begins with white space ends where the one before it does.
    const moved = growing(edge, step) ? desk.snapper.snapEdge(text, span, edge, offset, granularity) : trimmed(text, edge, offset, granularity);
    const { start, end } = { ...span, [edge]: moved ?? span[edge] };
    if (start >= end) return true;
    const { span: changed, refused } = desk.store.change(span.id, { start, end }, `resize ${edge}`);
    if (refused) desk.refuse(refused);
    else if (changed) {
      desk.message("");
      desk.announce(shorten(text.slice(start, end)));
    }
    return true;
  }
}

const growing = (edge, step) => (edge === "end") === step > 0;

/** An end that moves inwards leaves no white space at the border of the mark. */
function trimmed(text, edge, offset, granularity) {
  if (granularity === "character") return offset;
  if (edge === "end") return text.slice(0, offset).trimEnd().length;
  return text.length - text.slice(offset).trimStart().length;
}
