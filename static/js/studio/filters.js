// Forms with data-auto-submit are sent as soon as a choice changes; buttons with data-without-script are for those without.
// In a list of checkboxes several are chosen before it closes, so it is sent then.

import { isChanged } from "./controls.js";

export function submitOnChange(root) {
  // What was chosen before this file came is sent now. A page gone back to has its choices from the browser: they stay as they are.
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
