// What the annotator has done on the item at hand: spans, answers, what is selected, and the history behind undo and redo.
// Offsets here are UTF-16 units, the units of the DOM; autosave.js converts them where they leave for the server.

/**
 * @typedef {object} Span
 * @property {number} id        lives as long as the page
 * @property {number} start     UTF-16 offset, inclusive
 * @property {number} end       UTF-16 offset, exclusive
 * @property {string} category  key of a category
 * @property {string} [subcategory]
 * @property {string} [severity]
 * @property {string} [reason]
 */

/** Why a span was refused: the keys of messages in the page's strings. */
export const REFUSAL = Object.freeze({
  duplicate: "refused_duplicate",
  overlap: "refused_overlap",
  exclusive: "refused_exclusive",
});

/**
 * The state of one item. Dispatches `change` when spans or answers changed (detail.origin: "edit", "answer", "load") and `select`
 * when another span, or none, is the selected one.
 */
export class ItemStore extends EventTarget {
  /** @type {readonly Span[]} */ #spans = [];
  #answers = {};
  #past = [];
  #future = [];
  #lastEdit = null;
  #nextId = 1;

  /** @param {{overlap: "allow"|"forbid", categories: {key: string, exclusive: boolean}[]}} rules */
  constructor(rules) {
    super();
    this.rules = rules;
    this.exclusive = new Set(rules.categories.filter((category) => category.exclusive).map((category) => category.key));
    this.text = "";
    /** Spans of other texts than the one on the page; they are saved as they came. */
    this.carried = [];
    this.selected = null;
  }

  get spans() {
    return this.#spans;
  }

  get answers() {
    return this.#answers;
  }

  get canUndo() {
    return this.#past.length > 0;
  }

  get canRedo() {
    return this.#future.length > 0;
  }

  find(id) {
    return this.#spans.find((span) => span.id === id);
  }

  /** Shows another item; what came before cannot be undone into it. */
  load({ text, spans, carried, answers }) {
    this.text = text;
    this.carried = carried;
    this.#past = [];
    this.#future = [];
    this.#spans = this.#numbered(spans);
    this.#answers = { ...answers };
    this.#lastEdit = null;
    this.selected = null;
    this.#tell("load");
  }

  /** Takes over another version of the same item as one step, so that undo brings back the annotator's own. */
  replace({ spans, carried, answers }) {
    this.#remember(null, this.#answers);
    this.carried = carried;
    this.#spans = this.#numbered(spans);
    this.#answers = { ...answers };
    this.selected = null;
    this.#tell("load");
  }

  /** Adds a span; returns it, or `{refused}` with the reason when the campaign's rules do not allow it. */
  add(fields) {
    const refused = this.#refusal(fields, null);
    if (refused) return { refused };
    this.#remember(null);
    const span = { ...fields, id: this.#nextId++ };
    this.#spans = [...this.#spans, span].sort((a, b) => a.start - b.start || b.end - a.end || a.id - b.id);
    this.#tell("edit");
    return { span };
  }

  /** Changes fields of a span; consecutive edits of its reason count as one step. */
  change(id, fields) {
    const before = this.find(id);
    if (!before || Object.entries(fields).every(([name, value]) => before[name] === value)) return {};
    const after = { ...before, ...fields };
    if ("category" in fields && fields.category !== before.category) {
      delete after.subcategory;
      const refused = this.#refusal(after, id);
      if (refused) return { refused };
    }
    this.#remember("reason" in fields ? `reason ${id}` : null);
    this.#spans = this.#spans.map((span) => (span.id === id ? after : span));
    this.#tell("edit");
    return { span: after };
  }

  remove(id) {
    if (!this.find(id)) return;
    this.#remember(null);
    this.#spans = this.#spans.filter((span) => span.id !== id);
    if (this.selected === id) this.select(null);
    this.#tell("edit");
  }

  answer(key, value) {
    if (value === undefined) delete this.#answers[key];
    else this.#answers[key] = value;
    this.#tell("answer");
  }

  select(id) {
    if (this.selected === id) return;
    this.selected = id;
    this.dispatchEvent(new Event("select"));
  }

  undo() {
    this.#travel(this.#past, this.#future);
  }

  redo() {
    this.#travel(this.#future, this.#past);
  }

  #travel(from, to) {
    if (!from.length) return;
    const { spans, answers } = from.pop();
    to.push({ spans: this.#spans, answers: answers && this.#answers });
    this.#spans = spans;
    this.#answers = answers ?? this.#answers;
    this.#lastEdit = null;
    if (!this.find(this.selected)) this.selected = null;
    this.#tell("edit");
  }

  /** Answers belong to a step only where another version was taken over; marking is undone without touching them. */
  #remember(edit, answers = null) {
    if (edit === null || edit !== this.#lastEdit) this.#past.push({ spans: this.#spans, answers });
    this.#lastEdit = edit;
    this.#future = [];
  }

  #numbered(spans) {
    return spans.map((span) => ({ ...span, id: this.#nextId++ }));
  }

  #refusal(candidate, ownId) {
    const others = this.#spans.filter((span) => span.id !== ownId);
    if (others.some((span) => same(span, candidate))) return REFUSAL.duplicate;
    const alone = this.exclusive.has(candidate.category) || others.some((span) => this.exclusive.has(span.category));
    if (alone && others.length) return REFUSAL.exclusive;
    if (this.rules.overlap === "forbid" && others.some((span) => overlap(span, candidate))) return REFUSAL.overlap;
    return null;
  }

  #tell(origin) {
    this.dispatchEvent(new CustomEvent("change", { detail: { origin } }));
  }
}

function same(a, b) {
  return a.start === b.start && a.end === b.end && a.category === b.category;
}

function overlap(a, b) {
  return a.start < b.end && b.start < a.end;
}
