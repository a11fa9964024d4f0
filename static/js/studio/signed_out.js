// Keeps the page and its input when the session ends: the user signs in on another page, returns and continues.

/**
 * @param {HTMLFormElement} form
 * @param {() => HTMLElement} panel
 */
export function surviveSignOut(form, panel) {
  let isOut = false;
  document.body.addEventListener("htmx:beforeOnLoad", (event) => {
    const { elt, xhr } = event.detail;
    // 400 is the answer to a CSRF token of a session that has ended.
    if (elt !== form || ![400, 401].includes(xhr.status)) return;
    event.preventDefault(); // the page is not left for the sign-in
    isOut = true;
    panel().replaceChildren(document.getElementById("signed-out").content.cloneNode(true));
  });
  // The new session has another CSRF token, so the token is fetched again when the user returns.
  addEventListener("focus", () => isOut && goOn());
  document.addEventListener("click", (event) => event.target.closest("[data-go-on]") && goOn());

  async function goOn() {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const token = page.querySelector("#step-form [name=csrf_token]")?.value;
    if (!token) return;
    isOut = false;
    for (const field of document.querySelectorAll("[name=csrf_token]")) field.value = token;
    form.dispatchEvent(new Event("change"));
  }
}
