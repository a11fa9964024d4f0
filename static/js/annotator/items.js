// The items of a batch in the page's data, where runs of untouched items are pairs of positions.

const untouched = ([first, last]) => Array.from({ length: last - first + 1 }, (_, step) => ({ position: first + step, status: "new", revision: 0 }));

/** @returns {{position: number, status: string, revision: number}[]} the items' states, in order */
export const statesOf = (items) => items.flatMap((item) => (Array.isArray(item) ? untouched(item) : { ...item }));
