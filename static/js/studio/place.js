// Rows of links that slide sideways on narrow screens begin with the present page in view.

export function showWhereOneIs(root) {
  for (const link of root.querySelectorAll("nav [aria-current]")) {
    const row = link.closest("nav");
    row.scrollLeft = link.offsetLeft - row.offsetLeft - (row.clientWidth - link.offsetWidth) / 2;
  }
}
