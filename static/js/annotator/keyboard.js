// Shortcuts of the page. They rest while a field that takes text, or an input method, is active.

const TEXT_FIELDS = "input[type=text], input:not([type]), input[type=search], textarea, select, [contenteditable]";

/**
 * @typedef {object} Actions  what the keys do; each returns nothing
 * @property {() => void} undo
 * @property {() => void} redo
 * @property {() => void} next
 * @property {() => void} remove     the selected span
 * @property {() => void} escape
 * @property {() => void} help
 * @property {() => void} instructions
 * @property {() => void} find
 * @property {(step: 1|-1) => void} step  to another span
 * @property {(character: string) => boolean} character  whether the character is a category's key and was used
 */

/** @param {Actions} actions */
export function bindShortcuts(actions) {
  document.addEventListener("keydown", (event) => {
    if (event.isComposing || event.defaultPrevented) return;
    if (act(event, actions)) event.preventDefault();
  });
}

function act(event, actions) {
  const command = event.ctrlKey || event.metaKey;
  if (event.key === "Escape") return done(actions.escape);
  if (command && event.key === "Enter") return done(actions.next);
  if (event.target.matches?.(TEXT_FIELDS)) return false;
  if (command) return actOnCommand(event, actions);
  if (event.altKey) return false;
  switch (event.key) {
    case "Delete":
    case "Backspace":
      return done(actions.remove);
    case "?":
      return done(actions.help);
    case "n":
    case "p":
      if (actions.character(event.key)) return true;
      return done(() => actions.step(event.key === "n" ? 1 : -1));
    case "i":
    case "/":
      if (actions.character(event.key)) return true;
      return done(event.key === "i" ? actions.instructions : actions.find);
    default:
      return event.key.length === 1 && event.key !== " " && actions.character(event.key);
  }
}

function actOnCommand(event, actions) {
  const key = event.key.toLowerCase();
  if (key === "z") return done(event.shiftKey ? actions.redo : actions.undo);
  if (key === "y") return done(actions.redo);
  return false;
}

function done(action) {
  action();
  return true;
}
