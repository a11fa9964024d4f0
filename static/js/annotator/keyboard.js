// Shortcuts of the page. They are inactive in text fields and during input with an input method.

const TEXT_FIELDS = "input[type=text], input:not([type]), input[type=search], textarea, select, [contenteditable]";

/** @param {object} desk the item on the page, see main.js */
export function bindShortcuts(desk) {
  document.addEventListener("keydown", (event) => {
    if (event.isComposing || event.defaultPrevented) return;
    if (act(event, desk)) event.preventDefault();
  });
}

function act(event, desk) {
  const command = event.ctrlKey || event.metaKey;
  if (event.key === "Escape") return done(() => desk.escape());
  if (command && event.key === "Enter") return done(() => desk.flow.then((flow) => flow.next()));
  if (event.target.matches?.(TEXT_FIELDS)) return false;
  if (event.altKey) return isArrow(event.key) && desk.marks.resize(event);
  if (command) return actOnCommand(event, desk);
  if (event.key === "Delete" || event.key === "Backspace") return done(() => desk.marks.remove());
  if (event.key.length !== 1 || event.key === " ") return false;
  if (desk.suggestions?.key(event.key)) return true;
  const category = desk.bar.byHotkey(event.key);
  if (category) return done(() => desk.choose(category.key));
  const action = LETTERS[event.key];
  return Boolean(action) && done(() => action(desk));
}

/** Actions by letter; the hotkeys of categories have priority. */
const LETTERS = {
  "?": (desk) => desk.panels.toggle("keys"),
  "/": (desk) => desk.flow.then((flow) => flow.source.find()),
  0: (desk) => desk.marks.missing(),
  f: (desk) => desk.bar.focusFilter(),
  i: (desk) => desk.panels.toggle("instructions"),
  n: (desk) => desk.marks.step(1),
  p: (desk) => desk.marks.step(-1),
};

function actOnCommand(event, desk) {
  const key = event.key.toLowerCase();
  if (key === "z") return done(() => (event.shiftKey ? desk.store.redo() : desk.store.undo()));
  if (key === "y") return done(() => desk.store.redo());
  return false;
}

const isArrow = (key) => key === "ArrowLeft" || key === "ArrowRight";

function done(action) {
  action();
  return true;
}
