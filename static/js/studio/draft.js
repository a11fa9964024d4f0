// Page of a campaign draft: it saves itself, shows mistakes at the fields, keeps the focus, and copies the expected words of a check from
// its text.

import { markExpected, showExpected } from "./check_text.js";
import { goToFirstMistake, sayIfNew, showFilled, showMistakes } from "./mistakes.js";
import { SelfSaving } from "./self_saving.js";
import { surviveSignOut } from "./signed_out.js";

const PANEL = "#state";
const panel = () => document.querySelector(PANEL);
const form = document.getElementById("step-form");
const said = document.getElementById("said");
const texts = [...document.querySelectorAll("[data-text-of^='checks.']")];
const say = (message) => (said.textContent = message);

if (form) begin();

// The back button restores the page from memory, but others, or a later step, may have changed the draft since.
addEventListener("pageshow", (event) => event.persisted && location.reload());
goToPlace();

function begin() {
  const saving = new SelfSaving(form, document.getElementById("unsaved"), {
    wasTaken: () => !panel().matches("[data-not-taken]"),
    onRefused: () => goToFirstMistake(panel(), form) || panel().querySelector("[role=alert] :is(a, button)")?.focus(),
  });
  said.dataset.last = panel().dataset.said;
  surviveSignOut(form, panel);
  document.body.addEventListener("htmx:beforeSwap", keepPanel);
  document.body.addEventListener("htmx:afterSwap", refresh);
  document.addEventListener("click", (event) => clicked(event, saving), true); // before the form asks whether it may be left
  form.addEventListener("keydown", (event) => saveOnEnter(event, saving));
  for (const chooser of document.querySelectorAll("[data-color-of]")) chooseOrType(chooser);
  for (const text of texts) markExpected(text, say);
  showExpected(texts);
}

/** Moves the focus to the element in the address, after a row was added, moved or removed, or after a save. */
function goToPlace() {
  const place = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (place && place !== document.activeElement) place.focus();
}

/** Enter in a line of text saves, and stays there. */
function saveOnEnter(event, saving) {
  if (event.key !== "Enter" || event.isComposing || !event.target.matches("input")) return;
  event.preventDefault();
  saving.settle();
}

let left = null;

/** Keeps the panel element when it shows an error, and remembers the focus in it. */
function keepPanel(event) {
  const { target, xhr } = event.detail;
  if (!target.matches(PANEL)) return;
  if (xhr.status >= 400 && xhr.status !== 409) event.detail.swapOverride = "innerHTML";
  left = target.contains(document.activeElement) ? document.activeElement : null;
}

function refresh() {
  const now = panel();
  showMistakes(now, form);
  showFilled(now, form);
  sayIfNew(now, said);
  markText(now);
  refreshTexts(now);
  if (left && !left.isConnected) (sameAs(left, now) ?? now.closest("aside")).focus();
  left = null;
}

function sameAs(old, now) {
  return [...now.querySelectorAll(":is(a, button)")].find((one) => one.textContent === old.textContent && one.href === old.href);
}

/** Shows the first mistake at the only field of the definition as text. */
function markText(now) {
  const place = document.getElementById("b-yaml");
  if (!place) return;
  const isWrong = Boolean(now.querySelector(".problems"));
  place.textContent = isWrong ? now.dataset.said : "";
  form.elements.text.toggleAttribute("aria-invalid", isWrong);
  if (isWrong) form.elements.text.setAttribute("aria-invalid", "true");
}

/** Updates the texts of checks. Unchanged texts are not touched, so that the selection in them stays. */
function refreshTexts(now) {
  for (const text of texts) {
    const found = now.querySelector(`[data-found-for="${text.dataset.textOf}"]`)?.textContent ?? "";
    if (text.textContent !== found) text.textContent = found;
  }
  showExpected(texts);
}

function clicked(event, saving) {
  const line = event.target.closest("[data-line]");
  if (line) return goToLine(event, form.elements.text, Number(line.dataset.line));
  if (event.target.closest("[data-drops]")) return saving.forget();
  const over = event.target.closest("[name=over]");
  if (!over) return;
  event.preventDefault();
  form.elements.revision.value = over.value;
  form.dispatchEvent(new Event("change"));
  said.dataset.last = "";
  form.querySelector("#save").focus();
}

function goToLine(event, text, line) {
  event.preventDefault();
  const lines = text.value.split("\n");
  const start = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
  text.focus();
  text.setSelectionRange(start, start + (lines[line - 1] ?? "").length);
  text.scrollTop = (text.scrollHeight / lines.length) * Math.max(0, line - 5);
}

function chooseOrType(chooser) {
  const text = document.getElementById(chooser.dataset.colorOf);
  chooser.addEventListener("input", () => {
    text.value = chooser.value;
    text.dispatchEvent(new Event("change", { bubbles: true }));
  });
  text.addEventListener("input", () => {
    if (/^#[0-9a-f]{6}$/i.test(text.value)) chooser.value = text.value;
  });
}
