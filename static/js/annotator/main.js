// The annotator's page: puts the parts together around one item. Moving between items stands in flow.js, which is loaded once the
// first mark can be made.

import { Autosave, decode, encode } from "./autosave.js";
import { CategoryBar } from "./categories.js";
import { bindShortcuts } from "./keyboard.js";
import { TextView } from "./painting.js";
import { TextSelection } from "./selection.js";
import { shorten, SpanList } from "./span_list.js";
import { ItemStore } from "./store.js";

const byId = (id) => document.getElementById(id);
const readJson = (id) => JSON.parse(byId(id).textContent);

const campaign = readJson("campaign");
const strings = readJson("strings");

/** The page's text of this key, with `{name}` replaced by values. */
function t(key, values = {}) {
  return strings[key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

/** Tells screen readers; the same text twice is read twice. */
function announce(text) {
  const region = byId("live");
  region.textContent = region.textContent === text ? `${text}\u00a0` : text;
}

/** Everything about the item on the page. */
class Desk {
  #painted = "";
  caret = null;
  stopwatch = null;
  position = null;
  complete = false;
  /** @type {() => "draft"|"complete"} what the item counts as after an edit; flow.js knows what is required */
  status = () => "draft";

  constructor() {
    Object.assign(this, { campaign, t, announce });
    this.categories = new Map(campaign.categories.map((category, position) => [category.key, { ...category, position }]));
    this.noErrors = campaign.questions.find((question) => question.type === "no_errors");
    this.store = new ItemStore({ overlap: campaign.overlap, categories: campaign.categories });
    this.view = new TextView(byId("text"), this.categories);
    this.selection = new TextSelection(this.view, campaign);
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
    this.position = item.position;
    this.complete = (content.status ?? item.status) === "complete";
    this.bar.closeChooser();
    this.selection.clear();
    this.store.load({ text: item.text, ...decode(item.text, left ?? content) });
    if (left) {
      // Somebody, perhaps in another tab, saved meanwhile: theirs is shown, one undo brings back what was only here.
      this.store.replace(decode(item.text, content));
      this.message(t("stale"), "warning");
    }
  }

  mark(stretch, key) {
    const whole = this.categories.get(key).exclusive;
    const { start, end } = whole ? { start: 0, end: this.store.text.length } : stretch;
    this.selection.clear();
    this.bar.closeChooser();
    this.caret?.place(end);
    const { span, refused } = this.store.add({ start, end, category: key });
    if (refused) return this.refuse(refused);
    const quote = shorten(this.store.text.slice(start, end));
    announce(t("marked", { quote, category: this.categories.get(key).name }));
    this.message("");
    this.list.scrollTo(span.id);
    if (this.noErrors && this.store.answers[this.noErrors.key]) {
      this.store.answer(this.noErrors.key, false);
      this.message(t("box_unticked"));
    }
  }

  refuse(reason) {
    this.message(t(reason), "warning");
  }

  /** The one place where the page talks: beside the buttons, always in sight. */
  message(text, kind = "") {
    const element = byId("message");
    element.textContent = text;
    element.className = `message ${kind}`;
  }

  #listen() {
    this.store.addEventListener("change", (event) => this.#changed(event.detail.origin));
    this.store.addEventListener("select", () => this.#render());
    this.selection.addEventListener("pick", ({ detail }) => this.#picked(detail));
    this.selection.addEventListener("tap", ({ detail }) => this.#tapped(detail.offset));
    this.bar.addEventListener("choose", ({ detail }) => this.choose(detail.key));
    this.list.list.addEventListener("refused", ({ detail }) => this.refuse(detail));
    this.autosave.addEventListener("state", ({ detail }) => showSaveState(detail));
    this.autosave.addEventListener("refused", ({ detail }) => this.message(t("save_refused", { why: detail.message }), "warning"));
    this.autosave.addEventListener("gone", () => location.replace(campaign.base));
  }

  #changed(origin) {
    if (origin !== "load") {
      this.complete = this.status() === "complete";
      this.save();
    }
    this.#render();
  }

  save() {
    const { text, spans, carried, answers } = this.store;
    const content = encode(text, spans, carried, answers, this.complete ? "complete" : "draft");
    this.autosave.schedule(this.position, { ...content, seconds: this.stopwatch?.seconds });
  }

  #render() {
    const { text, spans, selected } = this.store;
    const picture = JSON.stringify([text, selected, spans.map(({ start, end, category }) => [start, end, category])]);
    if (picture !== this.#painted) {
      this.view.paint(text, spans, selected);
      this.caret?.restore();
      this.#painted = picture;
    }
    this.list.render();
    byId("undo").disabled = !this.store.canUndo;
    byId("redo").disabled = !this.store.canRedo;
    byId("span-count").textContent = spans.length ? `(${spans.length})` : "";
  }

  #picked({ start, end, touch }) {
    if (this.bar.armed && !touch) this.mark({ start, end }, this.bar.armed);
    else this.chooseAt({ start, end });
  }

  /** Asks for a category beside the selection. */
  chooseAt(stretch, { focus = false } = {}) {
    if (!campaign.categories.length) return;
    this.bar.openChooser(this.view.rangeOf(stretch.start, stretch.end), { focus });
    announce(t("selected", { quote: shorten(this.store.text.slice(stretch.start, stretch.end)) }));
  }

  /** A click on marked text selects the shortest span there, a further click the next longer. */
  #tapped(offset) {
    this.bar.closeChooser();
    const here = this.store.spans.filter((span) => span.start <= offset && offset <= span.end);
    here.sort((a, b) => Number(b.start < offset && offset < b.end) - Number(a.start < offset && offset < a.end) || a.end - a.start - (b.end - b.start));
    const now = here.findIndex((span) => span.id === this.store.selected);
    const next = here[(now + 1) % here.length];
    this.store.select(next?.id ?? null);
    if (next) this.#announceSpan(next);
  }

  #announceSpan(span) {
    const quote = shorten(this.store.text.slice(span.start, span.end));
    announce(t("span_selected", { quote, category: this.categories.get(span.category).name }));
    this.list.scrollTo(span.id);
  }

  /** A category was asked for: mark what is selected, change the selected span, or make it the next drag's. */
  choose(key) {
    const stretch = this.selection.current();
    if (stretch) return this.mark(stretch, key);
    if (this.store.selected !== null) {
      const { refused, span } = this.store.change(this.store.selected, { category: key });
      if (refused) this.refuse(refused);
      else if (span) this.#announceSpan(span);
      return;
    }
    const armed = this.bar.armed === key && campaign.categories.length > 1 ? null : key;
    this.bar.arm(armed);
    announce(armed ? t("armed", { category: this.categories.get(key).name }) : t("disarmed"));
  }

  step(step) {
    const { spans, selected } = this.store;
    if (!spans.length) return;
    const now = spans.findIndex((span) => span.id === selected);
    const next = spans[now < 0 ? (step > 0 ? 0 : spans.length - 1) : (now + step + spans.length) % spans.length];
    this.store.select(next.id);
    this.list.focus(next.id);
    this.#announceSpan(next);
  }

  removeSelected() {
    const span = this.store.find(this.store.selected);
    if (!span) return;
    this.store.remove(span.id);
    announce(t("deleted", { quote: shorten(this.store.text.slice(span.start, span.end)) }));
  }

  /** Leaves what is open, one thing at a time; the text stays untouched. */
  escape() {
    if (closePanel()) return;
    if (this.bar.chooserIsOpen || this.selection.current()) {
      const inside = byId("chooser").contains(document.activeElement);
      this.bar.closeChooser();
      this.selection.clear();
      if (inside) byId("text").focus();
    } else if (this.store.selected !== null) this.store.select(null);
    else if (campaign.categories.length > 1) this.bar.arm(null);
  }
}

