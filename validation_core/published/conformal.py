"""Table 2 of the Conformal C2ST paper: rejections in per cent of 50 test sets, lensing."""

from validation_core.published.printed import PrintedTable

LENSING_GAMMA = PrintedTable(
    "conformal",
    "Table 2 (a)",
    "Gravitational lensing: power over the bias gamma, at beta = 0",
    "gamma",
    (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
    {
        "AutoML": (4, 6, 28, 70, 100, 100, 100),
        "C2ST": (2, 14, 28, 76, 100, 100, 100),
        "DC": (10, 22, 46, 52, 66, 80, 98),
        "MMDFuse": (8, 12, 14, 18, 24, 24, 28),
        "SBC": (10, 4, 6, 6, 8, 2, 6),
        "TARP": (4, 2, 6, 6, 6, 2, 24),
        "CM": (2, 24, 50, 92, 100, 100, 100),
        "CU(50)": (5, 16, 66, 98, 100, 100, 100),
    },
    form=".0f",
    scale=100,
)

LENSING_BETA = PrintedTable(
    "conformal",
    "Table 2 (b)",
    "Gravitational lensing: power over the degradation beta, at gamma = 1",
    "beta",
    (0.0, 0.6, 0.7, 0.8, 0.9, 0.95),
    {
        "AutoML": (100, 100, 84, 44, 10, 2),
        "C2ST": (100, 100, 92, 40, 14, 6),
        "CM": (100, 100, 98, 74, 30, 16),
        "CU(50)": (100, 100, 100, 86, 16, 2),
    },
    form=".0f",
    scale=100,
)
