// The annotator's page: connects the parts around one item. Modules that the first mark does not need are loaded later: navigation
// (flow.js), the caret, the shortcuts, resizing, and the fields of a mark (inspector.js).

import { OffsetIndex } from "../offsets.js";
import { Autosave, decode, encode } from "./autosave.js";
import { CategoryBar } from "./categories.js";
import { isOmission } from "./painting.js";
import { Snapper } from "./selection.js";
import { SpanList } from "./span_list.js";
import { ItemStore } from "./store.js";
import { Surface } from "./surface.js";

const byId = (id) => document.getElementById(id);
const readJson = (id) => JSON.parse(byId(id).textContent);

const campaign = readJson("campaign");
const strings = readJson("strings");

/** The page's text of this key, with `{name}` replaced by values. */
function t(key, values = {}) {
  return strings[key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

/** Announces a text to screen readers. They ignore an unchanged text, so a repeated one gets an extra space. */
function announce(text) {
  const region = byId("live");
  region.textContent = region.textContent === text ? `${text}\u00a0` : text;
}

/** The texts of an item that can be marked, in the order of the page. */
function textsOf({ item, source_text: source }) {
  const texts = item.outputs.map(({ text }, output) => ({ key: `output:${output}`, text, side: "output", output }));
  if (source) texts.push({ key: "source", text: source.text, side: "source", field: source.field });
  return texts;
}

/** Everything about the item on the page. */
class Desk {
  inspector = null;
  suggestions = null;
  stopwatch = null;
  position = null;
  complete = false;
  /** Whether the next click marks an omission. */
  placing = false;
  /** @type {() => "draft"|"complete"} status of the item after an edit; flow.js replaces it, because it knows the required answers */
  status = () => "draft";

  constructor() {
    Object.assign(this, { campaign, t, announce });
    this.categories = new Map(campaign.categories.map((category) => [category.key, category]));
    this.noErrors = campaign.questions.find((question) => question.type === "no_errors");
    this.snapper = new Snapper(campaign.language);
    this.store = new ItemStore({ overlap: campaign.overlap, categories: campaign.categories });
    /** Surfaces of the texts, by key. */
    this.surfaces = new Map();
    for (const [key, id] of [["output:0", "text"], ["output:1", "second-text"], ["source", "source-text"]]) {
      if (byId(id)) this.surfaces.set(key, new Surface(byId(id), campaign, this.snapper));
    }
    this.bar = new CategoryBar(byId("categories"), byId("chooser"), campaign.categories);
    this.list = new SpanList(byId("spans"), byId("no-spans"), this.store, campaign, t);
    this.storage = safeStorage();
    this.autosave = new Autosave(campaign.base, this.storage);
    if (campaign.categories.length === 1) this.bar.arm(campaign.categories[0].key);
    this.#listen();
  }

  /** Shows an item as the server gave it, or the copy of it that this device still has to send. */
  open(item) {
    const { content, left } = this.autosave.open(item);
    const texts = textsOf(item);
    this.position = item.position;
    this.complete = (content.status ?? item.status) === "complete";
    this.bar.closeChooser();
    this.place(false);
    const judged = placeOfJudged(item.item.judged, texts);
    for (const [key, surface] of this.surfaces) {
      surface.take(texts.find((text) => text.key === key) ?? null, judged?.on === key ? judged : null);
    }
    const { spans: suggestions } = decode(texts, { spans: (item.suggestions ?? []).map(asSuggestion), answers: {} });
    this.store.load({ texts, suggestions, ...decode(texts, left ?? content) });
    if (left) {
      // Another tab or device saved meanwhile: its version is shown, and one undo restores the version of this page.
      this.store.replace(decode(texts, content));
      this.message(t("stale"), "warning");
    }
  }

  /** The stretch that is selected, in whichever text; null when there is none. */
  get stretch() {
    for (const [on, surface] of this.surfaces) {
      const stretch = surface.text && surface.selection.current();
      if (stretch) return { on, ...stretch };
    }
    return null;
  }

  /** @param {{on: string, start: number, end: number}} stretch */
  mark(stretch, key) {
    const { on } = stretch;
    const whole = this.categories.get(key).exclusive;
    const { start, end } = whole ? { start: 0, end: this.store.texts.get(on).text.length } : stretch;
    this.#leaveSelection();
    this.surfaces.get(on).caret?.place(end);
    const { span, refused } = this.store.add({ on, start, end, category: key });
    if (refused) return this.refuse(refused);
    announce(t("marked", { quote: this.list.spoken(span), category: this.categories.get(key).name }));
    this.message("");
    if (this.list.asksAbout(span)) this.store.select(span.id);
    this.untickBox();
  }

  /** "Nothing to mark" and a mark exclude each other. */
  untickBox() {
    if (!this.noErrors || !this.store.answers[this.noErrors.key]) return;
    this.store.answer(this.noErrors.key, false);
    this.message(t("box_unticked"));
  }

  refuse(reason) {
    this.message(t(reason), "warning");
  }

  /** Shows a message beside the buttons, the only place for messages, which is always visible. */
  message(text, kind = "") {
    const element = byId("message");
    element.textContent = text;
    element.className = `message ${kind}`;
  }

  #listen() {
    this.store.addEventListener("change", (event) => this.#changed(event.detail.origin));
    this.store.addEventListener("select", () => this.#selected());
    for (const surface of this.surfaces.values()) {
      surface.selection.addEventListener("pick", ({ detail }) => this.#picked(surface, detail));
      surface.selection.addEventListener("tap", ({ detail }) => this.#tapped(surface, detail));
    }
    this.bar.addEventListener("choose", ({ detail }) => this.#chosen(detail.key));
    this.autosave.addEventListener("state", ({ detail }) => showSaveState(detail));
    this.autosave.addEventListener("refused", ({ detail }) => this.message(t("save_refused", { why: detail.message }), "warning"));
    this.autosave.addEventListener("gone", () => location.replace(campaign.base));
    this.autosave.addEventListener("warning", ({ detail }) => warn(detail.message));
  }

  /** Shows the selected span, on a phone on the other side of the page perhaps. */
  async #selected() {
    this.render();
    const span = this.store.find(this.store.selected);
    const surface = span && this.surfaces.get(span.on);
    if (!surface) return;
    if (!surface.isShown) (await this.flow).source.turn(surface.text.side === "source" ? "source" : "text");
    surface.reveal(span);
  }

  #changed(origin) {
    if (origin !== "load") {
      this.complete = this.status() === "complete";
      this.save();
    }
    this.render();
  }

  save() {
    const content = encode(this.store.texts.values(), this.store, this.complete ? "complete" : "draft");
    this.autosave.schedule(this.position, { ...content, seconds: this.stopwatch?.seconds });
  }

  render() {
    const { spans, shown, selected } = this.store;
    this.list.render();
    this.inspector?.render();
    this.suggestions?.render();
    byId("undo").disabled = !this.store.canUndo;
    byId("redo").disabled = !this.store.canRedo;
    byId("span-count").textContent = spans.length ? `(${spans.length})` : "";
    // Last, because restoring the caret forces a layout: this way it happens once, after all other changes.
    for (const surface of this.surfaces.values()) surface.paint(shown, selected);
  }

  #picked(surface, { start, end, touch }) {
    this.place(false);
    this.markOrChoose({ on: surface.key, start, end }, { ask: touch });
  }

  /** Marks with the chosen category, or the only one there is for this text; else asks for one. */
  markOrChoose(stretch, { ask = false, focus = false } = {}) {
    const fitting = this.#fitting(stretch.on);
    const armed = fitting.find(({ key }) => key === this.bar.armed) ?? (fitting.length === 1 ? fitting[0] : null);
    if (armed && !ask) return this.mark(stretch, armed.key);
    if (fitting.length) return this.chooseAt(stretch, { focus });
    if (campaign.categories.length) this.refuse(this.store.texts.get(stretch.on).side === "source" ? "refused_source" : "refused_output");
  }

  #fitting(on) {
    return campaign.categories.filter((category) => this.surfaces.get(on).allows(category));
  }

  /** Asks for a category beside a stretch, which stays chosen meanwhile. */
  chooseAt(stretch, { focus = false } = {}) {
    const { selection, view } = this.surfaces.get(stretch.on);
    selection.hold(stretch);
    this.bar.openChooser(view.rangeOf(stretch.start, stretch.end), this.#fitting(stretch.on), { focus });
    announce(t("selected", { quote: this.list.spoken(stretch) }));
  }

  /** A click on marked text selects the shortest span there, a further click the next longer. */
  #tapped(surface, { offset, omission, exact }) {
    this.bar.closeChooser();
    for (const other of this.surfaces.values()) if (other !== surface) other.selection.clear();
    if (this.placing) return this.markMissing(surface, offset, { exact });
    const own = this.store.shown.filter((span) => span.on === surface.key);
    const here = own.filter((span) => (omission ? isOmission(span) && span.start === offset : span.start <= offset && offset <= span.end));
    here.sort((a, b) => Number(b.start < offset && offset < b.end) - Number(a.start < offset && offset < a.end) || a.end - a.start - (b.end - b.start));
    const now = here.findIndex((span) => span.id === this.store.selected);
    const next = here[(now + 1) % here.length];
    this.store.select(next?.id ?? null);
    if (next) this.announceSpan(next);
  }

  /** Starts or stops waiting for a click that marks an omission. */
  place(placing) {
    this.placing = placing;
    byId("missing")?.setAttribute("aria-pressed", String(placing));
    document.body.classList.toggle("placing", placing);
    if (placing) this.message(t("place_missing"));
  }

  /** Marks that something is missing between two units of a text. */
  markMissing(surface, offset, { exact = false, focus = false } = {}) {
    const { text, key } = surface.text;
    const at = this.snapper.nearest(text, offset, exact || campaign.granularity === "sentence" ? "character" : campaign.granularity);
    this.place(false);
    this.message("");
    this.markOrChoose({ on: key, start: at, end: at }, { focus });
  }

  /** Announces the selected span, after a text about the last action. */
  announceSpan(span, said = "") {
    const values = { quote: this.list.spoken(span), category: this.categories.get(span.category).name };
    announce(`${said} ${t(span.suggested ? "suggestion_selected" : "span_selected", values)}`.trim());
    this.list.scrollTo(span.id);
  }

  /** Applies a category: to the selected text, else to the selected span, else to the next drag. */
  choose(key) {
    const { stretch } = this;
    if (stretch) return this.mark(stretch, key);
    if (this.store.findPending(this.store.selected)) return this.suggestions.change({ category: key });
    if (this.store.selected !== null) {
      const { refused, span } = this.store.change(this.store.selected, { category: key });
      if (refused) this.refuse(refused);
      else if (span) this.announceSpan(span);
      return;
    }
    const armed = this.bar.armed === key && campaign.categories.length > 1 ? null : key;
    this.bar.arm(armed);
    announce(armed ? t("armed", { category: this.categories.get(key).name }) : t("disarmed"));
  }

  /** A category was picked with the pointer or in a field: keys go on in the text. */
  #chosen(key) {
    const on = this.stretch?.on ?? "output:0";
    const leaves = byId("chooser").contains(document.activeElement) || this.bar.leaveFilter();
    this.choose(key);
    if (leaves) this.surfaces.get(on).element.focus({ preventScroll: true });
  }

  #leaveSelection() {
    this.bar.closeChooser();
    for (const surface of this.surfaces.values()) surface.selection.clear();
  }

  /** Closes one open thing per press of Escape: panel, chooser, selection, field. The annotations do not change. */
  escape() {
    if (this.panels?.close()) return;
    if (this.placing) {
      this.place(false);
      this.message("");
    } else if (this.bar.chooserIsOpen || this.stretch) {
      const { stretch } = this;
      const inside = byId("chooser").contains(document.activeElement);
      this.#leaveSelection();
      if (inside) this.surfaces.get(stretch?.on ?? "output:0").element.focus();
    } else if (this.bar.leaveFilter()) this.surfaces.get("output:0").element.focus({ preventScroll: true });
    else if (this.inspector?.leave()) return;
    else if (this.store.selected !== null) this.store.select(null);
    else if (campaign.categories.length > 1) this.bar.arm(null);
  }
}

