// Panels (instructions, keys) beside the work.

const byId = (id) => document.getElementById(id);

export class Panels {
  /** The element that had the focus before the panel opened. */
  #from = null;

  constructor() {
    for (const opener of document.querySelectorAll("[aria-controls][data-panel]")) {
      opener.addEventListener("click", () => this.toggle(opener.getAttribute("aria-controls")));
    }
    for (const button of document.querySelectorAll(".panel .close")) button.addEventListener("click", () => this.close());
  }

  toggle(id) {
    const panel = byId(id);
    const opening = panel.hidden;
    const from = document.querySelector(".panel:not([hidden])") ? this.#from : document.activeElement;
    this.close();
    if (!opening) return;
    this.#from = from;
    panel.hidden = false;
    document.querySelector(`[aria-controls="${id}"]`).setAttribute("aria-expanded", "true");
    panel.querySelector("h2").focus();
  }

  /** Closes the open panel; returns whether there was one. */
  close() {
    const open = document.querySelector(".panel:not([hidden])");
    if (!open) return false;
    open.hidden = true;
    const opener = document.querySelector(`[aria-controls="${open.id}"]`);
    opener.setAttribute("aria-expanded", "false");
    // The focus returns to its former element, such as the text; if that is gone, to the button of the panel.
    const back = this.#from?.isConnected && this.#from !== document.body && !open.contains(this.#from) ? this.#from : opener;
    back.focus({ preventScroll: true });
    return true;
  }
}
