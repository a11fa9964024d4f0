// Small panels that open over the page (explanations, lists of choices) close on Escape and on a click elsewhere.

const POPUPS = "details.explain[open], details.choices[open]";

export function closePopups(root) {
  root.addEventListener("click", (event) => {
    for (const popup of root.querySelectorAll(POPUPS)) {
      if (!popup.contains(event.target)) popup.open = false;
    }
  });
  root.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    for (const popup of root.querySelectorAll(POPUPS)) {
      const hadFocus = popup.contains(document.activeElement);
      popup.open = false;
      if (hadFocus) popup.querySelector("summary").focus();
    }
  });
}
