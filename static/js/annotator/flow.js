// Navigation between items: the numbered strip, back and next, missing answers, the review before submitting, and the source pane.

import { statesOf } from "./items.js";
import { listMissing, QuestionForm } from "./questions.js";
import { SourcePane } from "./source.js";
import { Stopwatch } from "./stopwatch.js";

/** Interval at which a visible page asks whether another device has saved something. */
const OTHER_DEVICES_MS = 5000;

/** Interval at which the server is told that the annotator is active: long reading saves nothing, but needs the lease. */
const PRESENCE_MS = 60000;

const byId = (id) => document.getElementById(id);

export class Flow {
  /** Position of the item that is being fetched. */
  #going = null;

  /** @param {object} desk the item on the page, see main.js */
  constructor(desk) {
    const { campaign } = desk;
    this.desk = desk;
    this.items = new Map(statesOf(campaign.items).map((item) => [item.position, item]));
    this.order = [...this.items.keys()];
    this.numbers = new Map(this.order.map((position, index) => [position, index + 1]));
    this.form = new QuestionForm(byId("questions"), campaign.questions, desk.store);
    this.source = new SourcePane(desk);
    desk.stopwatch = new Stopwatch();
    desk.status = () => (desk.complete && !this.#missing().length ? "complete" : "draft");
    desk.store.addEventListener("change", () => this.form.render());
    desk.autosave.addEventListener("acknowledged", ({ detail }) => this.#acknowledged(detail));
    desk.autosave.addEventListener("acknowledged", () => this.#reachedServer());
    desk.autosave.addEventListener("stale", ({ detail }) => this.#reload(detail.position));
    this.#watchOtherTabs();
    this.#watchOtherDevices();
    this.#keepPlace();
    this.#completeStrip();
    new ResizeObserver(() => showInRow(byId("strip"))).observe(byId("strip")); // the strip is hidden until the instructions are left
    this.#bindButtons();
    const last = this.#place();
    this.#show(campaign.current, true);
    /** Settles once the item that was open when this device left the page is open again. @type {Promise<void>} */
    this.there = this.items.has(last) ? this.go(last) : Promise.resolve();
  }

  /** Completes the item and opens the next; if something is missing, stays and shows it. */
  async next() {
    if (this.#reviewing()) return byId("submit-form").requestSubmit();
    const [first] = this.#missing();
    if (first) return this.#pointTo(first);
    if (!this.desk.complete) {
      this.desk.complete = true;
      this.desk.save();
    }
    const after = this.order[this.order.indexOf(this.desk.position) + 1];
    if (after !== undefined) await this.go(after);
    else if (this.desk.campaign.practice) byId("submit-form").requestSubmit(); // one item, and its feedback comes next
    else await this.review();
  }

  async back() {
    if (this.#reviewing()) return this.#leaveReview();
    const before = this.order[this.order.indexOf(this.desk.position) - 1];
    if (before !== undefined) await this.go(before);
  }

  /** Opens an item. An item that is open or loading is not opened again, because that would interrupt work on it. */
  async go(position) {
    if (this.#going === position || (position === this.desk.position && !this.#reviewing())) return;
    this.#going = position;
    // Not awaited: the next item opens at once, and unsent work stays on this device until it is acknowledged.
    this.desk.autosave.flush();
    const item = await this.#fetch(position);
    if (this.#going !== position) return; // another item was requested meanwhile
    this.#going = null;
    if (!item) return;
    this.#leaveReview();
    this.desk.message("");
    this.desk.open(item);
    this.#show(item);
    scrollTo(0, 0);
    // The focused field belongs to the previous item.
    if (byId("marking").contains(document.activeElement)) byId("text").focus({ preventScroll: true });
    this.desk.announce(this.desk.t("item_opened", { number: this.#number(position), total: this.order.length }) + (byId("task").hidden ? "" : ` ${byId("task-name").textContent}`));
  }

  /** Lists the items with their states before submitting. */
  async review() {
    // An item that is still being fetched must not open over the review.
    this.#going = null;
    await this.desk.autosave.flush();
    const { t } = this.desk;
    const open = this.order.filter((position) => this.items.get(position).status !== "complete");
    byId("review-items").replaceChildren(...this.order.map((position) => this.#reviewRow(position)));
    byId("review-summary").textContent = open.length
      ? t("review_open", { numbers: open.map((position) => this.#number(position)).join(", ") })
      : t("review_ready");
    byId("submit-batch").disabled = open.length > 0;
    document.body.classList.add("reviewing");
    byId("review").hidden = false;
    this.#refreshStrip();
    this.desk.message("");
    byId("review").querySelector("h2").focus();
  }

  /** Shows the saves of other devices: the same person may have worked there. */
  #watchOtherDevices() {
    const look = async () => {
      if (document.hidden || this.desk.autosave.isWaiting) return;
      const response = await fetch(`${this.desk.campaign.base}/items`, { cache: "no-store" }).catch(() => null);
      if (response?.status === 410) return location.replace(this.desk.campaign.base);
      if (!response?.ok) return;
      this.#reachedServer();
      for (const state of await response.json()) {
        // Own saves come back here too, and are known already.
        if (this.items.get(state.position).revision >= state.revision) continue;
        this.#acknowledged(state);
        if (state.position === this.desk.position && !this.desk.autosave.isWaiting) {
          await this.#reload(state.position);
          this.desk.message(this.desk.t("changed_elsewhere"));
        }
      }
    };
    addEventListener("focus", look);
    document.addEventListener("visibilitychange", look);
    setInterval(look, OTHER_DEVICES_MS);
  }

  #keepPlace() {
    const { campaign, stopwatch } = this.desk;
    // Only after a sign of activity: an abandoned page must not hold its seat.
    let told = stopwatch.lastSign;
    setInterval(() => {
      if (stopwatch.lastSign === told) return;
      told = stopwatch.lastSign;
      fetch(`${campaign.base}/presence`, { method: "POST" }).catch(() => {}); // the next request may succeed
    }, PRESENCE_MS);
  }

  /** Shows the saves of other tabs of the same annotator at once. */
  #watchOtherTabs() {
    const { autosave, campaign } = this.desk;
    const channel = new BroadcastChannel(`spanplat:${campaign.base}`);
    autosave.addEventListener("acknowledged", ({ detail }) => channel.postMessage(detail));
    channel.addEventListener("message", async ({ data }) => {
      if (!this.items.has(data.position) || this.items.get(data.position).revision >= data.revision) return;
      this.#acknowledged(data);
      if (data.position !== this.desk.position || autosave.isWaiting) return;
      await this.#reload(data.position);
      this.desk.message(this.desk.t("changed_elsewhere"));
    });
  }

  /** Adds the buttons of a long batch's other items: the HTML contains only the first ones. */
  #completeStrip() {
    const listed = document.querySelectorAll("#strip button[data-position]").length;
    const others = this.order.slice(listed).map((position) => {
      const button = document.createElement("button");
      Object.assign(button, { type: "button", textContent: this.#number(position) });
      button.dataset.position = position;
      const entry = document.createElement("li");
      entry.append(button);
      return entry;
    });
    byId("to-review").closest("li").before(...others);
  }

  #bindButtons() {
    byId("next").addEventListener("click", () => this.next());
    byId("back").addEventListener("click", () => this.back());
    for (const button of document.querySelectorAll("#strip button[data-position]")) {
      button.addEventListener("click", () => this.go(Number(button.dataset.position)));
    }
    byId("to-review").addEventListener("click", () => this.review());
    byId("submit-form").addEventListener("submit", (event) => this.#submit(event));
  }

  async #submit(event) {
    event.preventDefault();
    if (byId("submit-batch").disabled) return;
    const form = event.target;
    // `submit` fires no event, which `requestSubmit` would send back to this listener.
    if (await this.desk.autosave.flush()) form.submit();
    else this.desk.message(this.desk.t("submit_offline"), "warning");
  }

  /** Removes a message about a lost connection. */
  #reachedServer() {
    const { t } = this.desk;
    if ([t("load_offline"), t("submit_offline")].includes(byId("message").textContent)) this.desk.message("");
  }

  async #fetch(position, isAgain = false) {
    const address = `${this.desk.campaign.base}/items/${position}`;
    const response = await fetch(address, { cache: "no-store" }).catch(() => null); // no answer
    if (response?.ok) {
      const item = await response.json();
      // A save that was acknowledged during this request is not in its answer: ask once more.
      const isOvertaken = item.revision < this.items.get(position).revision;
      return isOvertaken && !isAgain ? this.#fetch(position, true) : item;
    }
    const passing = !response || response.status >= 500 || response.status === 429;
    if (passing) this.desk.message(this.desk.t("load_offline"), "warning");
    else location.replace(this.desk.campaign.base); // submitted, expired or withdrawn: this address shows which
    return null;
  }

  async #reload(position) {
    if (position !== this.desk.position) return;
    const item = await this.#fetch(position);
    if (!item) return;
    this.desk.open(item);
    this.#show(item);
  }

  /** Position of the item that was open last on this device. */
  #place() {
    try {
      return Number(this.desk.storage?.getItem(this.#placeKey));
    } catch {
      return NaN; // storage is blocked
    }
  }

  #remember(position) {
    try {
      this.desk.storage?.setItem(this.#placeKey, position);
    } catch {
      // storage is blocked or full: the page then opens the first incomplete item
    }
  }

  get #placeKey() {
    return `spanplat:${this.desk.campaign.base}:place`;
  }

  #show(item, isInPage = false) {
    this.#remember(item.position);
    const number = this.#number(item.position);
    const { t, campaign, stopwatch } = this.desk;
    stopwatch.begin(item.seconds);
    const { practice } = campaign;
    byId("progress").textContent = practice ? t("practice", practice) : t("progress", { number, total: this.order.length });
    this.#showTask(item.item);
    byId("text-title").textContent = t(item.item.outputs.length > 1 ? "first_text" : "text");
    this.source.show(item, isInPage);
    this.form.render();
    this.#refreshStrip();
    const place = practice ? t("practice", practice) : `${number}/${this.order.length}`;
    document.title = `${place} · ${campaign.title}`;
  }

  /** Shows the item's subject if it is not the whole text: an aspect, or one span to judge. */
  #showTask({ aspect, judged }) {
    const { t } = this.desk;
    byId("task").hidden = !judged && !aspect;
    byId("task-name").textContent = judged ? t("judge", { quote: judged.text, category: judged.category }) : (aspect?.name ?? "");
    byId("task-description").textContent = judged?.reason ?? aspect?.description ?? "";
  }

  /** Updates the current item and the states of all items in the strip. */
  #refreshStrip() {
    const reviewing = this.#reviewing();
    byId("back").disabled = !reviewing && this.#number(this.desk.position) === 1;
    byId("to-review").toggleAttribute("aria-current", false);
    if (reviewing) byId("to-review").setAttribute("aria-current", "step");
    for (const button of document.querySelectorAll("#strip button[data-position]")) {
      const position = Number(button.dataset.position);
      const { status } = this.items.get(position);
      button.dataset.status = status;
      button.toggleAttribute("aria-current", false);
      if (position === this.desk.position && !reviewing) button.setAttribute("aria-current", "step");
      button.setAttribute("aria-label", this.desk.t("strip_item", { number: this.#number(position), state: this.#stateName(status) }));
    }
    showInRow(byId("strip"));
  }

  #acknowledged({ position, status, revision }) {
    Object.assign(this.items.get(position), { status, revision });
    this.#refreshStrip();
  }

  #reviewRow(position) {
    const { status } = this.items.get(position);
    const row = document.createElement("li");
    row.dataset.status = status;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = this.desk.t("review_item", { number: this.#number(position), state: this.#stateName(status) });
    button.addEventListener("click", async () => {
      await this.go(position);
      const [first] = status === "draft" && this.desk.position === position ? this.#missing() : [];
      if (first) this.#pointTo(first);
    });
    row.append(button);
    return row;
  }

  #stateName(status) {
    return this.desk.t(`item_${status}`);
  }

  #missing() {
    const { campaign, store } = this.desk;
    const missing = listMissing(campaign.questions, campaign, store.spans, store.answers);
    const [waiting] = campaign.suggestions === "required" ? store.pending : [];
    return waiting ? [{ message: "missing_suggestion", values: { count: store.pending.length }, span: waiting.id }, ...missing] : missing;
  }

  #pointTo({ message, values, question, span, field }) {
    this.desk.message(this.desk.t(message, values), "warning");
    if (question !== undefined) this.form.focus(question);
    else {
      this.desk.store.select(span);
      this.desk.inspector.focus(field);
    }
  }

  #number(position) {
    return this.numbers.get(position);
  }

  #reviewing() {
    return document.body.classList.contains("reviewing");
  }

  #leaveReview() {
    document.body.classList.remove("reviewing");
    byId("review").hidden = true;
    this.#refreshStrip();
  }
}

/** Scrolls the strip to its current entry; `scrollIntoView` would scroll the page too. */
function showInRow(row) {
  const current = row.querySelector("[aria-current]");
  const [outer, inner] = [row, current].map((element) => element.getBoundingClientRect());
  if (inner.left < outer.left) row.scrollLeft += inner.left - outer.left;
  else if (inner.right > outer.right) row.scrollLeft += inner.right - outer.right;
  if (inner.top < outer.top) row.scrollTop += inner.top - outer.top;
  else if (inner.bottom > outer.bottom) row.scrollTop += inner.bottom - outer.bottom;
}
