// What a table's rows say, without the page: order, search, and the file of what is shown. A cell is {text, value}: what can be read
// in it, and what stands behind that in full precision, "" where there is nothing.

const NUMBER = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i;
const MOMENT = /^\d{4}-\d\d-\d\d(T|$)/;
// As spanplat/formats/spreadsheets.py has them: what spreadsheets take for the start of a formula, and the apostrophe they drop.
const NEEDS_APOSTROPHE = /^['=+\-@\t\r\n＝＋－＠|%]/;

/** Whether the greatest come first when a column is first sorted: numbers and moments, as far as there are any. */
export function beginsWithGreatest(values) {
  const given = values.filter((value) => value !== "");
  return given.length > 0 && (given.every((value) => NUMBER.test(value)) || given.every((value) => MOMENT.test(value)));
}

/** The places of the values in order; those without a value come last either way, and equal ones keep their order. */
export function order(values, descending, language = "en") {
  const { compare } = new Intl.Collator(language, { numeric: true, sensitivity: "base" });
  const places = [...values.keys()];
  const missing = (place) => values[place] === "";
  return places.sort((one, other) => {
    if (missing(one) || missing(other)) return missing(one) - missing(other);
    const [a, b] = [values[one], values[other]];
    const difference = NUMBER.test(a) && NUMBER.test(b) ? Number(a) - Number(b) : compare(a, b);
    return descending ? -difference : difference;
  });
}

/** A text without capitals and accents. */
export function fold(text) {
  return text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
}

export function matches(texts, wanted) {
  const folded = fold(wanted.trim());
  return folded === "" || texts.some((text) => fold(text).includes(folded));
}

/** Rows of texts as CSV (RFC 4180, no byte order mark); a text that a spreadsheet would run has an apostrophe in front. */
export function toCsv(rows) {
  const quoted = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const guarded = (text) => (NEEDS_APOSTROPHE.test(text) && !NUMBER.test(text) ? `'${text}` : text);
  return rows.map((row) => `${row.map((text) => quoted(guarded(text))).join(",")}\r\n`).join("");
}

/** A heading as it stands in an address: "People now" is people-now; of equal ones the later have a number. */
export function keysOf(headings) {
  const seen = new Map();
  return headings.map((heading) => {
    const key = fold(heading).replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "");
    seen.set(key, (seen.get(key) ?? 0) + 1);
    return seen.get(key) > 1 ? `${key}-${seen.get(key)}` : key;
  });
}

/** What ?sort= says: a column, and a minus behind it when the greatest come first. */
export function readSort(text) {
  const descending = text.endsWith("-");
  return { key: descending ? text.slice(0, -1) : text, descending };
}

/** What ?sort= says after a click on a column: its natural direction, then the other, then the page's own order. */
export function nextSort(now, key, greatestFirst) {
  const [first, second] = greatestFirst ? [`${key}-`, key] : [key, `${key}-`];
  return { [first]: second, [second]: "" }[now] ?? first;
}
