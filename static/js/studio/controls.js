// What somebody did with a form's control before any script was there to hear of it.

/** Whether a control holds something else than the page came with. */
export function isChanged(control) {
  if (!control.matches("[name]:is(input:not([type=hidden]), select, textarea)")) return false;
  if (control.type === "checkbox" || control.type === "radio") return control.checked !== control.defaultChecked;
  if (control.options) return control.selectedIndex !== Math.max(0, [...control.options].findIndex((option) => option.defaultSelected));
  if (control.type === "number" && !control.value) return control.defaultValue.trim() !== "" && !Number.isNaN(Number(control.defaultValue));
  return control.value !== control.defaultValue;
}