/** A suggestion in the shape of the span it would be. */
function asSuggestion({ number, ...span }) {
  return { ...span, suggestion: number };
}

/** The span that an item asks about, in the page's offsets; null if it is in no text of the page. */
function placeOfJudged(judged, texts) {
  const text = judged && texts.find(({ side }) => side === judged.side);
  const index = text && new OffsetIndex(text.text);
  if (!text || judged.end > index.length) return null; // imported spans may lie anywhere
  return { on: text.key, start: index.toUtf16(judged.start), end: index.toUtf16(judged.end) };
}

/** The browser's storage, or null if it is blocked: some browsers throw on access, mostly in frames. */
function safeStorage() {
  try {
    return globalThis.localStorage;
  } catch {
    return null;
  }
}

function showSaveState(state) {
  const element = byId("save-state");
  element.textContent = t(`state_${state}`);
  element.dataset.state = state;
}

async function loadRest(desk) {
  const [{ bindShortcuts }, { Panels }, { Caret }, { Inspector }, { Marks }] = await Promise.all([
    import("./keyboard.js"),
    import("./panels.js"),
    import("./caret.js"),
    import("./inspector.js"),
    import("./marks.js"),
  ]);
  desk.panels = new Panels();
  desk.inspector = new Inspector(byId("inspector"), desk);
  desk.marks = new Marks(desk);
  if (campaign.suggestions) desk.suggestions = new (await import("./suggestions.js")).Suggestions(desk);
  for (const surface of desk.surfaces.values()) desk.marks.follow(surface, new Caret(surface.view, surface.frame.querySelector(".caret")));
  bindShortcuts(desk);
  desk.render();
}

