// Forms with data-auto-submit are sent as soon as a choice changes; their button is for those without JavaScript.

export function submitOnChange(root) {
  for (const form of root.querySelectorAll("form[data-auto-submit]")) {
    for (const button of form.querySelectorAll("[data-without-script]")) button.hidden = true;
    form.addEventListener("change", () => form.requestSubmit());
  }
}
