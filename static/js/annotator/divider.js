// The divider between source and text: moved with the pointer or the arrow keys, and remembered.

const STORED_AS = "spanplat:divider";
const LEAST = 20;
const MOST = 75;
const STEP = 5;

/** Makes the separator movable; its value is the source's share of the width, in percent. */
export class Divider {
  /**
   * @param {HTMLElement} separator  with role="separator", between the panes
   * @param {HTMLElement} panes      whose `--source-share` it sets
   * @param {Storage|null} storage
   */
  constructor(separator, panes, storage) {
    Object.assign(this, { separator, panes, storage });
    separator.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      separator.setPointerCapture(event.pointerId);
    });
    separator.addEventListener("pointermove", (event) => {
      if (separator.hasPointerCapture(event.pointerId)) this.#follow(event.clientX);
    });
    separator.addEventListener("lostpointercapture", () => this.#remember());
    separator.addEventListener("keydown", (event) => this.#key(event));
    this.#restore();
  }

  get #share() {
    return Number(this.separator.getAttribute("aria-valuenow"));
  }

  set #share(percent) {
    const share = Math.round(Math.max(LEAST, Math.min(MOST, percent)));
    this.separator.setAttribute("aria-valuenow", String(share));
    this.panes.style.setProperty("--source-share", `${share}%`);
  }

  #follow(x) {
    const { left, right, width } = this.panes.getBoundingClientRect();
    const fromStart = getComputedStyle(this.panes).direction === "rtl" ? right - x : x - left;
    this.#share = (100 * fromStart) / width;
  }

  #key(event) {
    const towardsEnd = getComputedStyle(this.panes).direction === "rtl" ? "ArrowLeft" : "ArrowRight";
    const moved = {
      ArrowLeft: this.#share + (towardsEnd === "ArrowLeft" ? STEP : -STEP),
      ArrowRight: this.#share + (towardsEnd === "ArrowRight" ? STEP : -STEP),
      Home: LEAST,
      End: MOST,
    }[event.key];
    if (moved === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    this.#share = moved;
    this.#remember();
  }

  #remember() {
    try {
      this.storage?.setItem(STORED_AS, String(this.#share));
    } catch {
      // storage is blocked or full: the divider stays where it is until the page is left
    }
  }

  #restore() {
    const share = Number(this.storage?.getItem(STORED_AS));
    if (share) this.#share = share;
  }
}