/** Shows the message of a failed check until the annotator closes it. */
function warn(message) {
  const bar = byId("warning");
  bar.querySelector("p").textContent = message;
  bar.querySelector("button").onclick = () => (bar.hidden = true);
  bar.hidden = false;
}

/** Enables the controls that need the late modules. Until now they were inert, so no click was lost. */
function allow() {
  for (const part of document.querySelectorAll("[data-waits]")) part.inert = false;
  document.body.dataset.ready = "";
}

function start() {
  const desk = new Desk();
  for (const swatch of document.querySelectorAll("[data-color]")) swatch.style.setProperty("--c", swatch.dataset.color);
  if (byId("start")) byId("start").disabled = false;
  byId("start")?.addEventListener("click", () => {
    document.body.classList.remove("reading");
    byId("opening").remove();
    scrollTo(0, 0);
    byId("text").focus({ preventScroll: true }); // scrolling to a text longer than the page would hide its beginning
  });
  byId("undo").addEventListener("click", () => desk.store.undo());
  byId("redo").addEventListener("click", () => desk.store.redo());
  // A press would move the focus out of the text, and the caret there says where something is missing.
  byId("missing")?.addEventListener("mousedown", (event) => event.preventDefault());
  byId("missing")?.addEventListener("click", () => desk.marks?.missing());
  desk.open(campaign.current);
  document.body.classList.remove("unpainted");
  desk.flow = import("./flow.js").then(({ Flow }) => new Flow(desk));
  const divider = import("./divider.js").then(({ Divider }) => new Divider(byId("divider"), byId("work"), desk.storage));
  const there = desk.flow.then((flow) => flow.there);
  Promise.all([there, loadRest(desk), divider]).then(allow, () => desk.message(t("not_loaded"), "warning"));
}

start();
