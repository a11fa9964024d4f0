"""Registry of the kinds of computed results. A new kind needs a module and an entry here."""

from collections.abc import Mapping
from typing import Any, Final

from spanplat.services.agreement.comparison import AGREEMENT
from spanplat.services.agreement.distributions import DISTRIBUTION
from spanplat.services.agreement.leaderboard import LEADERBOARD
from spanplat.services.agreement.matrix import MATRIX
from spanplat.services.agreement.sentinels import SENTINELS
from spanplat.services.agreement.systems import SYSTEMS
from spanplat.services.background import ResultKind

RESULT_KINDS: Final[Mapping[str, ResultKind[Any, Any]]] = {
    kind.name: kind for kind in (AGREEMENT, DISTRIBUTION, LEADERBOARD, MATRIX, SENTINELS, SYSTEMS)
}
"""Kinds by name. Jobs store this name."""
