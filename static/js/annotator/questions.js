// The questions about the whole item. The server rendered the form; this module moves answers between it and the store. It knows form
// fields and no kinds of questions: a new kind that uses these fields needs no change here.

/** Whether an answer counts as given: a box that must be ticked is answered by ticking it. */
function isAnswered(question, value) {
  if (typeof value === "boolean") return value;
  if (typeof value === "string") return value.trim() !== "";
  if (Array.isArray(value)) return value.length >= Math.max(1, fewest(question));
  return value !== undefined && value !== null;
}

/** How many options must be chosen; 0 where the question offers none, or only one is chosen anyway. */
function fewest(question) {
  return question.options ? (question.minimum ?? 0) : 0;
}

/**
 * Lists the missing parts of an item, in the order of the page.
 *
 * @param {object[]} questions
 * @param {object} campaign  severities, reason, attributes, categories
 * @param {object[]} spans
 * @param {object} answers
 * @returns {{message: string, values?: object, question?: string, span?: number, field?: string}[]} keys of messages, and where to go
 */
export function listMissing(questions, campaign, spans, answers) {
  const missing = [];
  for (const span of spans) {
    if (campaign.severities.length && !span.severity) missing.push({ message: "missing_severity", span: span.id, field: "severity" });
    if (campaign.reason === "required" && !span.reason?.trim()) missing.push({ message: "missing_reason", span: span.id, field: "reason" });
    for (const { key, label, required } of campaign.attributes) {
      if (!required || String(span.attributes?.[key] ?? "").trim()) continue;
      missing.push({ message: "missing_answer", values: { question: label }, span: span.id, field: `attribute ${key}` });
    }
  }
  const box = questions.find((question) => question.type === "no_errors");
  if (box && !spans.length && answers[box.key] !== true) {
    missing.unshift({ message: "missing_span_or_box", question: box.key });
  }
  for (const question of questions) {
    if (question.type === "no_errors" || !needed(question) || isAnswered(question, answers[question.key])) continue;
    const count = fewest(question);
    missing.push({ message: count > 1 ? "missing_choices" : "missing_answer", values: { question: question.label, count }, question: question.key });
  }
  return missing;
}

function needed(question) {
  return question.required || fewest(question) > 0;
}

export class QuestionForm {
  /**
   * @param {HTMLFormElement} form
   * @param {object[]} questions
   * @param {import("./store.js").ItemStore} store
   */
  constructor(form, questions, store) {
    Object.assign(this, { form, questions, store });
    form.addEventListener("input", (event) => this.#changed(event.target));
    // A press on a slider's present value is an answer too, but it fires no input event.
    form.addEventListener("pointerup", (event) => event.target.type === "range" && this.#changed(event.target));
    form.addEventListener("submit", (event) => event.preventDefault());
    for (const button of form.querySelectorAll("[data-clear]")) button.addEventListener("click", () => this.#clear(button.dataset.clear));
  }

  /** Writes the store's answers into the form. */
  render() {
    const { answers, spans } = this.store;
    for (const question of this.questions) {
      const value = answers[question.key];
      for (const field of this.#fields(question.key)) fill(field, value);
      if (question.type === "no_errors") this.#guardBox(question, spans.length > 0);
    }
    for (const button of this.form.querySelectorAll("[data-clear]")) button.hidden = answers[button.dataset.clear] === undefined;
  }

  focus(key) {
    const fields = this.#fields(key);
    (fields.find((field) => field.checked) ?? fields[0])?.focus();
  }

  /** Takes back an answer that need not be given; a radio button or slider cannot do so itself. */
  #clear(key) {
    this.store.answer(key, undefined);
    this.focus(key);
  }

  /** "Nothing to mark" and a mark exclude each other. */
  #guardBox(question, marked) {
    const [box] = this.#fields(question.key);
    box.disabled = marked;
    this.form.querySelector("[data-box-hint]").hidden = !marked;
  }

  #fields(key) {
    return [...this.form.querySelectorAll(`[name="${CSS.escape(key)}"]`)];
  }

  #changed(field) {
    if (field.type === "range") showValue(field, true);
    this.store.answer(field.name, this.#read(field));
  }

  #read(field) {
    if (field.type === "checkbox") return isOption(field) ? this.#chosen(field.name) : field.checked;
    if (field.value === "") return undefined;
    return field.type === "range" || "number" in field.dataset ? Number(field.value) : field.value;
  }

  #chosen(key) {
    return this.#fields(key)
      .filter((box) => box.checked)
      .map((box) => box.value);
  }
}

/** Whether a box is one option of several, rather than a question by itself. */
function isOption(box) {
  return box.hasAttribute("value");
}

function fill(field, value) {
  switch (field.type) {
    case "range":
      field.value = value ?? (Number(field.min) + Number(field.max)) / 2;
      showValue(field, value !== undefined);
      break;
    case "checkbox":
      field.checked = isOption(field) ? Array.isArray(value) && value.includes(field.value) : value === true;
      break;
    case "radio":
      field.checked = value !== undefined && String(value) === field.value;
      break;
    default:
      // Only if it differs: writing the same value would move the cursor of a typing user.
      if (field.value !== String(value ?? "")) field.value = value ?? "";
  }
}

/** Shows the value of a slider; an untouched one has none, although its thumb is always somewhere. */
function showValue(field, answered) {
  field.classList.toggle("unanswered", !answered);
  field.closest(".question").querySelector("output").textContent = answered ? field.value : "–";
}
