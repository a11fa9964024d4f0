// Forms with data-auto-submit are sent as soon as a choice changes; buttons with data-without-script are for browsers without scripts.
// In a list of checkboxes several are chosen before it closes, so it is sent then.

import { isChanged } from "./controls.js";

export function submitOnChange(root) {
  // Choices that were made before this script was loaded are sent now. After "back" the browser restores the choices: they stay.
  const isNew = performance.getEntriesByType("navigation")[0]?.type === "navigate";
  for (const button of root.querySelectorAll("[data-without-script]")) button.hidden = true;
  for (const form of root.querySelectorAll("form[data-auto-submit]")) {
    form.addEventListener("change", (event) => sendAfter(event.target));
    const early = isNew && [...form.elements].find(isChanged);
    if (early) sendAfter(early);
  }
}

function sendAfter(control) {
  const list = control.closest("details[open]");
  if (list) list.addEventListener("toggle", () => control.form.requestSubmit(), { once: true });
  else control.form.requestSubmit();
}
