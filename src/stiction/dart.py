"""DART as ground truth: `stiction.dart.throw`.

    run = stiction.dart.throw(body, state, 400, friction=0.5)

Needs the extra `dart`.
"""

from stiction.simulators.dart import SOLVERS, throw

__all__ = ["SOLVERS", "throw"]
