// Panels (instructions, keys) stand beside the work and cover nothing of it for good.

const byId = (id) => document.getElementById(id);

export class Panels {
  /** What had the focus before the panel opened. */
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

  /** Closes the panel that is open; tells whether there was one. */
  close() {
    const open = document.querySelector(".panel:not([hidden])");
    if (!open) return false;
    open.hidden = true;
    const opener = document.querySelector(`[aria-controls="${open.id}"]`);
    opener.setAttribute("aria-expanded", "false");
    // Back to where the person was, the caret in the text for instance; what is gone or was never there gives way to the button.
    const back = this.#from?.isConnected && this.#from !== document.body && !open.contains(this.#from) ? this.#from : opener;
    back.focus({ preventScroll: true });
    return true;
  }
}
