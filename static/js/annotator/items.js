// The items of a batch as the page lists them: one that nobody has touched is written as its position alone.

/** @returns {{position: number, status: string, revision: number}[]} the items' states, in order */
export const statesOf = (items) => items.map((item) => (typeof item === "number" ? { position: item, status: "new", revision: 0 } : { ...item }));
