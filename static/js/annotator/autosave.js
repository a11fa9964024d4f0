// Autosave: sends each change to the server within a second, and keeps it on this device until the server acknowledges it.

import { OffsetIndex } from "../offsets.js";

const PAUSE_MS = 400;
const LONGEST_WAIT_MS = 900;
const FIRST_RETRY_MS = 1000;
const LONGEST_RETRY_MS = 30000;
/** Keepalive requests outlive their page. Browsers refuse one if the bodies of all that are under way have more bytes in total. */
const KEEPALIVE_LIMIT = 64 * 1024;

/**
 * Converts the annotator's work for the server: offsets in code points, the quote of each span, categories by key.
 *
 * @param {Iterable<import("./store.js").Text>} texts
 * @param {import("./store.js").ItemStore} store  its spans have UTF-16 offsets; the carried spans are as the server sent them
 * @param {"draft"|"complete"} status
 */
export function encode(texts, { spans, carried, answers, dismissed }, status) {
  const known = new Map(Array.from(texts, (text) => [text.key, { ...text, index: new OffsetIndex(text.text) }]));
  const own = spans.map(({ id: _id, on, start, end, ...fields }) => {
    const { text, index, side, output, field } = known.get(on);
    return { ...fields, side, output, field, start: index.toCodePoints(start), end: index.toCodePoints(end), text: text.slice(start, end) };
  });
  return { status, spans: [...own, ...carried], dismissed, answers };
}

/** Converts an item of the server for the page. Spans of a text that is not on the page are carried along unchanged. */
export function decode(texts, { spans, answers, dismissed = [] }) {
  const known = Array.from(texts, (text) => ({ ...text, index: new OffsetIndex(text.text) }));
  const shown = [];
  const carried = [];
  for (const span of spans) {
    const place = known.find((text) => isIn(text, span));
    if (!place) {
      carried.push(span);
      continue;
    }
    const { text: _quote, side: _side, output: _output, field: _field, start, end, ...fields } = span;
    shown.push({ ...withoutNulls(fields), on: place.key, start: place.index.toUtf16(start), end: place.index.toUtf16(end) });
  }
  return { spans: shown, carried, answers: { ...answers }, dismissed: [...dismissed] };
}

function isIn(text, { side, output, field }) {
  if ((side ?? "output") !== text.side) return false;
  return text.side === "source" ? field === text.field : (output ?? 0) === text.output;
}

function withoutNulls(fields) {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined));
}

/** Copies of unacknowledged work in the browser's storage. Without storage, only the page holds it. */
class LocalCopies {
  constructor(base, storage) {
    this.prefix = `spanplat:${base}:`;
    this.storage = storage;
  }

  read(position) {
    try {
      return JSON.parse(this.storage?.getItem(this.prefix + position) ?? "null");
    } catch {
      return null; // storage is blocked, or holds something else
    }
  }

  write(position, copy) {
    try {
      if (copy) this.storage?.setItem(this.prefix + position, JSON.stringify(copy));
      else this.storage?.removeItem(this.prefix + position);
    } catch {
      // storage is blocked or full: the page still holds the work and keeps trying to send it
    }
  }
}

/**
 * Sends drafts, one request at a time per item. Dispatches
 * `state` (detail: "saved" | "saving" | "offline" | "refused"), `acknowledged` (position, status, revision), `stale` (position),
 * `gone` (kept), `refused` (position, message) and `warning` (message: the text of a failed check).
 */
export class Autosave extends EventTarget {
  #tracks = new Map();
  #state = "saved";
  /** Bytes of the keepalive requests under way. */
  #keepaliveBytes = 0;

  constructor(base, storage) {
    super();
    this.base = base;
    this.copies = new LocalCopies(base, storage);
    addEventListener("online", () => this.flush());
    addEventListener("pagehide", () => this.flush());
    // Phones may end a hidden page without a further event.
    document.addEventListener("visibilitychange", () => document.hidden && this.flush());
  }

  /**
   * Opens an item as the server sent it, and returns the content to show. That is the copy on this device if it is based on the server's
   * revision, else the server's content; then `left` holds the other copy.
   */
  open(item) {
    const track = this.#track(item.position);
    if (track.pending || track.sending) return { content: track.pending ?? track.sending };
    track.revision = item.revision;
    const copy = track.left ?? this.copies.read(item.position);
    track.left = null;
    if (!copy) return { content: item };
    const server = JSON.stringify(comparable(item));
    // If the server has what this device sent last, only the acknowledgement was lost, and the copy continues from
    // there.
    const continues = copy.revision === item.revision || JSON.stringify(comparable(copy.sent)) === server;
    if (!continues || JSON.stringify(comparable(copy.content)) === server) {
      this.copies.write(item.position, null);
      return continues ? { content: item } : { content: item, left: copy.content };
    }
    this.schedule(item.position, copy.content);
    return { content: copy.content };
  }

