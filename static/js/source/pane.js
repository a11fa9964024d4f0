// A source on a page: the find box, and the scripts of the rendered source.

import { SourceSearch } from "./find.js";
import { enliven } from "./rendered.js";

export class SourceReader {
  /**
   * @param {HTMLElement} pane  holds the rendered source
   * @param {HTMLElement} bar   the find box
   * @param {() => void} leave  called when the find box is left by Escape
   */
  constructor(pane, bar, leave) {
    this.pane = pane;
    this.search = new SourceSearch(pane, bar, leave);
  }

  /**
   * Starts the scripts of the source that the pane now shows.
   *
   * @param {(number: string) => string} chartAddress  of its chart with this number
   */
  async begin(chartAddress) {
    this.search.refresh();
    await enliven(this.pane, chartAddress, () => this.search.refresh());
  }
}
