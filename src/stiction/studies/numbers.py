"""How numbers are written in the tables of studies."""


def number(value: float) -> str:
    """Three digits that count, without a long row of zeros."""
    if value == 0:
        return "0"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 1e-3 else f"{value:.1e}".replace("e-0", "e-")


def percent(share: float) -> str:
    """A share in percent, three digits that count."""
    return f"{number(100 * share)} %"