/** The browser's storage, or null where it is blocked (some browsers throw on access, in frames above all). */
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

/** Panels (instructions, keys) stand beside the work and cover nothing of it for good. */
function togglePanel(id) {
  const panel = byId(id);
  const opening = panel.hidden;
  closePanel();
  if (!opening) return;
  panel.hidden = false;
  document.querySelector(`[aria-controls="${id}"]`).setAttribute("aria-expanded", "true");
  panel.querySelector("h2").focus();
}

function closePanel() {
  const open = document.querySelector(".panel:not([hidden])");
  if (!open) return false;
  open.hidden = true;
  const opener = document.querySelector(`[aria-controls="${open.id}"]`);
  opener.setAttribute("aria-expanded", "false");
  opener.focus();
  return true;
}

function bindPanels() {
  for (const opener of document.querySelectorAll("[aria-controls][data-panel]")) {
    opener.addEventListener("click", () => togglePanel(opener.getAttribute("aria-controls")));
  }
  for (const close of document.querySelectorAll(".panel .close")) close.addEventListener("click", closePanel);
  byId("start")?.addEventListener("click", () => {
    document.body.classList.remove("reading");
    byId("opening").remove();
    scrollTo(0, 0);
    byId("text").focus();
  });
}

async function loadCaret(desk) {
  const { Caret } = await import("./caret.js");
  desk.caret = new Caret(desk.view, byId("caret"));
  desk.caret.addEventListener("move", ({ detail }) => announce(detail));
  desk.caret.addEventListener("extend", () => {
    const stretch = desk.selection.current();
    if (stretch) announce(desk.store.text.slice(stretch.start, stretch.end));
  });
  desk.caret.addEventListener("enter", () => {
    const stretch = desk.selection.current();
    if (stretch && desk.bar.armed) desk.mark(stretch, desk.bar.armed);
    else if (stretch) desk.chooseAt(stretch, { focus: true });
  });
}

function start() {
  const desk = new Desk();
  bindPanels();
  for (const swatch of document.querySelectorAll("[data-color]")) swatch.style.setProperty("--c", swatch.dataset.color);
  byId("undo").addEventListener("click", () => desk.store.undo());
  byId("redo").addEventListener("click", () => desk.store.redo());
  desk.open(campaign.current);
  const flow = import("./flow.js").then(({ Flow }) => new Flow(desk));
  bindShortcuts({
    undo: () => desk.store.undo(),
    redo: () => desk.store.redo(),
    next: () => flow.then((loaded) => loaded.next()),
    remove: () => desk.removeSelected(),
    escape: () => desk.escape(),
    help: () => togglePanel("keys"),
    instructions: () => togglePanel("instructions"),
    find: () => byId("find")?.focus(),
    step: (step) => desk.step(step),
    character: (character) => {
      const category = desk.bar.byHotkey(character);
      if (category) desk.choose(category.key);
      return Boolean(category);
    },
  });
  loadCaret(desk);
  import("./divider.js").then(({ Divider }) => new Divider(byId("divider"), byId("work"), desk.storage));
}

start();
