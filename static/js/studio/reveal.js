// Buttons with data-reveals show the password in the field they name, until they are pressed again or the form is sent.

export function revealOnClick(root) {
  for (const button of root.querySelectorAll("[data-reveals]")) {
    const field = document.getElementById(button.dataset.reveals);
    const show = (shown) => {
      field.type = shown ? "text" : "password";
      button.setAttribute("aria-pressed", shown);
    };
    button.addEventListener("click", () => show(field.type === "password"));
    field.form.addEventListener("submit", () => show(false)); // so that no browser keeps it as a text it may suggest
    button.hidden = false;
  }
}
