"""Prompt templates: Jinja2 in a sandbox. An unknown name is an error."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from jinja2 import StrictUndefined, Template, TemplateSyntaxError, UndefinedError
from jinja2.exceptions import SecurityError, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from spanplat.errors import InvalidInput

# Definitions of campaigns contain templates, so their authors could run code here without the sandbox.
_ENVIRONMENT = ImmutableSandboxedEnvironment(
    undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False, keep_trailing_newline=True
)
_ENVIRONMENT.filters["wording"] = lambda question: f"{question.label} {question.help}".strip()
del _ENVIRONMENT.globals["lipsum"]


def render_template(
    name: str,
    source: str,
    part: Callable[[str], str],
    variables: Mapping[str, Any],
    *,
    part_names: list[str] | None = None,
) -> str:
    """Render a template.

    Parameters
    ----------
    name
        Name of the template in messages.
    source
        Text of the template. ``parts("…", …)`` in it inserts parts with blank lines between them. Parts that render to nothing are
        left out.
    part
        Function that returns the text of a part.
    variables
        Variables of the templates.
    part_names
        List to which the names of the used parts are appended, in order.

    Returns
    -------
    str
        The rendered text, without line breaks at its ends.

    Raises
    ------
    InvalidInput
        If a template is wrong. The message gives its name, the line and the problem.
    """

    def parts(*names: str, **more: Any) -> str:
        rendered = []
        for wanted in names:
            if part_names is not None:
                part_names.append(wanted)
            rendered.append(_render(f"part {wanted}", part(wanted), {**variables, **more}))
        return "\n\n".join(text for text in rendered if text)

    return _render(name, source, {**variables, "parts": parts})


def _render(name: str, source: str, variables: Mapping[str, Any]) -> str:
    try:
        return _compiled(source).render(variables).strip("\n")
    except TemplateSyntaxError as error:
        raise InvalidInput(f"prompt template {name}, line {error.lineno}: {error.message}") from error
    except UndefinedError as error:
        known = ", ".join(sorted(variables))
        raise InvalidInput(
            f"prompt template {name}{_line_of(error)}: {error.message} (templates see: {known})"
        ) from error
    except SecurityError as error:
        raise InvalidInput(
            f"prompt template {name}{_line_of(error)}: {error.message}; templates only read what they are given"
        ) from error
    # Expressions in a template can raise nearly any error of a computation, such as a division by zero.
    except (TemplateError, TypeError, ValueError, AttributeError, KeyError, ArithmeticError, RecursionError) as error:
        raise InvalidInput(f"prompt template {name}{_line_of(error)}: {error}") from error


@lru_cache(maxsize=512)
def _compiled(source: str) -> Template:
    """Compile a template once, because it is rendered for thousands of items."""
    return _ENVIRONMENT.from_string(source)


def _line_of(error: BaseException) -> str:
    """Return the line of the template with the error. Jinja2 uses the file name ``<template>`` for compiled templates."""
    lines = []
    traceback = error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == "<template>":
            lines.append(traceback.tb_lineno)
        traceback = traceback.tb_next
    return f", line {lines[-1]}" if lines else ""
