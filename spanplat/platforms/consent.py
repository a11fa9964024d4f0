"""Topics of a consent form, and a search for topics that are missing.

The search looks for common words. A word does not prove that the form explains a topic well. If none of the common words occurs,
somebody should check the form.
"""

import re
from collections.abc import Mapping

TOPICS: Mapping[str, str] = {
    "collected": "what is collected and what becomes of it",
    "responsible": "who is responsible for the study",
    "contact": "how to reach them",
    "time": "how long it takes",
    "pay": "what it pays",
    "withdrawing": "that one may stop, and how",
}
"""Required topics of a form, in the order of their interest to people."""

_MARKS: Mapping[str, tuple[str, ...]] = {
    "contact": ("@", "https://", "http://"),
    "pay": ("£", "$", "€"),
}
WORDS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "en": {
        "collected": ("data", "collect", "record", "store", "your answers", "your marks"),
        "responsible": (
            "universit",
            "institut",
            "department",
            "laborator",
            "research",
            "responsible",
            "conducted",
            "carried out",
        ),
        "contact": ("contact", "e-mail", "email", "write to", "questions to"),
        "time": ("minute", "hour"),
        "pay": ("paid", "pay", "reward", "compensat", "volunteer", "unpaid"),
        "withdrawing": ("withdraw", "stop", "leave", "voluntar", "quit"),
    },
    "de": {
        "collected": ("daten", "erhoben", "erheben", "gespeichert", "speichern", "ihre antworten", "deine antworten"),
        "responsible": ("universität", "hochschule", "institut", "fachbereich", "forsch", "verantwort", "durchgeführt"),
        "contact": ("kontakt", "e-mail", "email", "wenden sie sich", "wende dich", "erreich", "schreiben sie"),
        "time": ("minute", "stunde"),
        "pay": ("bezahl", "vergüt", "entlohn", "lohn", "euro", "honorar", "unentgeltlich", "ehrenamtlich"),
        "withdrawing": ("widerruf", "zurückzieh", "abbrech", "beenden", "freiwillig", "aufhören", "zurücktreten"),
    },
    "es": {
        "collected": ("datos", "recog", "recopil", "guarda", "almacen", "sus respuestas", "tus respuestas"),
        "responsible": ("universidad", "instituto", "departamento", "investiga", "responsable", "laboratorio"),
        "contact": ("contact", "correo", "escrib", "dirigirse", "dirigirte"),
        "time": ("minuto", "hora"),
        "pay": ("pago", "paga", "recompensa", "remunera", "compensa", "euro", "voluntario"),
        "withdrawing": ("retirar", "abandonar", "dejar", "interrumpir", "voluntari"),
    },
    "cs": {
        "collected": ("údaj", "dat ", "data", "shromažď", "uklád", "ukládá", "odpovědi", "zaznamen"),
        "responsible": (
            "univerzit",
            "fakult",
            "ústav",
            "katedr",
            "institut",
            "výzkum",
            "odpovíd",
            "odpovědn",
            "zodpovíd",
        ),
        "contact": ("kontakt", "e-mail", "email", "napište", "obrátit", "obraťte"),
        "time": ("minut", "hodin"),
        "pay": ("odměn", "platb", "platí", "placen", "zaplac", "kč", "korun", "eur", "bezplatn"),
        "withdrawing": ("odstoup", "odvol", "přeruš", "ukonč", "dobrovoln", "kdykoli přesta", "vzít zpět"),
    },
    "ar": {
        "collected": ("بيانات", "البيانات", "نجمع", "تُجمع", "تجمع", "نحفظ", "تُحفظ", "تحفظ", "إجابات"),
        "responsible": ("جامعة", "معهد", "كلية", "قسم", "باحث", "بحث", "مسؤول"),
        "contact": ("تواصل", "للاتصال", "اتصل", "بريد", "راسل", "الاستفسار"),
        "time": ("دقيقة", "دقائق", "ساعة", "ساعات"),
        "pay": ("أجر", "مكافأة", "مكافاة", "دفع", "يُدفع", "تعويض", "مقابل", "دولار", "يورو"),
        "withdrawing": ("انسحاب", "تنسحب", "الانسحاب", "التوقف", "تتوقف", "طوعي", "تطوع"),
    },
}
"""Common words by language and topic, as beginnings of words. In Arabic they are parts of words, because articles and prepositions are
written in front without a space."""


def topics_missed(text: str, language: str) -> list[str] | None:
    """Return the topics without any common word in a form; None for a language without a list of words.

    Parameters
    ----------
    text
        The form in Markdown.
    language
        Language of the form, such as ``en`` or ``de-AT``.
    """
    words = WORDS.get(language.partition("-")[0].casefold())
    if words is None:
        return None
    boundary = "" if words is WORDS["ar"] else r"\b"
    folded = text.casefold()

    def is_spoken_of(topic: str) -> bool:
        beginnings = "|".join(map(re.escape, words[topic]))
        marks = _MARKS.get(topic, ())
        return any(mark in folded for mark in marks) or re.search(f"{boundary}(?:{beginnings})", folded) is not None

    return [topic for topic in TOPICS if not is_spoken_of(topic)]
