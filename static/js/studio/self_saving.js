// A form that saves itself during typing and protects unsaved input: input from before the scripts were loaded is sent, leaving by a
// link or a button waits for the answer, and closing the tab asks first.

import { isChanged } from "./controls.js";

export class SelfSaving {
  #changes = 0;
  #sent = 0;
  #stored = 0;
  #refused = null;
  #inFlight = false;
  #leave = null;
  #waiting = [];

  /**
   * @param {HTMLFormElement} form one that htmx sends when it changes
   * @param {HTMLElement} notice shown while something is not stored
   * @param {object} further
   * @param {() => boolean} further.wasTaken whether the server accepted everything, by the answer that was just shown
   * @param {() => void} [further.onRefused] called when the user wanted to leave and stays, because something was not accepted
   */
  constructor(form, notice, { wasTaken, onRefused = () => {} }) {
    Object.assign(this, { form, notice, wasTaken, onRefused });
    // An event of the form itself is no change: it only makes htmx send (see `settle`).
    for (const kind of ["input", "change"]) form.addEventListener(kind, (event) => event.target !== form && this.#changed());
    form.addEventListener("htmx:beforeRequest", () => this.#sending());
    form.addEventListener("htmx:afterRequest", (event) => this.#answered(event.detail.successful));
    document.addEventListener("click", (event) => this.#clicked(event));
    document.addEventListener("submit", (event) => this.#submitted(event));
    addEventListener("beforeunload", (event) => this.isSettled || event.preventDefault());
    // htmx listens from this event on, and was loaded before.
    document.addEventListener("DOMContentLoaded", () => [...form.elements].some(isChanged) && this.#sendEarly());
  }

  get isSettled() {
    return this.#stored === this.#changes && !this.#inFlight;
  }

  /** Give up unsaved changes, because the user leaves on purpose. */
  forget() {
    this.#stored = this.#changes;
    this.#inFlight = false;
  }

  /** Wait until everything is stored; false if something could not be. */
  async settle() {
    while (!this.isSettled) {
      if (!this.#inFlight) this.form.dispatchEvent(new Event("change"));
      // htmx has begun to send during that event, or it cannot send now.
      if (!this.#inFlight || !(await new Promise((resolve) => this.#waiting.push(resolve)))) return false;
    }
    return true;
  }

  #sendEarly() {
    this.#changed();
    this.settle();
  }

  #changed() {
    this.#changes += 1;
    this.notice.hidden = false;
  }

  #sending() {
    this.#inFlight = true;
    this.#sent = this.#changes;
  }

  #answered(isStored) {
    this.#inFlight = false;
    if (isStored) this.#stored = this.#sent;
    this.notice.hidden = this.isSettled;
    for (const resolve of this.#waiting.splice(0)) resolve(isStored && this.wasTaken());
  }

  #clicked(event) {
    const link = event.target.closest("a[href]");
    if (!link || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || link.target) return;
    if (link.hash && link.href.split("#")[0] === location.href.split("#")[0]) return; // stays on the page
    this.#leaveBy(event, () => location.assign(link.href));
  }

  #submitted(event) {
    const { target, submitter } = event;
    this.#leaveBy(event, () => target.requestSubmit(submitter));
  }

  /**
   * Leave as soon as everything is stored. If several links are clicked meanwhile, the last one counts.
   * After a failed save, a second attempt leaves anyway, and the browser asks for confirmation.
   */
  async #leaveBy(event, leave) {
    if (this.isSettled || this.#refused === this.#changes) return;
    event.preventDefault();
    const isWaiting = this.#leave !== null;
    this.#leave = leave;
    if (isWaiting) return;
    const isStored = await this.settle();
    const chosen = this.#leave;
    this.#leave = null;
    this.#refused = isStored ? null : this.#changes;
    if (isStored) chosen();
    else this.onRefused();
  }
}
