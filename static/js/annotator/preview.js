// A researcher's preview. The server checks saves but stores nothing, so the work stays in this tab.
// It runs before main.js and replaces `fetch`, so that main.js needs no special case.

import { statesOf } from "./items.js";

const source = document.getElementById("campaign");
if (source) keepWork(JSON.parse(source.textContent));

function keepWork(campaign) {
  const { version } = document.querySelector("aside.preview").dataset;
  const prefix = `spanplat:preview:${campaign.base}:${version}:`;
  const send = globalThis.fetch.bind(globalThis);

  const kept = (position) => JSON.parse(sessionStorage.getItem(prefix + position) ?? "{}");
  const keep = (position, work) => sessionStorage.setItem(prefix + position, JSON.stringify(work));

  const items = statesOf(campaign.items).map((item) => {
    const { status, revision } = kept(item.position);
    return revision ? { ...item, status, revision } : item;
  });
  const current = { ...campaign.current, ...kept(campaign.current.position) };
  source.textContent = JSON.stringify({ ...campaign, items, current });
  if (items.some((item) => item.revision)) {
    document.body.classList.remove("reading");
    document.getElementById("opening")?.remove();
  }

  globalThis.fetch = async (address, options = {}) => {
    // A preview holds no seat, so its server has no such route.
    if (String(address) === `${campaign.base}/presence`) return new Response(null, { status: 204 });
    const response = await send(address, options);
    const position = String(address).split(`${campaign.base}/items/`)[1];
    if (!/^\d+$/.test(position) || !response.ok) return response;
    if (options.method === "PUT") {
      const work = JSON.parse(options.body);
      keep(position, { ...work, revision: work.revision + 1 });
      return response;
    }
    return Response.json({ ...(await response.json()), ...kept(position) });
  };

  document.getElementById("preview-forget").addEventListener("click", () => {
    for (const { position } of items) sessionStorage.removeItem(prefix + position);
    location.reload();
  });
}
