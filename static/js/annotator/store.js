// State of the open item: spans, answers, selection, and the history for undo and redo. An item has one or more texts to mark (its
// output, the second of a pair, a field of the source); each span names its text.
// Suggestions are spans of another campaign. An accepted suggestion becomes a span; others are dismissed or still pending.
// Offsets are UTF-16 units, as in the DOM; autosave.js converts them for the server.

/**
 * @typedef {object} Text
 * @property {string} key       names the text within the item: "output:0", "output:1", "source"
 * @property {string} text
 * @property {"output"|"source"} side
 * @property {number} [output]  position among the item's outputs
 * @property {string} [field]   of the source
 *
 * @typedef {object} Span
 * @property {number} id        lives as long as the page
 * @property {string} on        key of the text it stands in
 * @property {number} start     UTF-16 offset, inclusive
 * @property {number} end       UTF-16 offset, exclusive; equal to the start where something is missing
 * @property {string} category  key of a category
 * @property {string} [subcategory]
 * @property {string} [severity]
 * @property {string} [reason]
 * @property {object} [attributes]  answers to what the campaign asks about every span, by key
 * @property {number} [suggestion]  number of the suggestion it started as
 *
 * @typedef {Span & {suggested: true}} Suggestion  not decided on yet; its id is its number, below zero
 */

/** Why a span was refused: the keys of messages in the page's strings. */
export const REFUSAL = Object.freeze({
  duplicate: "refused_duplicate",
  overlap: "refused_overlap",
  exclusive: "refused_exclusive",
  side: "refused_side",
});

/**
 * The state of one item. Dispatches `change` when spans or answers changed (detail.origin: "edit", "answer", "load") and `select`
 * when another span, or none, is the selected one.
 */
export class ItemStore extends EventTarget {
  /** @type {readonly Span[]} */ #spans = [];
  #answers = {};
  /** @type {readonly Suggestion[]} */ #suggestions = [];
  /** Numbers of the suggestions turned down. @type {readonly number[]} */ #dismissed = [];
  #past = [];
  #future = [];
  #lastEdit = null;
  #nextId = 1;

  /** @param {{overlap: "allow"|"forbid", categories: {key: string, exclusive: boolean, side: string}[]}} rules */
  constructor(rules) {
    super();
    this.rules = rules;
    this.sides = new Map(rules.categories.map((category) => [category.key, category.side]));
    this.exclusive = new Set(rules.categories.filter((category) => category.exclusive).map((category) => category.key));
    /** The item's texts by key, in the order of the page. @type {Map<string, Text>} */
    this.texts = new Map();
    /** Spans of texts that the page does not show; they are saved as they came. */
    this.carried = [];
    this.selected = null;
  }

  get spans() {
    return this.#spans;
  }

