// Scripts of a rendered source: frames get their height and style, and charts are put into their places.

/**
 * @param {HTMLElement} pane
 * @param {(number: string) => string} chartAddress  of its chart with this number
 * @param {() => void} [readable]  called for each frame whose content can now be read
 */
export async function enliven(pane, chartAddress, readable = () => {}) {
  if (pane.querySelector("iframe.isolated")) {
    const { fitFrames } = await import("./isolated.js");
    fitFrames(pane, readable);
  }
  if (pane.querySelector("svg[data-chart]")) {
    const { loadCharts } = await import("./charts.js");
    await loadCharts(pane, chartAddress);
  }
}
