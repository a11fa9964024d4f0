// Mistakes of a step at its fields, and for users who cannot see the panel beside them. Each save returns a new panel.

const IN_FIELD = ":is(input, select, textarea)";

/** Show the panel's messages at their fields. */
export function showMistakes(panel, form) {
  const said = new Map();
  for (const line of panel.querySelectorAll("[data-at]")) {
    said.set(line.dataset.at, [...(said.get(line.dataset.at) ?? []), line.dataset.says]);
  }
  for (const old of form.querySelectorAll(".problem[id^='b-']:not(#b-yaml)")) {
    if (!said.has(`f-${old.id.slice(2)}`)) old.remove();
  }
  for (const field of form.querySelectorAll("[aria-invalid]")) {
    if (!said.has(field.id)) field.removeAttribute("aria-invalid");
  }
  for (const [id, messages] of said) showAt(document.getElementById(id), messages.join("; "));
}

function showAt(field, message) {
  if (!field) return;
  const id = `b-${field.id.slice(2)}`;
  const place = document.getElementById(id) ?? Object.assign(document.createElement("span"), { id, className: "small problem" });
  if (place.textContent !== message) place.textContent = message;
  if (field.matches(IN_FIELD)) {
    field.setAttribute("aria-invalid", "true");
    if (!place.isConnected) field.closest(".field").append(place);
  } else if (!place.isConnected) {
    (field.querySelector(":scope > :is(legend, h2, .list-title)") ?? field.firstElementChild).after(place);
  }
}

/** Announce the state of the step, if it changed. */
export function sayIfNew(panel, place) {
  const { said } = panel.dataset;
  if (said && said !== place.dataset.last) place.textContent = said;
  if (said) place.dataset.last = said;
}

/** Put the focus on the first field with a mistake; false if there is none. */
export function goToFirstMistake(panel, form) {
  const named = new Set([...panel.querySelectorAll("[data-at]")].map((line) => line.dataset.at));
  const first = [...form.querySelectorAll("[id^='f-']")].find((field) => named.has(field.id));
  first?.focus();
  return Boolean(first);
}

/** Show the values that a protocol fills in: as placeholders of empty fields, and as ticked and disabled boxes. */
export function showFilled(panel, form) {
  const filled = new Map([...panel.querySelectorAll("[data-fills]")].map((part) => [part.dataset.fills, part.textContent]));
  for (const note of form.querySelectorAll("[data-filled-at]")) {
    const value = filled.get(note.dataset.filledAt);
    const field = document.getElementById(`f-${note.dataset.filledAt}`);
    note.hidden = value === undefined;
    note.querySelector("span").textContent = value ?? "";
    if (field?.matches("[type=checkbox]")) fillBox(field, value);
    else if (field?.matches(IN_FIELD)) fillField(field, value);
  }
}

function fillBox(box, value) {
  if (value !== undefined) Object.assign(box, { checked: true, disabled: true });
  else if (box.disabled) Object.assign(box, { checked: false, disabled: false });
}

function fillField(field, value) {
  const { default: usual } = field.dataset;
  if (value !== undefined && field.value === usual) field.value = "";
  if (value === undefined && field.value === "" && usual) field.value = usual;
  if (field.tagName !== "SELECT") field.placeholder = value ?? (field.classList.contains("code") ? "JSON" : "");
}
