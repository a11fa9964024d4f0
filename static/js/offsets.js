/**
 * The one place in the browser that converts offsets: JavaScript strings count UTF-16 units, everything stored counts Unicode
 * code points. The twin of spanplat/text/offsets.py; one test runs both on the same texts.
 */

/** @param {number} unit */
const isHigh = (unit) => unit >= 0xd800 && unit <= 0xdbff;
/** @param {number} unit */
const isLow = (unit) => unit >= 0xdc00 && unit <= 0xdfff;

/**
 * @param {number} offset
 * @param {number} length
 * @param {string} unit
 */
function checkRange(offset, length, unit) {
  if (!Number.isInteger(offset) || offset < 0 || offset > length) {
    throw new RangeError(`Offset ${offset} lies outside the text, which has ${length} ${unit}.`);
  }
}

/** Converts many offsets of one text: the text is read once, each offset then costs a binary search. */
export class OffsetIndex {
  /** Code-point positions of the characters that take two UTF-16 units. @type {number[]} */
  #wide = [];
  #units;

  /** @param {string} text */
  constructor(text) {
    this.#units = text.length;
    for (let unit = 0; unit < text.length; unit += 1) {
      if (isHigh(text.charCodeAt(unit)) && unit + 1 < text.length && isLow(text.charCodeAt(unit + 1))) {
        this.#wide.push(unit - this.#wide.length);
        unit += 1;
      }
    }
  }

  /** Number of code points in the text. */
  get length() {
    return this.#units - this.#wide.length;
  }

  /**
   * @param {number} codePointOffset
   * @returns {number} the offset in UTF-16 units
   * @throws {RangeError} outside the text
   */
  toUtf16(codePointOffset) {
    checkRange(codePointOffset, this.length, "code points");
    return codePointOffset + this.#countBefore((position) => position < codePointOffset);
  }

  /**
   * @param {number} utf16Offset
   * @returns {number} the offset in code points
   * @throws {RangeError} outside the text, or between the two halves of a surrogate pair
   */
  toCodePoints(utf16Offset) {
    checkRange(utf16Offset, this.#units, "UTF-16 units");
    const before = this.#countBefore((position, rank) => position + rank < utf16Offset);
    if (before > 0 && this.#wide[before - 1] + before === utf16Offset) {
      throw new RangeError(`Offset ${utf16Offset} lies inside a character: between the two halves of a surrogate pair.`);
    }
    return utf16Offset - before;
  }

  /**
   * @param {(position: number, rank: number) => boolean} isBefore true for the first wide characters, false for the rest
   * @returns {number} number of characters for which it is true
   */
  #countBefore(isBefore) {
    let low = 0;
    let high = this.#wide.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (isBefore(this.#wide[middle], middle)) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }
}

/**
 * Converts one offset from UTF-16 units to code points; for several offsets of a text, keep an {@link OffsetIndex}.
 *
 * @param {string} text
 * @param {number} utf16Offset
 * @returns {number}
 * @throws {RangeError} outside the text, or between the two halves of a surrogate pair
 */
export function toCodePoints(text, utf16Offset) {
  return new OffsetIndex(text).toCodePoints(utf16Offset);
}

/**
 * Converts one offset from code points to UTF-16 units; for several offsets of a text, keep an {@link OffsetIndex}.
 *
 * @param {string} text
 * @param {number} codePointOffset
 * @returns {number}
 * @throws {RangeError} outside the text
 */
export function toUtf16(text, codePointOffset) {
  return new OffsetIndex(text).toUtf16(codePointOffset);
}
