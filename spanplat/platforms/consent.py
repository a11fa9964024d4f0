"""What a consent form has to say, and whether words for it occur.

Words are no proof: that one occurs does not mean that the form says it well. That none of the usual ones does is a reason to look.
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
"""What a form has to say, in the order in which people want to know it."""

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
"""By language and topic: beginnings of words of which at least one occurs in forms that speak of it; in Arabic, where articles and
prepositions are written at the front, parts of words."""


def topics_missed(text: str, language: str) -> list[str] | None:
    """Return the topics of which no usual word occurs in a form; None in a language whose words are not known here.

    Parameters
    ----------
    text
        The form, Markdown.
    language
        Its language, such as ``en`` or ``de-AT``.
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
