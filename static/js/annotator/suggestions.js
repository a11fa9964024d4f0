// Post-editing: spans of another campaign that are accepted, changed or dismissed, one by one or all together. Pending suggestions have
// a dashed outline in the text, and are listed before the marks.

const byId = (id) => document.getElementById(id);
/** Actions by letter, while a suggestion is selected or if no category has the letter as its hotkey. */
const KEYS = { a: "accept", e: "change", x: "dismiss" };

export class Suggestions {
  /** @param {object} desk the item on the page, see main.js */
  constructor(desk) {
    this.desk = desk;
    this.store = desk.store;
    this.section = byId("suggestions");
    this.list = byId("suggestion-list");
    this.turnedDown = byId("turned-down");
    this.box = byId("decision");
    byId("accept-all").addEventListener("click", () => this.acceptAll());
    for (const [key, action] of Object.entries(KEYS)) {
      this.box.querySelector(`[data-action="${action}"]`).addEventListener("click", () => this.key(key));
    }
  }

  get #selected() {
    return this.store.findPending(this.store.selected);
  }

  /** Runs the action of a letter; returns false if the letter has another meaning now. */
  key(letter) {
    const action = KEYS[letter];
    if (!action || (!this.#selected && this.desk.bar.byHotkey(letter))) return false;
    if (this.#selected) this[action]();
    else this.#goTo(this.store.pending[0]);
    return true;
  }

  /** Accepts the selected suggestion unchanged, and selects the next. */
  accept() {
    const suggestion = this.#selected;
    const { spans, refused } = this.store.accept([suggestion]);
    if (!this.#taken(spans, refused)) return;
    this.#decided("accepted", suggestion);
  }

  /** Accepts the selected suggestion with other fields; without any, opens the fields of the new mark. */
  change(fields = {}) {
    const { spans, refused } = this.store.accept([this.#selected], fields);
    if (!this.#taken(spans, refused)) return;
    const [span] = spans;
    this.store.select(span.id);
    this.desk.announceSpan(span);
    if (!Object.keys(fields).length) this.desk.inspector.focus();
  }

  /** Accepts the selected suggestion in order to resize it; returns false if none is selected. */
  resize(move) {
    if (!this.#selected) return false;
    const { spans, refused } = this.store.accept([this.#selected]);
    if (!this.#taken(spans, refused)) return true;
    this.store.select(spans[0].id);
    return move();
  }

  dismiss() {
    const suggestion = this.#selected;
    this.store.dismiss(suggestion);
    this.#decided("dismissed", suggestion);
  }

  acceptAll() {
    const { spans, refused } = this.store.accept(this.store.pending);
    const left = this.store.pending;
    this.desk.message(this.desk.t("accepted_all", { count: spans.length }));
    if (refused) this.desk.refuse(refused);
    if (spans.length) this.desk.untickBox();
    if (left.length) this.#goTo(left[0]);
    else this.#leave();
  }

  focus(id) {
    this.list.querySelector(`[data-id="${id}"] .quote`)?.focus();
  }

  render() {
    const { pending, turnedDown, selected } = this.store;
    const { t } = this.desk;
    this.section.hidden = !pending.length && !turnedDown.length;
    byId("suggestion-count").textContent = pending.length ? `(${pending.length})` : "";
    byId("accept-all").hidden = pending.length < 2;
    byId("all-decided").hidden = pending.length > 0;
    const focused = document.activeElement?.closest("#suggestion-list [data-id]")?.dataset.id;
    this.list.replaceChildren(...pending.map((suggestion) => this.#row(suggestion, suggestion.id === selected)));
    if (focused) this.focus(focused);
    this.turnedDown.hidden = !turnedDown.length;
    this.turnedDown.querySelector("summary").textContent = t("turned_down", { count: turnedDown.length });
    this.turnedDown.querySelector("ul").replaceChildren(...turnedDown.map((suggestion) => this.#recallRow(suggestion)));
    this.#renderBox();
  }

  #renderBox() {
    const suggestion = this.#selected;
    this.box.hidden = !suggestion;
    if (!suggestion) return;
    const { color, name } = this.desk.categories.get(suggestion.category);
    this.box.style.setProperty("--c", color);
    this.box.querySelector("q").textContent = this.desk.list.quote(suggestion);
    this.box.querySelector(".category-name").textContent = name;
    this.box.querySelector(".about").textContent = this.desk.list.about(suggestion).join(" · ");
  }

  #taken(spans, refused) {
    if (refused) this.desk.refuse(refused);
    else this.desk.message("");
    if (spans.length) this.desk.untickBox();
    return spans.length > 0;
  }

  /** Announces the decision, and selects the next suggestion in the text. */
  #decided(message, suggestion) {
    const { t, announce, list } = this.desk;
    const { pending } = this.store;
    const next = pending.find((other) => other.start >= suggestion.start) ?? pending[0];
    announce(t(message, { quote: list.quote(suggestion) }));
    if (next) this.#goTo(next, t(message, { quote: list.quote(suggestion) }));
    else this.#leave();
  }

  #goTo(suggestion, said = "") {
    if (!suggestion) return;
    const inList = this.section.contains(document.activeElement);
    this.store.select(suggestion.id);
    this.desk.announceSpan(suggestion, said);
    if (inList) this.focus(suggestion.id);
    this.desk.surfaces.get(suggestion.on).reveal(suggestion);
  }

  /** No suggestion waits any more: the focus must not be lost with the button that had it. */
  #leave() {
    this.store.select(null);
    if (document.activeElement === document.body) this.desk.surfaces.get("output:0").element.focus({ preventScroll: true });
  }

  #row(suggestion, selected) {
    const { t, list, categories } = this.desk;
    const { color, hotkey, name } = categories.get(suggestion.category);
    const quote = list.quote(suggestion);
    const row = element("li", selected ? "span-row colored suggested selected" : "span-row colored suggested");
    row.dataset.id = suggestion.id;
    row.style.setProperty("--c", color);
    const button = element("button", "quote");
    button.setAttribute("aria-pressed", String(selected));
    const key = element("kbd", "", hotkey ?? name.slice(0, 2));
    key.setAttribute("aria-hidden", "true");
    const about = [t("suggestion"), ...list.about(suggestion)].join(" · ");
    button.append(key, element("q", "", quote), " ", element("span", "category-name", name), " ", element("span", "about muted", about));
    button.addEventListener("click", () => this.store.select(selected ? null : suggestion.id));
    const accept = this.#action("✓", t("accept_quote", { quote }), () => this.#decide(suggestion, "accept"));
    const dismiss = this.#action("✕", t("dismiss_quote", { quote }), () => this.#decide(suggestion, "dismiss"));
    const actions = element("div");
    actions.append(accept, dismiss);
    row.append(button, actions);
    return row;
  }

  #decide(suggestion, action) {
    this.store.select(suggestion.id);
    this[action]();
  }

  #recallRow(suggestion) {
    const { t, list, categories } = this.desk;
    const row = element("li", "", `“${list.quote(suggestion)}” ${categories.get(suggestion.category).name} `);
    const button = element("button", "quiet", t("recall"));
    button.setAttribute("aria-label", t("recall_quote", { quote: list.quote(suggestion) }));
    button.addEventListener("click", () => this.store.recall(suggestion));
    row.append(button);
    return row;
  }

  #action(sign, label, act) {
    const button = element("button", "quiet", sign);
    button.setAttribute("aria-label", label);
    button.title = label;
    button.addEventListener("click", act);
    return button;
  }
}

function element(tag, className = "", text = "") {
  const made = document.createElement(tag);
  if (tag === "button") made.type = "button";
  if (className) made.className = className;
  made.textContent = text;
  return made;
}
