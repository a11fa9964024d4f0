"""Published ways of asking models, as settings: a definition names one, and it fills what the definition leaves open."""

from collections.abc import Mapping
from typing import Any, Literal, get_args

from spanplat.schemas.base import refuse

Protocol = Literal["three-seeds", "three-seeds-short", "reasoning"]
PROTOCOLS: tuple[Protocol, ...] = get_args(Protocol)

SEEDS = (42, 1738, 1234)
FILLED = ("parameters", "repeats", "max_tokens", "reasoning", "final_instructions", "timeout")
"""Settings that some protocol fills."""

_SAMPLING: Mapping[str, Any] = {"temperature": 0.001, "top_p": 1, "seed": list(SEEDS)}
_NOT_TAKEN: Mapping[tuple[str, str], frozenset[str]] = {
    ("openai", "responses"): frozenset({"seed"}),
    ("anthropic", "chat"): frozenset({"seed", "top_p"}),
}
"""Of the parameters, what an interface does not take; Anthropic's takes top_p, but its newer models not beside a temperature."""
_SUMMARIES: Mapping[Protocol, str] = {
    "three-seeds": "asked three times, with seeds 42, 1738 and 1234, at temperature 0.001 and top-p 1; replies of up to 1,024 tokens",
    "three-seeds-short": "the same with replies of up to 128 tokens, for ratings and choices",
    "reasoning": "asked once, for models that reason: medium effort, 4,096 tokens of reasoning, 32,768 in all, two final instructions",
}


def protocol_summary(protocol: Protocol) -> str:
    """Return in a line what a protocol sets."""
    return _SUMMARIES[protocol]


def protocol_settings(protocol: Protocol, provider: str, interface: str = "chat") -> dict[str, Any]:
    """Return the model settings that a protocol fills.

    Parameters
    ----------
    protocol
        Which.
    provider, interface
        Of the model; a parameter that the interface does not take is left out.
    """
    if protocol == "reasoning":
        return {
            "max_tokens": 32_768,
            "reasoning": {"effort": "medium", "budget": 4096},
            "final_instructions": True,
            "timeout": 1800,
        }
    left_out = _NOT_TAKEN.get((provider, interface), frozenset())
    return {
        "repeats": len(SEEDS),
        "max_tokens": 1024 if protocol == "three-seeds" else 128,
        "parameters": {name: value for name, value in _SAMPLING.items() if name not in left_out},
    }


def fill_protocol(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Fill model settings as the protocol that they name says; a longer or shorter time to wait may be stated.

    Raises
    ------
    pydantic.ValidationError
        If there is no such protocol for the provider, or the settings state something else than it does: then it is another protocol.
    """
    protocol, provider = settings.get("protocol"), str(settings.get("provider", ""))
    if protocol not in PROTOCOLS:
        return dict(settings)  # told where the field is checked
    if provider == "overlap":
        refuse([(("protocol",), "the offline annotator is asked nothing in words; leave protocol out")])
    filled = dict(settings)
    wanted_settings = protocol_settings(protocol, provider, str(settings.get("interface", "chat")))
    for name, value in wanted_settings.items():
        given = settings.get(name)
        if isinstance(value, dict) and (given is None or isinstance(given, Mapping)):
            filled[name] = dict(given or {})
            for inner, wanted in value.items():
                _require_same(protocol, f"{name}.{inner}", (given or {}).get(inner), wanted)
                filled[name][inner] = wanted
        elif name not in settings:
            filled[name] = value
        elif name != "timeout":
            _require_same(protocol, name, given, value)
    stated = filled.get("parameters")
    for name in _SAMPLING.keys() - wanted_settings.get("parameters", {}).keys():
        if isinstance(stated, Mapping) and name in stated:
            message = f"protocol {protocol!r} sends no {name} to this interface; leave out parameters.{name}"
            refuse([(("parameters", name), message)])
    return filled


def _require_same(protocol: str, name: str, given: Any, wanted: Any) -> None:
    if given is not None and given != wanted:
        message = (
            f"protocol {protocol!r} has {name} {wanted}, and the definition says {given}; leave out {name}, or protocol"
        )
        refuse([(tuple(name.split(".")), message)])
