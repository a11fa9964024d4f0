// Time spent on an item: only while the page is in sight and somebody is doing something with it.

/** After so long without a sign of life the person is taken to be elsewhere. */
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

  /** Begins an item on which so many seconds were spent before. */
  begin(seconds) {
    this.#spent = seconds * 1000;
    this.#last = performance.now();
  }

  /** Seconds spent so far, to a tenth. */
  get seconds() {
    if (!document.hidden) this.#count();
    return Math.round(this.#spent / 100) / 10;
  }

  /** When the person last did something, by the page's clock. */
  get lastSign() {
    return this.#last;
  }

  #count() {
    const now = performance.now();
    this.#spent += Math.min(now - this.#last, IDLE_MS);
    this.#last = now;
  }
}