  /** Suggestions without a decision. */
  get pending() {
    const decided = new Set([...this.#dismissed, ...this.#spans.map(numberOf), ...this.carried.map(numberOf)]);
    return this.#suggestions.filter((suggestion) => !decided.has(suggestion.suggestion));
  }

  /** Suggestions that were turned down. */
  get turnedDown() {
    return this.#suggestions.filter((suggestion) => this.#dismissed.includes(suggestion.suggestion));
  }

  get dismissed() {
    return this.#dismissed;
  }

  /** All visible marks: spans and pending suggestions. */
  get shown() {
    const { pending } = this;
    return pending.length ? this.#sorted([...this.#spans, ...pending]) : this.#spans;
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

  /** The suggestion with this id, while it waits. */
  findPending(id) {
    return id < 0 ? this.pending.find((suggestion) => suggestion.id === id) : undefined;
  }

  /** The characters a span, or a stretch of a text, covers. */
  quote({ on, start, end }) {
    return this.texts.get(on).text.slice(start, end);
  }

  /** Loads another item and clears the history: undo must not bring back marks of the previous item. */
  load({ texts, spans, carried, answers, suggestions = [], dismissed = [] }) {
    this.texts = new Map(texts.map((text) => [text.key, text]));
    this.carried = carried;
    this.#past = [];
    this.#future = [];
    this.#spans = this.#numbered(spans);
    this.#answers = { ...answers };
    this.#suggestions = suggestions.map((suggestion) => ({ ...suggestion, id: -suggestion.suggestion, suggested: true }));
    this.#dismissed = dismissed;
    this.#lastEdit = null;
    this.selected = null;
    this.#tell("load");
  }

  /** Replaces the item by another version in one step, so that undo restores the former version. */
  replace({ spans, carried, answers, dismissed = [] }) {
    this.#remember(null, this.#answers);
    this.#dismissed = dismissed;
    this.carried = carried;
    this.#spans = this.#numbered(spans);
    this.#answers = { ...answers };
    this.selected = null;
    this.#tell("load");
  }

  /** Adds a span; returns it, or `{refused}` with the reason when the campaign's rules do not allow it. */
  add(fields) {
    const refused = this.refusal(fields, null);
    if (refused) return { refused };
    this.#remember(null);
    const span = { ...fields, id: this.#nextId++ };
    this.#spans = this.#sorted([...this.#spans, span]);
    this.#tell("edit");
    return { span };
  }

  /**
   * Changes fields of a span, or says why the campaign's rules do not allow it.
   *
   * @param {number} id
   * @param {object} fields
   * @param {string|null} step  consecutive edits under one name, such as the letters of a reason, are undone together
   */
  change(id, fields, step = null) {
    const before = this.find(id);
    if (!before || Object.entries(fields).every(([name, value]) => before[name] === value)) return {};
    const after = { ...before, ...fields };
    if (after.category !== before.category) delete after.subcategory;
    // Only these fields can break a rule. Others may change even where an older span breaks one.
    if (["category", "start", "end"].some((name) => after[name] !== before[name])) {
      const refused = this.refusal(after, id);
      if (refused) return { refused };
    }
    this.#remember(step && `${step} ${id}`);
    this.#spans = this.#sorted(this.#spans.map((span) => (span.id === id ? after : span)));
    this.#tell("edit");
    return { span: after };
  }

  /**
   * Makes suggestions spans, in one step.
   *
   * @param {readonly Suggestion[]} suggestions
   * @param {object} fields  of the spans, where they are not to be as suggested
   * @returns {{spans: Span[], refused: string|null}} refused suggestions stay pending; `refused` is the reason of the last one
   */
  accept(suggestions, fields = {}) {
    const before = this.#version();
    const spans = [];
    let refused = null;
    for (const { suggested: _suggested, ...suggestion } of suggestions) {
      const span = { ...suggestion, ...fields, id: this.#nextId };
      const reason = this.refusal(span, null);
      refused = reason ?? refused;
      if (reason) continue;
      this.#nextId++;
      this.#spans = this.#sorted([...this.#spans, span]);
      spans.push(span);
    }
    if (spans.length) {
      this.#step(before);
      this.#tell("edit");
    }
    return { spans, refused };
  }

  dismiss(suggestion) {
    this.#remember(null);
    this.#dismissed = [...this.#dismissed, suggestion.suggestion];
    if (this.selected === suggestion.id) this.select(null);
    this.#tell("edit");
  }

  /** Makes a suggestion that was turned down wait for a decision again. */
  recall(suggestion) {
    this.#remember(null);
    this.#dismissed = this.#dismissed.filter((number) => number !== suggestion.suggestion);
    this.#tell("edit");
  }

  /** Deletes a span; one that started as a suggestion is then turned down. */
  remove(id) {
    const span = this.find(id);
    if (!span) return;
    this.#remember(null);
    if (span.suggestion) this.#dismissed = [...this.#dismissed, span.suggestion];
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
    this.#lastEdit = null;
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
    const { spans, carried, answers, dismissed } = from.pop();
    // Answers change back only in steps that stored them: see #remember.
    to.push(this.#version(answers && this.#answers));
    this.#spans = spans;
    this.carried = carried;
    this.#answers = answers ?? this.#answers;
    this.#dismissed = dismissed;
    this.#lastEdit = null;
    if (!this.find(this.selected) && !this.findPending(this.selected)) this.selected = null;
    this.#tell("edit");
  }

  /** Adds a step to the history. Only `replace` stores answers in it: undoing a mark must not change answers. */
  #remember(edit, answers = null) {
    if (edit === null || edit !== this.#lastEdit) this.#step(this.#version(answers));
    this.#lastEdit = edit;
    this.#future = [];
  }

  #version(answers = null) {
    return { spans: this.#spans, carried: this.carried, answers, dismissed: this.#dismissed };
  }

  #step(before) {
    this.#past.push(before);
    this.#lastEdit = null;
    this.#future = [];
  }

  #numbered(spans) {
    return spans.map((span) => ({ ...span, id: this.#nextId++ }));
  }

  #sorted(spans) {
    const rank = [...this.texts.keys()];
    return spans.sort((a, b) => rank.indexOf(a.on) - rank.indexOf(b.on) || a.start - b.start || b.end - a.end || a.id - b.id);
  }

  /**
   * The reason why a proposed span breaks the campaign's rules, or null.
   *
   * @param {Omit<Span, "id">} candidate
   * @param {number|null} ownId  the span that it would replace
   * @returns {string|null} key of a message
   */
  refusal(candidate, ownId) {
    const side = this.sides.get(candidate.category);
    if (side !== "both" && side !== this.texts.get(candidate.on).side) return REFUSAL.side;
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

const numberOf = (span) => span.suggestion;

function same(a, b) {
  return a.on === b.on && a.start === b.start && a.end === b.end && a.category === b.category;
}

/** Whether two spans share a character; an empty mark has none. */
function overlap(a, b) {
  return a.on === b.on && Math.max(a.start, b.start) < Math.min(a.end, b.end);
}
