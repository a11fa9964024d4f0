// Brings every change to the server within a second, and keeps it on this device until the server has acknowledged it.

import { OffsetIndex } from "../offsets.js";

const PAUSE_MS = 400;
const LONGEST_WAIT_MS = 900;
const FIRST_RETRY_MS = 1000;
const LONGEST_RETRY_MS = 30000;
/** Browsers refuse larger bodies for requests that outlive their page. */
const KEEPALIVE_LIMIT = 60000;

/**
 * What the annotator did, in the server's terms: code points, the quote of every span, categories by key.
 *
 * @param {Iterable<import("./store.js").Text>} texts
 * @param {import("./store.js").ItemStore} store  its spans are in UTF-16 offsets; those it carries are as the server gave them
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

/** The server's terms back into the page's; spans of a text that is not on the page are carried along untouched. */
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

/** Work that no server has acknowledged yet, in the browser's storage; a browser without storage keeps it in the page alone. */
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
      // storage is blocked or full: the page still holds the work and goes on trying to send it
    }
  }
}

/**
 * Sends drafts, one request at a time per item. Dispatches
 * `state` (detail: "saved" | "saving" | "offline" | "refused"), `acknowledged` (position, status, revision), `stale` (position),
 * `gone` (kept), `refused` (position, message) and `warning` (message: what a failed check tells the annotator).
 */
export class Autosave extends EventTarget {
  #tracks = new Map();
  #state = "saved";

  constructor(base, storage) {
    super();
    this.base = base;
    this.copies = new LocalCopies(base, storage);
    addEventListener("online", () => this.flush());
    addEventListener("pagehide", () => this.flush());
    document.addEventListener("visibilitychange", () => document.hidden && this.flush());
  }

  /**
   * Starts following an item as the server gave it. Returns the content to show: the copy kept on this device when it continues the
   * server's revision, else the server's own; `left` holds a copy that does not.
   */
  open(item) {
    const track = this.#track(item.position);
    if (track.pending || track.sending) return { content: track.pending ?? track.sending };
    track.revision = item.revision;
    const copy = track.left ?? this.copies.read(item.position);
    track.left = null;
    if (!copy) return { content: item };
    const server = JSON.stringify(comparable(item));
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
    track.due ??= performance.now() + LONGEST_WAIT_MS;
    track.timer = setTimeout(() => this.#send(track), Math.min(PAUSE_MS, Math.max(0, track.due - performance.now())));
  }

  /** Sends what waits, now; resolves to whether everything is acknowledged. */
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
      // After a lost answer the same body goes again: the server may have stored it, and answers a repeat as it did the first time.
      if (!track.sending) [track.sending, track.pending, track.due] = [track.pending, null, null];
      const body = JSON.stringify({ revision: track.revision, ...track.sending });
      let response;
      try {
        response = await fetch(`${this.base}/items/${track.position}`, {
          method: "PUT",
          headers: { "Content-Type": "application/json" },
          body,
          keepalive: body.length < KEEPALIVE_LIMIT,
        });
      } catch {
        return this.#retryLater(track); // fetch rejects for one reason: no answer came
      }
      if (response.status >= 500 || response.status === 429) return this.#retryLater(track);
      track.retries = 0;
      if (!response.ok) return this.#refused(track, response);
      await this.#acknowledged(track, await response.json());
    }
  }

  async #acknowledged(track, { revision, warning, ended }) {
    const { status } = track.sending;
    track.revision = revision;
    track.sending = null;
    this.copies.write(track.position, track.pending && { revision, content: track.pending });
    this.dispatchEvent(new CustomEvent("acknowledged", { detail: { position: track.position, status, revision } }));
    if (warning) this.dispatchEvent(new CustomEvent("warning", { detail: { message: warning } }));
    if (!this.isWaiting) this.#report("saved");
    if (ended) this.dispatchEvent(new CustomEvent("gone", { detail: { kept: true } }));
  }

  async #refused(track, response) {
    const answer = await response.json().catch(() => ({}));
    const { position } = track;
    const content = track.pending ?? track.sending;
    track.sending = track.pending = track.due = null;
    if (response.status === 409) {
      track.left = { revision: track.revision, content };
      if (!this.isWaiting) this.#report("saved");
      this.dispatchEvent(new CustomEvent("stale", { detail: { position } }));
    } else if (response.status === 410) {
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

/** The part of a version that decides whether two are the same. */
function comparable(content) {
  if (!content) return null;
  const spans = content.spans.map(({ side, output, start, end, category, ...rest }) => {
    const { field, subcategory, severity, reason, attributes, suggestion } = rest;
    const details = [field, subcategory, severity, reason, attributes && Object.entries(attributes).sort(), suggestion];
    return [side ?? "output", output ?? 0, start, end, category, ...details.map((value) => value ?? null)];
  });
  return [spans, content.status, Object.entries(content.answers).sort(), [...(content.dismissed ?? [])].sort()];
}
