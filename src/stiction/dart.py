"""DART as ground truth: `stiction.dart.throw`. Needs the extra `dart`."""

from stiction.simulators.dart import SOLVERS, throw

__all__ = ["SOLVERS", "throw"]
