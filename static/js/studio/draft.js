// The campaign draft: it saves itself, a colour is chosen or typed, and the words a check expects are taken from its text by selecting
// them there.

import { toCodePoints } from "../offsets.js";
import { SelfSaving } from "./self_saving.js";

const form = document.getElementById("step-form");
if (form) new SelfSaving(form, document.getElementById("unsaved"), () => !document.querySelector("#state [data-not-taken]"));

// Going back shows the page as it was left, which others, or a later step, may have changed since.
addEventListener("pageshow", (event) => event.persisted && location.reload());

for (const chooser of document.querySelectorAll("[data-color-of]")) {
  const text = document.getElementById(chooser.dataset.colorOf);
  chooser.addEventListener("input", () => {
    text.value = chooser.value;
    text.dispatchEvent(new Event("change", { bubbles: true }));
  });
  text.addEventListener("input", () => {
    if (/^#[0-9a-f]{6}$/i.test(text.value)) chooser.value = text.value;
  });
}

// A check's text follows what is typed; one that stays is not touched, so that what is selected in it stays selected.
document.body.addEventListener("htmx:afterSwap", () => {
  for (const text of document.querySelectorAll("[data-text-of^='checks.']")) {
    const found = document.querySelector(`[data-found-for="${text.dataset.textOf}"]`)?.textContent ?? "";
    if (text.textContent !== found) text.textContent = found;
  }
});

for (const button of document.querySelectorAll("[data-expect]")) {
  const text = document.querySelector(`[data-text-of="${button.dataset.expect}"]`);
  button.hidden = false;
  button.addEventListener("mousedown", (event) => event.preventDefault()); // the selection stays
  button.addEventListener("click", () => expectSelection(button.dataset.expect, text));
}

/** Write what is selected in a check's text into the fields of its expected span. */
function expectSelection(name, text) {
  const selection = getSelection();
  if (selection.isCollapsed || !text.contains(selection.anchorNode) || !text.contains(selection.focusNode)) return;
  const range = selection.getRangeAt(0);
  const before = document.createRange();
  before.setStart(text, 0);
  before.setEnd(range.startContainer, range.startOffset);
  const start = toCodePoints(text.textContent, before.toString().length);
  const quote = range.toString();
  const end = start + toCodePoints(quote, quote.length);
  const place = emptyPlace(name);
  if (!place) return;
  for (const [field, value] of Object.entries({ quote, start, end })) {
    document.getElementById(`f-${place}.${field}`).value = value;
  }
  document.getElementById(`f-${place}.quote`).dispatchEvent(new Event("change", { bubbles: true }));
}

/** The expected span that is filled in next: of a gold check the first without words, else the only one. */
function emptyPlace(name) {
  const quotes = [...document.querySelectorAll(`[id^="f-${name}."][id$=".quote"]`)];
  const chosen = quotes.find((field) => !field.value) ?? quotes.at(-1);
  return chosen?.id.slice("f-".length, -".quote".length);
}
