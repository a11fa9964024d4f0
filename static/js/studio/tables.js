// The server sorts and searches tables by the address. Here "/" moves the focus to the search field of the first table, a search that was
// typed while its table was being replaced is asked again, and other forms of the page keep the parameters of tables in the address.

const OF_A_TABLE = /(^|\.)(sort|find)$/;

export function helpWithTables(body) {
  body.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
    const field = body.querySelector(".table-tools:not(.short) input[aria-keyshortcuts]");
    if (!field) return;
    field.focus();
    event.preventDefault();
  });
  // The replaced form takes its listeners and its waiting request with it, and only its field stays.
  body.addEventListener("htmx:afterSettle", () => {
    for (const form of body.querySelectorAll("form.table-tools")) {
      const typed = form.querySelector("input[type=search]").value;
      if (typed !== form.dataset.found) form.dispatchEvent(new Event("input"));
    }
  });
  body.addEventListener("formdata", ({ target, formData }) => {
    if (target.method !== "get" || target.matches(".table-tools") || new URL(target.action).pathname !== location.pathname) return;
    for (const [name, value] of new URLSearchParams(location.search)) {
      if (OF_A_TABLE.test(name) && !formData.has(name)) formData.set(name, value);
    }
  });
}
