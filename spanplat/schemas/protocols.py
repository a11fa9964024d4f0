"""Published protocols for asking models: a definition names a protocol, which sets the model settings."""

from collections.abc import Mapping
from typing import Any, Literal, get_args

from spanplat.schemas.base import refuse
from spanplat.schemas.providers import find_provider

Protocol = Literal["three-seeds", "three-seeds-short", "reasoning"]
PROTOCOLS: tuple[Protocol, ...] = get_args(Protocol)

SEEDS = (42, 1738, 1234)
FILLED = ("parameters", "repeats", "max_tokens", "reasoning", "final_instructions", "timeout")
"""Settings that a protocol can set."""

_SAMPLING: Mapping[str, Any] = {"temperature": 0.001, "top_p": 1, "seed": list(SEEDS)}
_SUMMARIES: Mapping[Protocol, str] = {
    "three-seeds": "asked three times, with seeds 42, 1738 and 1234, at temperature 0.001 and top-p 1; replies of up to 1,024 tokens",
    "three-seeds-short": "the same with replies of up to 128 tokens, for ratings and choices",
    "reasoning": "asked once, for models that reason: medium effort, 4,096 tokens of reasoning, 32,768 in all, two final instructions",
}


def protocol_summary(protocol: Protocol) -> str:
    """Return a summary of a protocol in one line."""
    return _SUMMARIES[protocol]


def protocol_settings(protocol: Protocol, provider: str, interface: str = "chat") -> dict[str, Any]:
    """Return the model settings of a protocol.

    Parameters
    ----------
    protocol
        Name of the protocol.
    provider, interface
        Provider and interface of the model; parameters that the interface does not accept are left out.
    """
    if protocol == "reasoning":
        return {
            "max_tokens": 32_768,
            "reasoning": {"effort": "medium", "budget": 4096},
            "final_instructions": True,
            "timeout": 1800,
        }
    known = find_provider(provider)
    left_out = known.not_taken.get(interface, frozenset()) if known else frozenset()
    return {
        "repeats": len(SEEDS),
        "max_tokens": 1024 if protocol == "three-seeds" else 128,
        "parameters": {name: value for name, value in _SAMPLING.items() if name not in left_out},
    }


def fill_protocol(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Complete model settings with those of the protocol that they name; only the time-out may have another value.

    Raises
    ------
    pydantic.ValidationError
        If the provider has no such protocol, or a setting has another value than the protocol: that would be another protocol.
    """
    protocol, provider = settings.get("protocol"), str(settings.get("provider", ""))
    if protocol not in PROTOCOLS:
        return dict(settings)  # the validation of the field reports this mistake
    known = find_provider(provider)
    if known is not None and known.is_offline:
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
    # The protocol leaves out parameters that the interface does not accept, so a definition must not add them.
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
