// Worked examples in the instructions, drawn by the same modules as on the annotator's page.

import { OffsetIndex } from "../offsets.js";
import { enliven } from "../source/rendered.js";
import { TextView } from "./painting.js";

const list = document.querySelector(".worked-categories");
const categories = new Map(JSON.parse(list.textContent).map((category, position) => [category.key, { ...category, position }]));

for (const element of document.querySelectorAll("[data-worked]")) {
  const text = element.textContent;
  const index = new OffsetIndex(text);
  const spans = JSON.parse(element.dataset.worked).map(({ start, end, category }, id) => {
    return { id, category, start: index.toUtf16(start), end: index.toUtf16(end) };
  });
  new TextView(element, categories).paint(text, spans, null, null);
}

for (const source of document.querySelectorAll(".worked-source")) enliven(source, (number) => `${source.dataset.charts}/${number}`);
