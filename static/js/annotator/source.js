// The source beside the text, as the server rendered it, and the buttons that switch between the two on a phone.

import { SourceReader } from "../source/pane.js";

const byId = (id) => document.getElementById(id);

export class SourcePane {
  #read = false;
  #scrolled = { text: 0, source: 0 };

  /** @param {object} desk the item on the page, see main.js */
  constructor(desk) {
    this.desk = desk;
    this.body = byId("source-body");
    this.reader = new SourceReader(this.body, document.querySelector(".find-box"), () => this.body.focus());
    this.buttons = [...document.querySelectorAll("#sides [data-side]")];
    for (const button of this.buttons) button.addEventListener("click", () => this.turn(button.dataset.side));
    desk.store.addEventListener("change", () => this.#count());
  }

  /**
   * @param {object} item       as the server gave it
   * @param {boolean} isInPage  whether its source stands in the page already
   */
  show(item, isInPage) {
    const none = isInPage ? document.body.classList.contains("without-source") : typeof item.source_html !== "string";
    byId("source-pane").hidden = none;
    document.body.classList.toggle("without-source", none);
    // The server made it, with everything in it escaped or cleaned; see spanplat/rendering.
    if (!isInPage) byId("source").innerHTML = item.source_html ?? "";
    this.body.scrollTop = 0;
    this.#read = false;
    this.#scrolled = { text: 0, source: 0 };
    this.turn("text");
    this.reader.begin((number) => `${this.desk.campaign.base}/items/${item.position}/charts/${number}`);
  }

  /** On a phone one side is seen at a time; elsewhere this changes nothing that can be seen. */
  turn(side) {
    const { body } = document;
    const before = body.dataset.side ?? "text";
    this.#scrolled[before] = scrollY;
    body.dataset.side = side;
    for (const button of this.buttons) button.setAttribute("aria-pressed", String(button.dataset.side === side));
    if (side === "source") this.#read = true;
    if (before !== side) scrollTo(0, this.#scrolled[side]);
    this.#count();
  }

  find() {
    if (byId("source-pane").hidden) return;
    this.turn("source");
    this.reader.search.box.focus();
  }

  /** The badge: how many marks the source has, or that nobody has looked at it yet. */
  #count() {
    const marks = this.desk.store.spans.filter((span) => span.on === "source").length;
    const badge = byId("source-badge");
    const { t } = this.desk;
    badge.hidden = !marks && this.#read;
    badge.textContent = marks ? String(marks) : "•";
    badge.setAttribute("role", "img");
    badge.setAttribute("aria-label", marks ? t("source_marks", { count: marks }) : t("source_unread"));
  }
}
