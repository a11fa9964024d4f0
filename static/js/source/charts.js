// Charts of a source. The server draws them; they are inline SVG, so that points have tooltips and the page sets the colours.

/**
 * @param {HTMLElement} pane
 * @param {(number: string) => string} address  of the chart with this number
 */
export async function loadCharts(pane, address) {
  for (const place of pane.querySelectorAll("svg[data-chart]")) {
    try {
      const response = await fetch(address(place.dataset.chart));
      if (!response.ok) throw new TypeError(response.statusText);
      // A parser of XML throws nothing: the document of a mistake has another root.
      const chart = new DOMParser().parseFromString(await response.text(), "image/svg+xml").documentElement;
      if (chart.nodeName !== "svg") throw new TypeError("not an image");
      // Without a fixed size the chart fits its column, and its viewBox keeps the proportions.
      for (const name of ["width", "height"]) chart.removeAttribute(name);
      for (const name of ["role", "aria-label"]) chart.setAttribute(name, place.getAttribute(name));
      place.replaceWith(document.adoptNode(chart));
    } catch {
      place.parentElement?.remove(); // the table beside it says the same
    }
  }
}
