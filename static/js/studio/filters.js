// Forms with data-auto-submit are sent as soon as a choice changes; their button is for those without JavaScript.
// In a list of checkboxes several are chosen before it closes, so it is sent then.

export function submitOnChange(root) {
  for (const form of root.querySelectorAll("form[data-auto-submit]")) {
    for (const button of form.querySelectorAll("[data-without-script]")) button.hidden = true;
    form.addEventListener("change", (event) => {
      const list = event.target.closest("details");
      if (!list) form.requestSubmit();
      else list.addEventListener("toggle", () => form.requestSubmit(), { once: true });
    });
  }
}
