// The questions about the whole item. The server rendered the form; this module moves answers between it and the store.

/** Whether an answer counts as given. */
function isAnswered(question, value) {
  if (question.type === "checkbox") return value === true;
  if (question.type === "choices") return Array.isArray(value) && value.length >= Math.max(1, question.minimum);
  if (question.type === "text") return typeof value === "string" && value.trim() !== "";
  return value !== undefined && value !== null;
}

/**
 * What still keeps an item from being complete, in the order of the page.
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
    const message = question.minimum > 1 && question.type === "choices" ? "missing_choices" : "missing_answer";
    missing.push({ message, values: { question: question.label, count: question.minimum }, question: question.key });
  }
  return missing;
}

function needed(question) {
  return question.required || (question.type === "choices" && question.minimum > 0);
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
    // Pressing a slider where it stands is an answer too, and no input event tells of it.
    form.addEventListener("pointerup", (event) => event.target.type === "range" && this.#changed(event.target));
    form.addEventListener("submit", (event) => event.preventDefault());
    for (const button of form.querySelectorAll("[data-clear]")) button.addEventListener("click", () => this.#clear(button.dataset.clear));
  }

  /** Writes the store's answers into the form. */
  render() {
    const { answers, spans } = this.store;
    for (const question of this.questions) {
      const value = answers[question.key];
      for (const field of this.#fields(question.key)) fill(field, question, value);
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
    const question = this.questions.find(({ key }) => key === field.name);
    if (question.type === "slider") showValue(field, true);
    this.store.answer(question.key, this.#read(question, field));
  }

  #read(question, field) {
    switch (question.type) {
      case "checkbox":
      case "no_errors":
        return field.checked;
      case "choices":
        return this.#fields(question.key)
          .filter((box) => box.checked)
          .map((box) => box.value);
      case "likert":
      case "slider":
        return Number(field.value);
      case "text":
        return field.value === "" ? undefined : field.value;
      default:
        return field.value;
    }
  }
}

function fill(field, question, value) {
  switch (question.type) {
    case "slider":
      field.value = value ?? (question.minimum + question.maximum) / 2;
      showValue(field, value !== undefined);
      break;
    case "text":
      if (field.value !== (value ?? "")) field.value = value ?? "";
      break;
    case "checkbox":
    case "no_errors":
      field.checked = value === true;
      break;
    case "choices":
      field.checked = Array.isArray(value) && value.includes(field.value);
      break;
    default:
      field.checked = value !== undefined && String(value) === field.value;
  }
}

/** A slider nobody has moved has no value, wherever its thumb stands. */
function showValue(field, answered) {
  field.classList.toggle("unanswered", !answered);
  field.closest(".question").querySelector("output").textContent = answered ? field.value : "–";
}
