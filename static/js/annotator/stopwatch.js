// Time spent on an item, counted only while the page is visible and the annotator is active.

/** After this time without input the annotator counts as absent. */
const IDLE_MS = 30000;
const SIGNS_OF_LIFE = ["pointerdown", "pointermove", "keydown", "scroll", "wheel", "touchmove"];

export class Stopwatch {
  #spent = 0;
  #last = performance.now();

  constructor() {
    for (const sign of SIGNS_OF_LIFE) document.addEventListener(sign, () => this.#count(), { capture: true, passive: true });
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) this.#count();
      else this.#last = performance.now();
    });
  }

  /** Starts an item with the seconds that were spent on it before. */
  begin(seconds) {
    this.#spent = seconds * 1000;
    this.#last = performance.now();
  }

  /** Seconds spent so far, to a tenth. */
  get seconds() {
    if (!document.hidden) this.#count();
    return Math.round(this.#spent / 100) / 10;
  }

  /** Time of the last input, by the page's clock. */
  get lastSign() {
    return this.#last;
  }

  #count() {
    const now = performance.now();
    this.#spent += Math.min(now - this.#last, IDLE_MS);
    this.#last = now;
  }
}
