// From item to item: the numbered strip, back and next, what is still missing, the review before submitting, and the source beside the text.

import { listMissing, QuestionForm } from "./questions.js";
import { renderSource, SourceSearch } from "./source.js";
import { Stopwatch } from "./stopwatch.js";

const byId = (id) => document.getElementById(id);

export class Flow {
  /** @param {object} desk the item on the page, see main.js */
  constructor(desk) {
    const { campaign } = desk;
    this.desk = desk;
    this.items = new Map(campaign.items.map((item) => [item.position, { ...item }]));
    this.order = campaign.items.map((item) => item.position);
    this.form = new QuestionForm(byId("questions"), campaign.questions, desk.store);
    this.search = byId("find") && new SourceSearch(byId("source"), byId("find"), byId("found"));
    desk.stopwatch = new Stopwatch();
    desk.status = () => (desk.complete && !this.#missing().length ? "complete" : "draft");
    desk.store.addEventListener("change", () => this.form.render());
    desk.autosave.addEventListener("acknowledged", ({ detail }) => this.#acknowledged(detail));
    desk.autosave.addEventListener("stale", ({ detail }) => this.#reload(detail.position));
    this.#watchOtherTabs();
    this.#bindButtons();
    this.#show(campaign.current);
  }

  /** Completes the item and goes on; stays, and says why, when something is missing. */
  async next() {
    if (this.#reviewing()) return byId("submit-form").requestSubmit();
    const [first] = this.#missing();
    if (first) return this.#pointTo(first);
    if (!this.desk.complete) {
      this.desk.complete = true;
      this.desk.save();
    }
    const after = this.order[this.order.indexOf(this.desk.position) + 1];
    if (after === undefined) await this.review();
    else await this.go(after);
  }

  async back() {
    if (this.#reviewing()) return this.#leaveReview();
    const before = this.order[this.order.indexOf(this.desk.position) - 1];
    if (before !== undefined) await this.go(before);
  }

  async go(position) {
    this.desk.autosave.flush();
    const item = await this.#fetch(position);
    if (!item) return;
    this.#leaveReview();
    this.desk.message("");
    this.desk.open(item);
    this.#show(item);
    scrollTo(0, 0);
    this.desk.announce(this.desk.t("item_opened", { number: this.#number(position), total: this.order.length }));
  }

  /** Lists the items with their states before submitting. */
  async review() {
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
    this.desk.message("");
    byId("review").querySelector("h2").focus();
  }

  /** Another tab of the same annotator that saves an item tells the others, which then show it as it is now. */
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
    if (await this.desk.autosave.flush()) form.submit();
    else this.desk.message(this.desk.t("submit_offline"), "warning");
  }

  async #fetch(position) {
    try {
      const response = await fetch(`${this.desk.campaign.base}/items/${position}`, { cache: "no-store" });
      if (response.ok) return await response.json();
      // Submitted, expired or withdrawn: the page at this address says which.
      location.replace(this.desk.campaign.base);
    } catch {
      this.desk.message(this.desk.t("load_offline"), "warning"); // fetch rejects when no answer came
    }
    return null;
  }

  async #reload(position) {
    if (position !== this.desk.position) return;
    const item = await this.#fetch(position);
    if (!item) return;
    this.desk.open(item);
    this.#show(item);
  }

  #show(item) {
    const number = this.#number(item.position);
    const { t, campaign, stopwatch } = this.desk;
    stopwatch.begin(item.seconds);
    byId("progress").textContent = t("progress", { number, total: this.order.length });
    byId("back").disabled = number === 1;
    this.#showTask(item.item);
    this.#showSecond(item.item.kind === "pair" ? item.item.outputs[1]?.text : undefined);
    const pane = byId("source-pane");
    const none = item.source === null || item.source === undefined;
    pane.hidden = none;
    document.body.classList.toggle("without-source", none);
    if (!none) byId("source").replaceChildren(renderSource(item.source));
    if (byId("find")?.value) this.search.search();
    this.form.render();
    this.#refreshStrip();
    document.title = `${number}/${this.order.length} · ${campaign.title}`;
  }

  /** What the item asks about, where that is not the whole text: an aspect, or one span to be judged. */
  #showTask({ aspect, judged }) {
    const { t } = this.desk;
    const task = byId("task");
    task.textContent = judged ? t("judge", { quote: judged.text, category: judged.category }) : (aspect?.name ?? "");
    task.title = judged?.reason ?? aspect?.description ?? "";
  }

  #showSecond(text) {
    const section = byId("second");
    section.hidden = text === undefined;
    byId("second-text").textContent = text ?? "";
  }

  #refreshStrip() {
    for (const button of document.querySelectorAll("#strip button[data-position]")) {
      const position = Number(button.dataset.position);
      const { status } = this.items.get(position);
      button.dataset.status = status;
      button.toggleAttribute("aria-current", false);
      if (position === this.desk.position && !this.#reviewing()) button.setAttribute("aria-current", "step");
      button.setAttribute("aria-label", this.desk.t("strip_item", { number: this.#number(position), state: this.#stateName(status) }));
    }
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
    button.addEventListener("click", () => this.go(position));
    row.append(button);
    return row;
  }

  #stateName(status) {
    return this.desk.t(`item_${status}`);
  }

  #missing() {
    const { campaign, store } = this.desk;
    return listMissing(campaign.questions, campaign, store.spans, store.answers);
  }

  #pointTo({ message, values, question, span, field }) {
    this.desk.message(this.desk.t(message, values), "warning");
    if (question !== undefined) this.form.focus(question);
    else this.desk.list.focusMissing(span, field);
  }

  #number(position) {
    return this.order.indexOf(position) + 1;
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