  schedule(position, content) {
    const track = this.#track(position);
    track.pending = content;
    this.copies.write(position, { revision: track.revision, content, sent: track.sending });
    this.#report("saving");
    clearTimeout(track.timer);
    // The first unsent change sets the deadline, so that typing without a pause is saved too.
    track.due ??= performance.now() + LONGEST_WAIT_MS;
    track.timer = setTimeout(() => this.#send(track), Math.min(PAUSE_MS, Math.max(0, track.due - performance.now())));
  }

  /** Sends all waiting changes now; resolves to whether all are acknowledged. */
  async flush() {
    await Promise.all([...this.#tracks.values()].map((track) => this.#send(track)));
    return !this.isWaiting;
  }

  #track(position) {
    if (!this.#tracks.has(position)) {
      const idle = { pending: null, sending: null, request: null, left: null, timer: 0, due: null, retries: 0 };
      this.#tracks.set(position, { position, revision: 0, ...idle });
    }
    return this.#tracks.get(position);
  }

  #send(track) {
    clearTimeout(track.timer);
    if (!track.request && (track.pending || track.sending)) {
      track.request = this.#exchange(track).finally(() => (track.request = null));
    }
    return track.request ?? Promise.resolve();
  }

  async #exchange(track) {
    while (track.pending || track.sending) {
      // After a lost answer the same body is sent again: the server may have stored it, and gives a repeat the same answer.
      if (!track.sending) [track.sending, track.pending, track.due] = [track.pending, null, null];
      const body = JSON.stringify({ revision: track.revision, ...track.sending });
      let response, answer;
      try {
        ({ response, answer } = await this.#put(track.position, body));
      } catch {
        return this.#retryLater(track);
      }
      // These refusals pass. Any other would be the same for the same body.
      if (response.status >= 500 || response.status === 429) return this.#retryLater(track);
      track.retries = 0;
      if (!response.ok) return this.#refused(track, response.status, answer);
      this.#acknowledged(track, answer);
    }
  }

  /** Sends a body; returns the response and its JSON. Throws if no answer of the server came, or only a part of it. */
  async #put(position, body) {
    const bytes = new TextEncoder().encode(body).length;
    const keepalive = this.#keepaliveBytes + bytes <= KEEPALIVE_LIMIT;
    if (keepalive) this.#keepaliveBytes += bytes;
    try {
      const address = `${this.base}/items/${position}`;
      const response = await fetch(address, { method: "PUT", headers: { "Content-Type": "application/json" }, body, keepalive });
      // A refusal without JSON may come from a proxy. A success without JSON is not from the server: it may be a network's sign-in page.
      const answer = await response.json().catch((error) => {
        if (response.ok) throw error;
        return {};
      });
      return { response, answer };
    } finally {
      // Only now: to the browser, a request is under way until its answer has been read.
      if (keepalive) this.#keepaliveBytes -= bytes;
    }
  }

  #acknowledged(track, { revision, warning, ended }) {
    const { status } = track.sending;
    track.revision = revision;
    track.sending = null;
    this.copies.write(track.position, track.pending && { revision, content: track.pending });
    this.dispatchEvent(new CustomEvent("acknowledged", { detail: { position: track.position, status, revision } }));
    if (warning) this.dispatchEvent(new CustomEvent("warning", { detail: { message: warning } }));
    if (!this.isWaiting) this.#report("saved");
    if (ended) this.dispatchEvent(new CustomEvent("gone", { detail: { kept: true } }));
  }

  #refused(track, status, answer) {
    const { position } = track;
    const content = track.pending ?? track.sending;
    track.sending = track.pending = track.due = null;
    if (status === 409) {
      // Another tab or device saved first. Kept for `open`, which shows the server's version and lets undo bring this one back.
      track.left = { revision: track.revision, content };
      if (!this.isWaiting) this.#report("saved");
      this.dispatchEvent(new CustomEvent("stale", { detail: { position } }));
    } else if (status === 410) {
      // Kept by the server as late work: the copy here would only be refused again.
      if (answer.kept) this.copies.write(position, null);
      this.dispatchEvent(new CustomEvent("gone", { detail: { kept: Boolean(answer.kept) } }));
    } else {
      this.#report("refused");
      this.dispatchEvent(new CustomEvent("refused", { detail: { position, message: answer.error ?? "" } }));
    }
  }

  #retryLater(track) {
    this.#report("offline");
    const wait = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** track.retries++);
    clearTimeout(track.timer);
    track.timer = setTimeout(() => this.#send(track), wait);
  }

  /** Whether something has not been acknowledged yet. */
  get isWaiting() {
    return [...this.#tracks.values()].some((track) => track.pending || track.sending);
  }

  #report(state) {
    if (state === "saving" && this.#state === "offline") return; // stays "offline" until something gets through
    if (state === this.#state) return;
    this.#state = state;
    this.dispatchEvent(new CustomEvent("state", { detail: state }));
  }
}

/** The parts of a version that matter for equality, in a fixed order for comparison as JSON. */
function comparable(content) {
  if (!content) return null;
  const spans = content.spans.map(({ side, output, start, end, category, ...rest }) => {
    const { field, subcategory, severity, reason, attributes, suggestion } = rest;
    const details = [field, subcategory, severity, reason, attributes && Object.entries(attributes).sort(), suggestion];
    return [side ?? "output", output ?? 0, start, end, category, ...details.map((value) => value ?? null)];
  });
  return [spans, content.status, Object.entries(content.answers).sort(), [...(content.dismissed ?? [])].sort()];
}
