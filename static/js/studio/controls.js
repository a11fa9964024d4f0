// Changes of form controls that were made before the scripts were loaded.

/** Whether a control differs from its state in the HTML. */
export function isChanged(control) {
  if (!control.matches("[name]:is(input:not([type=hidden]), select, textarea)")) return false;
  if (control.type === "checkbox" || control.type === "radio") return control.checked !== control.defaultChecked;
  // Without a default option, browsers choose the first.
  if (control.options) return control.selectedIndex !== Math.max(0, [...control.options].findIndex((option) => option.defaultSelected));
  // Browsers show a default that is no number as an empty field.
  if (control.type === "number" && !control.value) return control.defaultValue.trim() !== "" && !Number.isNaN(Number(control.defaultValue));
  return control.value !== control.defaultValue;
}
